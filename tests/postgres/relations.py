"""Expressions over all pairs of edge values: casts, comparisons, arithmetic, aggregates, orders."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

from floodmark.scalar.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    REAL,
    SMALLINT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    SqlType,
    list_of,
)
from tests.postgres.edge_values import DIGITS, ORDERED, SIMPLE, constants, type_name

_TARGETS = (*SIMPLE, *DIGITS)
_AGGREGATES = (
    "count({0})", "count(DISTINCT {0})", "min({0})", "max({0})", "array_agg({0} ORDER BY {0})",
    "array_agg(DISTINCT {0} ORDER BY {0})", "string_agg({0}::text, ',' ORDER BY {0} DESC)",
)  # fmt: skip
_OF_NUMBERS = (
    "sum({0})", "avg({0})", "sum(DISTINCT {0})", "stddev_samp({0})", "var_pop({0})",
    "stddev({0}) FILTER (WHERE {0} > 0)", "percentile_disc(0.5) WITHIN GROUP (ORDER BY {0})",
)  # fmt: skip
_OF_TRUTHS = ("bool_and({0})", "bool_or({0})", "every({0})")
_OF_INTERVALS = ("sum({0})", "avg({0})")
_ORDERS = (
    "ORDER BY x", "ORDER BY x DESC", "ORDER BY x NULLS FIRST", "ORDER BY x DESC NULLS LAST",
)  # fmt: skip
_TIMES = (DATE, TIME, TIMESTAMP, TIMESTAMPTZ, INTERVAL)
_MORE_TEXTS = ("B", "b", "Z", "ä", "z", "a b", "ab", "a-b", "-1", "𝄞", "￿")
"""Texts that a collation of a language sorts otherwise."""

NUMBER_TEXTS = (
    "1e-16383", "1e-16384", "1e-9999999", "1e9999999", "1e-99999999999", "1e99999999999",
    "0e9999999", "0e1073741822", "0e1073741823", "0e-16384", "0e99999999999", "0.0e-99999999999",
    "1e400", "-1e400", "1e-400", "-1e-400", "0e400", "inf", "-Infinity", " NaN ",
    "2e-324", "3e-324", "2.4703282292062327e-324", "2.4703282292062328e-324",
    "1.7976931348623158e308", "1.7976931348623159e308", "1e40", "1e-40", "-1e-50",
    "7e-46", "8e-46", "3.4028236e38", "3.4028235677973366e38", "3.4028235677973367e38",
    "1.00000017881393432617187499", "1.00000017881393432617187501",
)  # fmt: skip
"""Numbers at the ends of the types and beyond them, as texts."""


def casts() -> Iterator[str]:
    """Yield casts of every edge value to every type, and what they print as."""
    for source, target in product(SIMPLE, _TARGETS):
        for value in constants(source):
            yield f"(({value})::{type_name(target)})"
            if source == VARCHAR:
                continue
            yield f"((({value})::text)::{type_name(target)})"
    for text, target in product(NUMBER_TEXTS, (*DIGITS, REAL, DOUBLE)):
        yield from (f"('{text}'{cast}::{type_name(target)})" for cast in ("", "::text"))


def comparisons() -> Iterator[str]:
    """Yield comparisons of two edge values of each type."""
    for type_ in ORDERED:
        for a, b in combinations(constants(type_), 2):
            yield from (f"({a} {sign} {b})" for sign in ("=", "<", ">=", "IS DISTINCT FROM"))


def arithmetic() -> Iterator[str]:
    """Yield sums, products and quotients of edge values, of times and intervals, too."""
    numbers = (SMALLINT, INT, BIGINT, DIGITS[1], REAL, DOUBLE)
    for type_ in numbers:
        for a, b in product(constants(type_)[:12], repeat=2):
            yield from (f"({a} {sign} {b})" for sign in ("+", "-", "*", "/", "%"))
    for left, right in product(_TIMES, repeat=2):
        for a, b in product(constants(left)[:8], constants(right)[:8]):
            yield from (f"({a} {sign} {b})" for sign in ("+", "-"))
    for moved in constants(INTERVAL):
        for number in ("2", "0", "-3", "0.5", "1.5", "7"):
            yield from (f"({moved} {sign} {number}::double precision)" for sign in ("*", "/"))
    for date in constants(DATE):
        yield from (f"({date} + {days})" for days in ("1", "-1", "365", "'3000000'::int"))


def aggregates() -> Iterator[str]:
    """Yield aggregates over no value, one, two with NULL, and many."""
    for type_ in ORDERED:
        given = _AGGREGATES
        if type_.is_numeric:
            given = (*given, *_OF_NUMBERS)
        given = (*given, *{BOOLEAN: _OF_TRUTHS, INTERVAL: _OF_INTERVALS}.get(type_, ()))
        for group, aggregate in product(_groups(type_), given):
            yield f"(SELECT {aggregate.format('x')} FROM (VALUES {group}) t(x))"
            yield f"(SELECT {aggregate.format('x')} FROM (VALUES {group}) t(x) WHERE false)"


def _groups(type_: SqlType) -> Iterator[str]:
    name, values = type_name(type_), constants(type_)
    # Which of two zeros comes first is of no order.
    small = [v for v in values[:6] if "'-0'" not in v][:5]
    for group in (values[:1], small, [*small, *small[:2]], small[1:3]):
        yield ", ".join(f"({v})" for v in group)
        yield ", ".join(f"({v})" for v in [f"NULL::{name}", *group])


def orders() -> Iterator[str]:
    """Yield all edge values of each type in their order, with NULL, arrays of them, too."""
    for type_ in ORDERED:
        values = constants(type_)
        if type_ == VARCHAR:
            values = [*values, *(f"'{text}'" for text in _MORE_TEXTS)]
        yield from _ordered([f"NULL::{type_name(type_)}", *values], type_)
        arrays = [f"ARRAY[{a}, {b}]" for a, b in product(["NULL", *values[:3]], repeat=2)]
        typed = [f"{a}::{type_name(list_of(type_))}" for a in arrays]
        yield from _ordered([*typed, f"ARRAY[]::{type_name(list_of(type_))}"], list_of(type_))


def _ordered(values: list[str], type_: SqlType) -> Iterator[str]:
    rows = ", ".join(f"({i}, {v})" for i, v in enumerate(values))
    for order in _ORDERS:
        yield f"(SELECT array_agg(i {order}, i) FROM (VALUES {rows}) t(i, x))"
    numbered = f"SELECT i, dense_rank() OVER (ORDER BY x) FROM (VALUES {rows}) t(i, x)"
    yield f"(SELECT array_agg(n ORDER BY i) FROM ({numbered}) u(i, n))"
