"""Sums and averages of intervals, part by part, kept by addition alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from floodmark.scalar.functions.additive import print_additive
from floodmark.scalar.functions.datetime import fit_interval, print_interval
from floodmark.scalar.functions.interval_scaling import divide_interval, print_scaled
from floodmark.scalar.functions.intervals import Interval, combine
from floodmark.scalar.functions.model import (
    Accumulator,
    AggregateFunction,
    Decomposition,
    RowError,
    RowErrorCode,
    SetRows,
    Types,
)
from floodmark.scalar.functions.sums import NONNULL, times
from floodmark.scalar.functions.variance import present
from floodmark.scalar.types import BIGINT, INTERVAL, Kind, SqlType, numeric

_WHOLE = numeric(38, 0)
_PARTS = (
    Accumulator("months", BIGINT, "coalesce(CAST({0}.months AS BIGINT) * {w}, 0L)"),
    Accumulator("days", BIGINT, "coalesce(CAST({0}.days AS BIGINT) * {w}, 0L)"),
    Accumulator("micros", _WHOLE, times("CAST({0}.micros AS DECIMAL(19,0))", _WHOLE)),
    NONNULL,
)
_TOTAL = print_interval("{nonnull} > 0", "{months}", "{days}", "{micros}")


def interval_sums() -> list[AggregateFunction]:
    """Return sum and avg of intervals; a part that is out of range refuses the group's row."""
    mean = print_scaled(f"({_TOTAL})", "{nonnull}", "/")
    return [
        _interval_aggregate("sum", _TOTAL, _python_sum),
        _interval_aggregate("avg", mean, _python_avg),
    ]


def _interval_aggregate(
    name: str, value: str, python: Callable[[SetRows, Types, SqlType], Interval | None]
) -> AggregateFunction:
    kept = Decomposition(
        _PARTS, "{value}", overflow="{nonnull} > 0 AND {value} IS NULL", bound=(("value", value),)
    )
    return AggregateFunction(
        name,
        (Kind.INTERVAL,),
        INTERVAL,
        print_additive(kept),
        python,
        decompose=lambda types, result: kept,
        overflows=lambda types: True,
    )


def _python_sum(rows: SetRows, types: Types, result: SqlType) -> Interval | None:
    values = present(rows)
    return _check_range(lambda: fit_interval(reduce(combine, values))) if values else None


def _python_avg(rows: SetRows, types: Types, result: SqlType) -> Interval | None:
    total, count = _python_sum(rows, types, result), len(present(rows))
    return None if total is None else _check_range(lambda: divide_interval(total, count))


def _check_range(compute: Callable[[], Interval]) -> Interval:
    """Return a group's value; what refuses its row is the same for all aggregates."""
    try:
        return compute()
    except RowError:
        raise RowError(RowErrorCode.NUMBER_OUT_OF_RANGE) from None
