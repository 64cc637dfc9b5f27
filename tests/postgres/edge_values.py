# ruff: noqa: E501
"""Values at the ends of every type, as PostgreSQL and the engine both write them."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.types import BIGINT, DOUBLE, INT, REAL, SMALLINT, Kind, SqlType, numeric

TEXTS = (
    "",
    " ",
    "a",
    "abc",
    "Hello, World",
    "äöü€",
    "𝄞x𝄞",
    "a%b_c\\",
    "{1,2}",
    "12",
    " 4.5 ",
    "-1e3",
    "NULL",
    "null",
    "t",
    "2024-02-29",
    "10:20:30",
    "1 day",
    '{"a": 1}',
    "it's",
    'a"b',
    "ǅ",
    "ﬃ",
    "İ",
    "tab\tline\nend",
    "__",
    "a,b,,c",
    "éé",
    "0x1f",
    "ZZZ",
    "foo.bar",
    "aaaaaaaaaaaaaaaaaaaaaa",
)
_VALUES: Mapping[Kind, tuple[str, ...]] = {
    Kind.BOOLEAN: ("true", "false"),
    Kind.SMALLINT: ("0", "1", "-1", "2", "7", "100", "32767", "-32768"),
    Kind.INT: ("0", "1", "-1", "2", "3", "-3", "5", "10", "31", "64", "255", "1000", "2147483647", "-2147483648", "128512", "1114109", "55296"),
    Kind.BIGINT: ("0", "1", "-1", "2", "3", "12", "20", "1000000", "4294967296", "9223372036854775807", "-9223372036854775808"),
    Kind.REAL: ("0", "-0", "1", "-1", "0.1", "1.5", "2.5", "-3.7", "16777216", "1e-7", "123456.7", "1234567", "3.4028235e38", "1.2e-38", "NaN", "Infinity", "-Infinity", "1e10"),
    Kind.DOUBLE: ("0", "-0", "1", "-1", "0.1", "0.5", "1.5", "2.5", "-3.7", "1e15", "1e-5", "100000000000000", "123456789.125", "1e300", "1.7976931348623157e308", "2.2250738585072014e-308", "NaN", "Infinity", "-Infinity", "710", "-745.5", "9007199254740993"),
    Kind.VARCHAR: TEXTS,
    Kind.BYTEA: ("", "\\x00", "\\xff00", "abc", "De\\123", "a\\\\b", "\\xe282ac", "\\001\\377", "ä𝄞"),
    Kind.DATE: ("2024-02-29", "1970-01-01", "0001-01-01", "9999-12-31", "1969-12-31", "2000-01-03", "1582-10-10", "1900-03-01", "2023-12-31"),
    Kind.TIME: ("00:00", "23:59:59.999999", "12:34:56.5", "01:00:00", "10:20"),
    Kind.TIMESTAMP: ("2024-02-29 13:45:12.345678", "1969-12-31 23:59:59.999999", "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "2000-01-01", "1582-10-10 01:02:03", "2021-01-31 12:00:00", "2024-12-30 23:00:00"),
    Kind.TIMESTAMPTZ: ("2024-02-29 13:45:12.345678+00", "1970-01-01 00:00:00+00", "0001-01-01 00:00:00+00", "9999-12-31 23:59:59.999999+00", "2024-03-31 01:30:00+00", "1900-01-01 05:00:00+00"),
    Kind.INTERVAL: ("0", "1 day", "-1 month", "14 mons -3 days 02:00:00.5", "1 year", "25:00:00", "-00:00:00.000001", "-13 mons -40 days -24:00:00.000001", "178000000 years", "2147483647 days", "1.5 days", "0.1234567 seconds", "2562047788 hours", "30 days", "1 mon 1 day 1 sec"),
    Kind.JSONB: ("null", "true", "1", "-1.50", "1e2", '"text"', '""', "[]", "{}", "[1, null, 2.5, \"x\"]", '{"a": 1, "b": {"c": [1, 2]}}', '{"b": 1, "a": "x", "aa": null}', '[[1], {"a": 2}]', '"𝄞\\n"', "123456789012345678901234567890", '{"": 1}'),
    Kind.UUID: ("00000000-0000-0000-0000-000000000000", "FFFFFFFF-ffff-4fff-8fff-ffffffffffff", "{a0eebc999c0b4ef8bb6d6bb9bd380a11}"),
}  # fmt: skip
_DIGITS = ("0", "1", "-1", "0.5", "1.5", "2.5", "-2.5", "4.5", "12.34", "-0.01", "99.995", "100", "1e10", "1e-9", "0.00001", "123456.789", "12345678901234567890", "9999999999999999999999999999", "-0.0000000001", "3.1415926535")  # fmt: skip
SIMPLE = (*map(SqlType, _VALUES), numeric())
NUMBERS = (SMALLINT, INT, BIGINT, numeric(), numeric(18, 2), numeric(9, 4), REAL, DOUBLE)
ORDERED = tuple(t for t in SIMPLE if t.kind is not Kind.JSONB)
DIGITS = (numeric(), numeric(18, 2), numeric(9, 4), numeric(38, 0), numeric(38, 20))


def type_name(type_: SqlType) -> str:
    """Return a type as a cast names it."""
    if type_.kind is Kind.LIST:
        assert type_.element is not None
        return f"{type_name(type_.element)}[]"
    return "text" if type_.kind is Kind.VARCHAR else str(type_)


def constants(type_: SqlType) -> list[str]:
    """Return all constants of a type that is no array."""
    name = type_name(type_)
    if type_.kind is not Kind.NUMERIC:
        return [f"{_written(text)}::{name}" for text in _VALUES[type_.kind]]
    assert type_.precision is not None and type_.scale is not None
    most = 10 ** (type_.precision - type_.scale - 1)
    return [f"'{text}'::{name}" for text in _DIGITS if abs(float(text)) < most]


def value(random: Random, type_: SqlType, nulls: float = 0.12) -> str:
    """Return a constant of a type, now and then NULL."""
    name = type_name(type_)
    if random.random() < nulls:
        return f"NULL::{name}"
    match type_.kind:
        case Kind.LIST:
            assert type_.element is not None
            return _array(random, type_.element)
        case Kind.NUMERIC:
            return f"{quote(_number(random, type_))}::{name}"
        case kind:
            return f"{_written(random.choice(_VALUES[kind]))}::{name}"


def _written(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _number(random: Random, type_: SqlType) -> str:
    assert type_.precision is not None and type_.scale is not None
    whole = type_.precision - type_.scale
    found = random.choice(_DIGITS)
    return found if abs(float(found)) < 10 ** (whole - 1) else "7"


def _array(random: Random, element: SqlType) -> str:
    length = random.choice((0, 1, 1, 2, 2, 3, 4))
    if not length:
        return f"'{{}}'::{type_name(element)}[]"
    return f"ARRAY[{', '.join(value(random, element, 0.2) for _ in range(length))}]"
