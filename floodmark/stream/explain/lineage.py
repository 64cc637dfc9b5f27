"""Column lineage: which columns of which objects a column's values come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Expr, columns_of

ColumnOrigins = frozenset[tuple[str, str]]
"""Pairs of an object's key and its column."""


def column_lineage(root: n.Node) -> dict[str, ColumnOrigins]:
    """Return the origins of each output column; a constant has none.

    Filters, join conditions and groupings decide which rows there are: they are not counted.
    """
    below = [column_lineage(child) for child in root.inputs]
    match root:
        case n.Scan():
            return {f.name: frozenset({(root.object, f.name)}) for f in root.schema}
        case n.Project() | n.MaterializeProject():
            return {name: _origins_of((expr,), below[0]) for name, expr in root.columns}
        case n.Aggregate() | n.CloseAggregate():
            calls = {name: _origins_of(call.children, below[0]) for name, call in root.aggregates}
            return {name: below[0][name] for name in root.group} | calls
        case _ if root.positional_columns is not None:
            return _merge_by_position(root.names, root.positional_columns, below)
        case n.OverWindow():
            calls = {name: _origins_of(call.args, below[0]) for name, call in root.calls}
            return below[0] | calls
        case n.Tumble() | n.Hop() | n.Session():
            time = below[0][root.time]
            return below[0] | {root.start: time, root.end: time}
        case n.ProjectSet():
            made = dict.fromkeys(root.outputs, _origins_of((root.call,), below[0]))
            return below[0] | made | {root.ordinal: frozenset()}
        case _:
            merged = {name: origins for side in below for name, origins in side.items()}
            return {f.name: merged.get(f.name, frozenset()) for f in root.schema}


def _origins_of(expressions: Iterable[Expr], below: Mapping[str, ColumnOrigins]) -> ColumnOrigins:
    read = (name for expr in expressions for name in columns_of(expr))
    return frozenset(origin for name in read for origin in below[name])


def _merge_by_position(
    names: Sequence[str], met: Sequence[Sequence[str]], below: Sequence[Mapping[str, ColumnOrigins]]
) -> dict[str, ColumnOrigins]:
    sides = [[known[c] for c in columns] for known, columns in zip(below, met, strict=True)]
    merged = [frozenset().union(*parts) for parts in zip(*sides, strict=True)]
    return dict(zip(names, [*merged, frozenset()], strict=False))
