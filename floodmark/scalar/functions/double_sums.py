"""Sums and averages of doubles, so that neither order nor retraction matters.

Doubles are added in fixed point, by their size in two or three parts: the whole number, the
fraction to 18 places, and of tiny ones 34 places. Each keeps 17 digits of all but the smallest.
The few that fit in none of these are kept one by one, and added in ascending order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_DOWN, Decimal

from floodmark.scalar.functions.additive import print_additive
from floodmark.scalar.functions.arithmetic import EXACT, decimal_name, exact_sum, fit_decimal
from floodmark.scalar.functions.model import (
    Accumulator,
    AggregateFunction,
    Decomposition,
    SetRows,
    Types,
)
from floodmark.scalar.functions.sums import NONNULL
from floodmark.scalar.functions.variance import present
from floodmark.scalar.types import BIGINT, DOUBLE, Kind, SqlType, list_of, numeric, struct_of

Floats = list[float]

TINY, SMALL, LARGE, HUGE = 1e-22, 1e-6, 1e15, 1e28
"""From `SMALL` to `LARGE` there are fractions; below, to `TINY`, nothing else, and above none."""
_WHOLE, _FRACTION, _TINY = numeric(38, 0), numeric(38, 18), numeric(38, 34)
_LIMIT = 10**19
"""Below it the whole and the fraction fit into one decimal."""
_SIZE = "abs({0})"
_IS_FIXED = f"{_SIZE} BETWEEN {SMALL!r}D AND {HUGE:.0f}D"
_IS_PLAIN = f"{_SIZE} BETWEEN {SMALL!r}D AND {LARGE:.0f}D"
_IS_TINY = f"({_SIZE} < {SMALL!r}D AND {_SIZE} >= {TINY!r}D)"
_IS_FAR = f"NOT ({{0}} = 0 OR {_SIZE} BETWEEN {TINY!r}D AND {HUGE:.0f}D)"
_VALUE = "CAST({0} AS DOUBLE)"
_AS_WHOLE, _FIXED, _AS_TINY = (
    f"CAST({_VALUE} AS {decimal_name(type_)})" for type_ in (_WHOLE, _FRACTION, _TINY)
)


def _times(condition: str, value: str) -> str:
    """Return the contribution of the values for which a condition holds; zeros add nothing.

    A weight is an INT: no product leaves 38 digits.
    """
    return f"CASE WHEN {condition} THEN {value} * {{w}} ELSE 0BD END"


_WHOLE_PART = (
    f"CASE WHEN {_SIZE} <= {LARGE:.0f}D THEN CAST({_FIXED} div 1BD AS {decimal_name(_WHOLE)}) "
    f"ELSE {_AS_WHOLE} END"
)
ACCUMULATORS = (
    Accumulator("whole", _WHOLE, _times(_IS_FIXED, _WHOLE_PART)),
    Accumulator("fraction", _FRACTION, _times(_IS_PLAIN, f"({_FIXED} % 1BD)")),
    Accumulator("tiny", _TINY, _times(_IS_TINY, _AS_TINY)),
    Accumulator(
        "far",
        list_of(struct_of(("v", DOUBLE), ("n", BIGINT))),
        f"CASE WHEN {_IS_FAR} THEN struct({_VALUE} AS v, CAST({{w}} AS BIGINT) AS n) END",
        gathered=True,
    ),
    NONNULL,
)
_COPIES = "flatten(transform({far}, e -> array_repeat(e.v, CAST(e.n AS INT))))"
_TOTAL = (
    f"(CASE WHEN abs({{whole}}) < {_LIMIT}BD "
    f"THEN CAST(try_cast({{whole}} AS {decimal_name(_FRACTION)}) + {{fraction}} AS DOUBLE) "
    "ELSE CAST({whole} AS DOUBLE) + CAST({fraction} AS DOUBLE) END + CAST({tiny} AS DOUBLE) + "
    f"CASE WHEN size({{far}}) = 0 THEN 0D ELSE aggregate(array_sort({_COPIES}), 0D, (a, v) -> a + v) END)"  # noqa: E501
)


def _decomposition(finish: str) -> Decomposition:
    return Decomposition(ACCUMULATORS, finish, bound=(("total", _TOTAL),))


_SUM = _decomposition("CASE WHEN {nonnull} > 0 THEN {total} END")
_AVG = _decomposition("CASE WHEN {nonnull} > 0 THEN {total} / {nonnull} END")


def double_total(values: Floats) -> float:
    """Add doubles as the accumulators do."""
    wholes, fractions, tiny, far = list[Decimal](), list[Decimal](), list[Decimal](), Floats()
    for value in values:
        size = abs(value)
        if value == 0 or SMALL <= size <= LARGE:
            fixed = _to_decimal(value, _FRACTION)
            wholes.append(fixed.to_integral_value(ROUND_DOWN))
            fractions.append(EXACT.subtract(fixed, wholes[-1]))
        elif LARGE < size <= HUGE:
            wholes.append(_to_decimal(value, _WHOLE))
        elif TINY <= size < SMALL:
            tiny.append(_to_decimal(value, _TINY))
        else:
            far.append(value)
    whole, fraction = exact_sum(wholes), exact_sum(fractions)
    fits = abs(whole) < _LIMIT
    near = float(EXACT.add(whole, fraction)) if fits else float(whole) + float(fraction)
    rest = 0.0
    for value in sorted(far, key=lambda v: (math.isnan(v), v)):
        rest += value
    return near + float(exact_sum(tiny)) + rest


def _to_decimal(value: float, type_: SqlType) -> Decimal:
    return fit_decimal(Decimal(repr(value)), type_)


def inexact() -> list[AggregateFunction]:
    """Return sum and avg of REAL and DOUBLE."""

    def add(rows: SetRows, _: Types, __: SqlType) -> float | None:
        values = present(rows)
        return double_total(values) if values else None

    def mean(rows: SetRows, _: Types, __: SqlType) -> float | None:
        values = present(rows)
        return double_total(values) / len(values) if values else None

    return [
        AggregateFunction(
            name, (kind,), DOUBLE, print_additive(kept), python, decompose=_always_decompose(kept)
        )
        for kind in (Kind.REAL, Kind.DOUBLE)
        for name, kept, python in (("sum", _SUM, add), ("avg", _AVG, mean))
    ]


def _always_decompose(kept: Decomposition) -> Callable[[Types, SqlType], Decomposition]:
    return lambda types, result: kept
