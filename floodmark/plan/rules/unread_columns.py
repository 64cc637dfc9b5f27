"""Drops columns that are computed and that nothing above reads.

Spark drops them, too, and what their errors would say. So a view, its query on its own and the
reference all leave them out: `SELECT a FROM (SELECT a, 1 / b AS c FROM t) s` divides nothing.
Columns that are only passed on stay: they cost nothing, and keys are among them.
"""

from __future__ import annotations

from dataclasses import replace

from floodmark.changelog import is_hidden
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import AggCall, ColumnRef, Expr, columns_of
from floodmark.scalar.types import BIGINT

Columns = frozenset[str]


def drop_unread(node: n.Node) -> n.Node:
    """Return the plan without such columns; those of the plan itself stay."""
    return _prune(node, frozenset(node.names))


def _prune(node: n.Node, above: Columns) -> n.Node:
    """Return a node pruned to the columns that are read `above`, and to those that it reads."""
    match node:
        case n.Project():
            return _project(node, above)
        case n.Aggregate():
            return _aggregate(node, above)
        case n.OverWindow():
            return _windows(node, above)
        case n.UnionAll():
            return _union(node, above)
        case _ if node.reads is not None:
            return _prune_inputs(node, above | node.reads)
        case _:
            return node.with_inputs([_prune(c, frozenset(c.names)) for c in node.inputs])


def _prune_inputs(node: n.Node, used: Columns) -> n.Node:
    return node.with_inputs([_prune(child, used) for child in node.inputs])


def _project(node: n.Project, above: Columns) -> n.Node:
    used = (columns_of(e) for c, e in node.columns if c in above)
    below = _prune(node.input, frozenset[str]().union(*used))
    passed = {f.name: f.type for f in below.schema}
    columns: list[tuple[str, Expr]] = []
    for name, expr in node.columns:
        if name in above:
            columns.append((name, expr))
        elif isinstance(expr, ColumnRef) and expr.name in passed:
            # What stands in the place of a column that nothing reads can be of another type.
            columns.append((name, replace(expr, type=passed[expr.name])))
    return replace(node, input=below, columns=tuple(columns))


def _aggregate(node: n.Aggregate, above: Columns) -> n.Node:
    calls = tuple((c, call) for c, call in node.aggregates if c in above)
    if not calls and not node.group and node.aggregates:
        # Without groups there is one row all the same.
        calls = ((node.aggregates[0][0], AggCall("count", (), BIGINT)),)
    used = (columns_of(e) for _, call in calls for e in call.children)
    kept = replace(node, aggregates=calls)
    return _prune_inputs(kept, frozenset(node.group).union(*used))


def _windows(node: n.OverWindow, above: Columns) -> n.Node:
    calls = tuple((c, call) for c, call in node.calls if c in above)
    if not calls:
        return _prune(node.input, above)
    exprs = (e for _, call in calls for e in (*call.args, *filter(None, (call.filter,))))
    used = above | {*node.partition, *(k.column for k in node.order)}
    return _prune_inputs(replace(node, calls=calls), used.union(*map(columns_of, exprs)))


def _union(node: n.UnionAll, above: Columns) -> n.Node:
    """Return a union of the read columns; its branches keep the same columns."""
    branches = tuple(_only(branch, above) for branch in node.branches)
    return replace(node, branches=branches)


def _only(branch: n.Node, above: Columns) -> n.Node:
    kept = [f for f in branch.schema if f.name in above or is_hidden(f.name)]
    names = frozenset(f.name for f in kept)
    if len(kept) < len(branch.schema) and isinstance(branch, n.Project):
        branch = replace(branch, columns=tuple((c, e) for c, e in branch.columns if c in names))
    elif len(kept) < len(branch.schema):
        columns = tuple((f.name, ColumnRef(f.type, f.name)) for f in kept)
        branch = n.Project(branch, columns)
    return _prune(branch, names)
