"""Reads an expression from the column that a join below already has of it.

A join by expressions adds them to its inputs. `SELECT y.t::date … JOIN x ON y.t::date = x.d` then
gives out the very column by which it joins, and with it the keys and the watermark of that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from floodmark.changelog import is_hidden
from floodmark.plan import nodes as n
from floodmark.plan.expr.determinism import is_deterministic, reads_now
from floodmark.plan.expr.expressions import ColumnRef, Expr, columns_of, transform

ComputedColumns = tuple[tuple[Expr, str], ...]
"""Expressions over a node's columns, and the columns that have their values."""


def reuse_computations(node: n.Node) -> n.Node:
    """Return the plan with its projections reading what joins have computed."""
    return _reuse(node)[0]


def _reuse(node: n.Node) -> tuple[n.Node, ComputedColumns]:
    sides = [_reuse(child) for child in node.inputs]
    found = [computed for _, computed in sides]
    node = node.with_inputs([side for side, _ in sides])
    match node:
        case n.Project():
            columns = tuple((name, _replace_computed(e, found[0])) for name, e in node.columns)
            return replace(node, columns=columns), _computations(columns, found[0])
        case n.Filter():
            return node, found[0]
        case n.Join():
            left = () if node.kind.pads_left else found[0]
            right = () if node.kind.pads_right else found[1]
            return node, tuple(c for c in (*left, *right) if c[1] in node.names)
        case _:
            return node, ()


def _replace_computed(expr: Expr, computed: ComputedColumns) -> Expr:
    def replace_part(e: Expr) -> Expr:
        name = next((c for same, c in computed if same == e), None)
        return e if name is None else ColumnRef(e.type, name, span=e.span)

    return transform(expr, replace_part) if computed else expr


def _computations(columns: Iterable[tuple[str, Expr]], below: ComputedColumns) -> ComputedColumns:
    """Return what a projection computes beside the columns that it passes on, or passes on."""
    columns = tuple(columns)
    passed = {name for name, e in columns if isinstance(e, ColumnRef) and e.name == name}
    own = (
        (e, name)
        for name, e in columns
        if is_hidden(name) and not isinstance(e, ColumnRef) and _repeats(e)
    )
    kept = (c for c in below if c[1] in passed)
    return tuple((e, c) for e, c in (*own, *kept) if columns_of(e) and columns_of(e) <= passed)


def _repeats(expr: Expr) -> bool:
    return is_deterministic(expr) and not reads_now(expr)
