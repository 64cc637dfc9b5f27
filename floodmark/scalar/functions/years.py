"""The years that dates and timestamps have: 1 to 9999, as everything that reads them knows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from floodmark.scalar.functions.model import Function, Operands, RowErrorCode, null_means
from floodmark.scalar.types import Kind, SqlType

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
class OutOfRange:
    """A time that lies before the years, `side` -1, or behind them, 1: it is compared only."""

    side: int

    def __lt__(self, other: Any) -> bool:
        return self.side < (other.side if isinstance(other, OutOfRange) else 0)

    def __gt__(self, other: Any) -> bool:
        return self.side > (other.side if isinstance(other, OutOfRange) else 0)


OUT_OF_RANGE = null_means(RowErrorCode.TIME_OUT_OF_RANGE)


def null_outside_years(value: str, type_: SqlType) -> str:
    """Return the Spark text of a date or timestamp that is NULL outside of the years.

    >>> from floodmark.scalar.types import DATE
    >>> null_outside_years("`d`", DATE)
    "CASE WHEN `d` BETWEEN DATE'0001-01-01' AND DATE'9999-12-31' THEN `d` END"
    """
    first, last = ENDS[type_.kind]
    return f"CASE WHEN {value} BETWEEN {first} AND {last} THEN {value} END"


def outside_years(value: str, type_: SqlType, depth: int = 0) -> str | None:
    """Return the Spark text of whether a value is, or holds, a time outside of the years.

    None where the type has no times. `depth` tells the texts of nested lists apart.

    >>> from floodmark.scalar.types import DATE, INT, list_of
    >>> outside_years("`d`", list_of(DATE))
    "exists(`d`, __y0 -> __y0 NOT BETWEEN DATE'0001-01-01' AND DATE'9999-12-31')"
    >>> outside_years("`d`", INT) is None
    True
    """
    match type_:
        case SqlType(kind=kind) if kind in ENDS:
            first, last = ENDS[kind]
            return f"{value} NOT BETWEEN {first} AND {last}"
        case SqlType(kind=Kind.LIST, element=SqlType() as element):
            parts = [(value, element)]
        case SqlType(kind=Kind.MAP, key=SqlType() as key, element=SqlType() as element):
            parts = [(f"map_keys({value})", key), (f"map_values({value})", element)]
        case SqlType(kind=Kind.STRUCT):
            fields = ((f"{value}.`{f.name.replace('`', '``')}`", f.type) for f in type_.fields)
            return _any(outside_years(text, part, depth) for text, part in fields)
        case _:
            return None
    name = f"__y{depth}"
    tests = ((text, outside_years(name, part, depth + 1)) for text, part in parts)
    return _any(f"exists({text}, {name} -> {test})" for text, test in tests if test is not None)


def _any(tests: Iterable[str | None]) -> str | None:
    present = [test for test in tests if test is not None]
    if len(present) < 2:
        return present[0] if present else None
    return f"({' OR '.join(present)})"


def limit_to_years(function: Function) -> Function:
    """Return a function that refuses results outside of the years 1 to 9999."""
    result = function.result
    assert isinstance(result, SqlType), function.signature

    def spark(o: Operands) -> str:
        return null_outside_years(function.print_value(o), result)

    return replace(function, spark=spark, error=function.error or OUT_OF_RANGE, version=2)
