"""Numbers of thousands of digits, wherever a person may write one: an error with a code.

Python reads none of more than 4,300.
"""

import pytest

from floodmark.limits import LIMITS
from floodmark.scalar.types import INT, VARCHAR
from tests.plan.bind.test_wide_numbers import outcome

LONG = "9" * 5000
EXPONENT = "e" + "9" * 25
ONE = "FROM (VALUES (1)) t(a)"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"'{LONG}'::int", "E0258"), (f"1 + '{LONG}'", "E0258"), (f"1 IN (1, '{LONG}')", "E0258"),
        (f"'{{{LONG}}}'::int[]", "E0258"), (f"chr('{LONG}')", "E0258"),
        (f"(ARRAY[1])['{LONG}']", "E0258"), (f"'1{EXPONENT}'::numeric", "E0258"),
        (f"'1e-{LONG}'::numeric(5, 2)", "E0258"), (f"'1{EXPONENT}'::jsonb", "E0258"),
        (f"format('%{LONG}s', 'a')", "E0288"), (f"format('%{LONG}$s', 'a')", "E0288"),
        (f"now()::timestamp({LONG})", "E0143"), (f"a::varchar({LONG}) {ONE}", "E0143"),
        (f"a::numeric({LONG}) {ONE}", "E0143"), (f"a::numeric(3, {LONG}) {ONE}", "E0143"),
        (f"a::float({LONG}) {ONE}", "E0143"), (f"a {ONE} ORDER BY {LONG}", "E0216"),
        (f"a {ONE} GROUP BY {LONG}", "E0216"), (f"a {ONE} LIMIT 1{EXPONENT}", "E0343"),
        (f"a {ONE} LIMIT 1e-{LONG}", "E0343"), (f"a {ONE} OFFSET {LONG}", "E0343"),
        (f"a {ONE} UNION SELECT 2 ORDER BY {LONG}", "E0216"),
    ],
)  # fmt: skip
def test_a_number_of_any_length_is_answered(text: str, code: str) -> None:
    assert outcome(f"SELECT {text}") == code


def test_zeros_before_a_number_are_none_of_its_digits() -> None:
    zeros = "0" * 5000
    assert outcome(f"SELECT {zeros}7") == (INT, 7)
    assert outcome(f"SELECT '-{zeros}7'::int") == (INT, -7)
    assert outcome(f"SELECT 'abc'::varchar({zeros}2)") == (VARCHAR, "ab")


def test_long_values_are_read_as_short_ones() -> None:
    rows = ", ".join(["(1)"] * LIMITS.constant_rows)
    assert outcome(f"INSERT INTO t VALUES {rows}, ({LONG})", (INT,)) == "E0257"
    assert outcome(f"INSERT INTO t VALUES {rows}, ('{LONG}')", (INT,)) == "E0258"


def test_a_text_of_a_row_is_refused_as_a_value() -> None:
    for text, type_ in ((LONG, "int"), (f"1{EXPONENT}", "numeric"), (f"1{EXPONENT}", "jsonb")):
        assert outcome(f"SELECT (chr(32) || '{text}')::{type_}")[1] is None  # type: ignore[index]


@pytest.mark.parametrize("index", [LONG, "9" * 20])
def test_an_index_of_json_is_one_of_its_array(index: str) -> None:
    for call in (f"jsonb_set('[1]', '{{{index}}}', '2')", f"'[1]'::jsonb #- '{{{index}}}'"):
        found = outcome(f"SELECT {call}")
        assert not isinstance(found, str)
        assert found[1] is None
