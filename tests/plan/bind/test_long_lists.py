"""A list of more values than an expression has parts is refused by its length, not bound first."""

import pytest

from floodmark.limits import LIMITS
from floodmark.plan.bind import binder
from floodmark.plan.bind.coercion import number_literal
from tests.plan.bind.test_wide_numbers import outcome


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("1 IN ({})", 1), ("1 NOT IN ({})", 1), ("concat({})", 1), ("coalesce({})", 1),
        ("ARRAY[{}]", 1), ("1 = ANY (ARRAY[{}])", 3), ("1 <> ALL (ARRAY[{}])", 3),
        ("(1, 2) IN ({})", 6), ("CASE 1 {} END", 4), ("CASE {} END", 2),
    ],
)  # fmt: skip
def test_a_list_is_refused_by_its_length(
    text: str, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound = []
    monkeypatch.setattr(
        binder, "number_literal", lambda *given: bound.append(given) or number_literal(*given)
    )
    count = LIMITS.expression_nodes // parts + 1
    item = {"(1, 2) IN ({})": "(1, 2)", "CASE 1 {} END": "WHEN 1 THEN 2"}.get(text, "1")
    item = "WHEN true THEN 1" if text == "CASE {} END" else item
    between = " " if "WHEN" in item else ", "
    assert outcome("SELECT " + text.format(between.join([item] * count))) == "E0147"
    assert len(bound) <= 1
