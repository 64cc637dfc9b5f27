"""Regular expressions nested beyond any stack, counts beyond any number: an error with a code."""

import pytest

from tests.plan.bind.test_wide_numbers import outcome

OPEN = {"group": "(", "plain group": "(?:a|", "look ahead": "(?=a", "beside": "()(("}


@pytest.mark.parametrize("mark", OPEN.values(), ids=OPEN)
@pytest.mark.parametrize(
    "call",
    [
        "'a' ~ {}", "'a' ~* {}", "'a' !~ {}", "'a' SIMILAR TO {}", "substring('a' FROM {})",
        "regexp_replace('a', {}, 'b')", "regexp_replace('a', {}, 'b', 'g')", "regexp_like('a', {})",
        "regexp_count('a', {})", "regexp_substr('a', {})", "regexp_match('a', {})",
        "regexp_match('a', {}, 'i')", "(regexp_match('a', {}))[1]", "regexp_matches('a', {}, 'g')",
        "regexp_split_to_array('a', {})", "regexp_split_to_table('a', {})",
    ],
)  # fmt: skip
def test_groups_in_groups_are_bounded(call: str, mark: str) -> None:
    depth = 900
    pattern = mark * depth + "a" + ")" * mark.count("(") * depth
    assert outcome("SELECT " + call.format(f"'{pattern}'")) == "E0254"


@pytest.mark.parametrize("pattern", ["(" * 100 + "a" + ")" * 100, "(a)" * 900, "[(]" * 900])
def test_others_are_not(pattern: str) -> None:
    assert not isinstance(outcome(f"SELECT 'a' ~ '{pattern}'"), str)


@pytest.mark.parametrize("count", ["4294967295", "9" * 30, "9" * 5000])
def test_a_count_that_is_too_large_is_refused(count: str) -> None:
    for call in ("'a' ~ '{}'", "'a' SIMILAR TO '{}'", "regexp_count('a', '{}')"):
        assert outcome("SELECT " + call.format(f"a{{1,{count}}}")) == "E0254"
