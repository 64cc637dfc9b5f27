"""The years that dates and timestamps have: 1 to 9999, as everything that reads them knows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from floodmark.catalog.functions.model import Function, Operands, RowErrorCode, null_means
from floodmark.catalog.types import Kind, SqlType

ENDS = {
    Kind.DATE: ("DATE'0001-01-01'", "DATE'9999-12-31'"),
    Kind.TIMESTAMP: (
        "TIMESTAMP_NTZ'0001-01-01 00:00:00'",
        "TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'",
    ),
    Kind.TIMESTAMPTZ: (
        "TIMESTAMP_LTZ'0001-01-01 00:00:00Z'",
        "TIMESTAMP_LTZ'9999-12-31 23:59:59.999999Z'",
    ),
}
"""The first and the last value of each kind, as Spark's literals."""


@dataclass(frozen=True, slots=True, order=False)
class Beyond:
    """A time that lies before the years, `side` -1, or behind them, 1: it is compared only."""

    side: int

    def __lt__(self, other: Any) -> bool:
        return self.side < (other.side if isinstance(other, Beyond) else 0)

    def __gt__(self, other: Any) -> bool:
        return self.side > (other.side if isinstance(other, Beyond) else 0)


OUTSIDE = null_means(RowErrorCode.TIME_OUT_OF_RANGE)


def within_years(value: str, type_: SqlType) -> str:
    """Return the Spark text of a date or timestamp that is NULL outside of the years.

    >>> from floodmark.catalog.types import DATE
    >>> within_years("`d`", DATE)
    "CASE WHEN `d` BETWEEN DATE'0001-01-01' AND DATE'9999-12-31' THEN `d` END"
    """
    first, last = ENDS[type_.kind]
    return f"CASE WHEN {value} BETWEEN {first} AND {last} THEN {value} END"


def kept_within_years(function: Function) -> Function:
    """Return a function that refuses what is outside of the years."""
    result = function.result
    assert isinstance(result, SqlType), function.signature

    def spark(o: Operands) -> str:
        return within_years(function.print_value(o), result)

    return replace(function, spark=spark, error=function.error or OUTSIDE, version=2)
