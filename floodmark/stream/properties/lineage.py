"""Origins of a column: which columns of which objects its values come from.

Filters, join conditions and groupings decide which rows there are: they are not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from floodmark.plan.expr.expressions import Expr, columns_of

ColumnOrigins = frozenset[tuple[str, str]]
"""Pairs of an object's key and its column."""
Lineage = Mapping[str, ColumnOrigins]
"""The origins of each column."""
NOWHERE: ColumnOrigins = frozenset()
"""A constant comes from no object, and neither does a number of the engine's."""


def origins_of(expressions: Iterable[Expr], below: Lineage) -> ColumnOrigins:
    """Return the origins of what some expressions read."""
    read = (name for expr in expressions for name in columns_of(expr))
    return frozenset(origin for name in read for origin in below[name])


def origins_by_position(
    names: Sequence[str], met: Sequence[Sequence[str]], below: Sequence[Lineage]
) -> Lineage:
    """Return the origins of columns that meet by position; of the ones behind them, nowhere."""
    sides = [[known[c] for c in columns] for known, columns in zip(below, met, strict=True)]
    merged = [frozenset().union(*parts) for parts in zip(*sides, strict=True)]
    return dict.fromkeys(names, NOWHERE) | dict(zip(names, merged, strict=False))
