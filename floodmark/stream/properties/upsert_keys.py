"""Upsert keys: unique keys that also hold the columns by which the operator spreads its rows.

These are Flink's rules, for its verdict on non-deterministic updates: only keys that were declared
or follow from grouping count, never the engine's own row ids.
"""

from __future__ import annotations

from floodmark.plan import nodes as n
from floodmark.stream.properties.key_sets import Keys

_SPLITTABLE = ("count", "sum", "min", "max")


def removable(node: n.Aggregate, keys: Keys) -> bool:
    """Tell whether Flink replaces the aggregate by a projection: its groups are single rows."""
    plain = all(
        call.function in _SPLITTABLE and call.filter is None and not call.distinct
        for _, call in node.aggregates
    )
    return plain and bool(node.group) and any(key <= set(node.group) for key in keys)
