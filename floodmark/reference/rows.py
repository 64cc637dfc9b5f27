"""Rows, bags of rows, and the order of values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from floodmark.plan.nodes import SortKey

Row = Mapping[str, Any]
"""A column's Python value by name, in the forms that `plan.expr.expressions.Literal` lists."""
Key = tuple[str, ...]
"""The columns that tell rows apart, in order."""
Frozen = tuple[tuple[str, Any], ...]
Bag = Counter[Frozen]
"""A signed multiset of rows: how often each appears; rows that cancel are absent."""


def canonical(value: Any) -> Any:
    """Return the value that stands for all that equal it as keys: NULL-safe, one NaN, one zero.

    >>> canonical(float("nan")) is canonical(float("nan")), canonical(-0.0)
    (True, 0.0)
    """
    if isinstance(value, float):
        return math.nan if math.isnan(value) else value + 0.0
    if isinstance(value, tuple | list):
        return tuple(canonical(part) for part in value)
    if isinstance(value, dict):
        return tuple((name, canonical(part)) for name, part in value.items())
    return value


def freeze(row: Row) -> Frozen:
    """Return a hashable form of a row; equal rows have equal forms."""
    return tuple((name, canonical(row[name])) for name in sorted(row))


def thaw(frozen: Frozen) -> dict[str, Any]:
    """Return the row of a frozen form."""
    return dict(frozen)


def key_of(row: Row, columns: Sequence[str]) -> tuple[Any, ...]:
    """Return the values of some columns as a key."""
    return tuple(canonical(row[column]) for column in columns)


def unique_columns(*parts: Iterable[str]) -> Key:
    """Return columns in their order, none of them twice.

    >>> unique_columns(("a", "b"), ("b", "c"))
    ('a', 'b', 'c')
    """
    return tuple(dict.fromkeys(chain(*parts)))


def bag(rows: Iterable[Row]) -> Bag:
    """Return the rows as a multiset."""
    return Counter(freeze(row) for row in rows)


def difference(new: Iterable[Row], old: Iterable[Row]) -> Bag:
    """Return what has to be added to `old` to make `new`; counts may be negative, never 0.

    >>> sorted(difference([{"a": 1}], [{"a": 2}]).items())
    [((('a', 1),), 1), ((('a', 2),), -1)]
    """
    out = bag(new)
    out.subtract(bag(old))
    return Counter({row: count for row, count in out.items() if count})


def sort_value(value: Any) -> tuple[Any, ...]:
    """Return a non-NULL value as something that orders as SQL does: NaN is the largest number."""
    value = canonical(value)
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    if isinstance(value, tuple):
        return tuple((part is None, () if part is None else sort_value(part)) for part in value)
    return (0, value)


def sort_rows(rows: Iterable[Row], keys: Sequence[SortKey]) -> list[Row]:
    """Return the rows sorted by the keys, the first the most significant; ties keep their order."""
    out = list(rows)
    for key in reversed(keys):
        out.sort(key=_position(key), reverse=key.descending)
    return out


def ascending(columns: Iterable[str]) -> tuple[SortKey, ...]:
    """Return sort keys that are ascending with NULLs last."""
    return tuple(SortKey(column) for column in columns)


def _position(key: SortKey) -> Any:
    null_rank = -1 if key.nulls_first != key.descending else 1

    def position(row: Row) -> tuple[Any, ...]:
        value = row[key.column]
        return (null_rank, ()) if value is None else (0, sort_value(value))

    return position
