"""Gives every volatile call of a query on its own a projection, so that it is drawn once per row.

A printed expression stands in several places: its value, its error, both ends of BETWEEN. Spark
draws anew in each, but never copies a column that draws. Windows and orders read columns, and
conditions of joins are lifted as those of views are: nothing is drawn there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import (
    AggCall,
    ColumnRef,
    Expr,
    Literal,
    Volatile,
    transform,
    walk,
)
from floodmark.scalar.types import BIGINT, Field

_PREFIX, _BRANCH = "__drawn", "__branch"


def lift_volatile(node: n.Node) -> n.Node:
    """Return the plan with volatile calls as columns of projections below their operators."""
    node = node.with_inputs([lift_volatile(child) for child in node.inputs])
    match node:
        case n.Project():
            drawn = _name_draws(expr for _, expr in node.columns)
            columns = tuple((name, _replace_draws(expr, drawn)) for name, expr in node.columns)
            return node if not drawn else n.Project(_add_draws(node.input, drawn), columns)
        case n.Filter():
            drawn = _name_draws([node.predicate])
            if not drawn:
                return node
            predicate = _replace_draws(node.predicate, drawn)
            return _restore_columns(node, n.Filter(_add_draws(node.input, drawn), predicate))
        case n.Aggregate():
            drawn = _name_draws(e for _, call in node.aggregates for e in call.children)
            calls = tuple((name, _replace_in_call(call, drawn)) for name, call in node.aggregates)
            below = _add_draws(node.input, drawn)
            return replace(node, input=below, aggregates=calls) if drawn else node
        case n.ProjectSet():
            drawn = _name_draws([node.call])
            if not drawn:
                return node
            call = _replace_draws(node.call, drawn)
            return _restore_columns(
                node, replace(node, input=_add_draws(node.input, drawn), call=call)
            )
        case n.Values() if any(_name_draws(row) for row in node.rows):
            return _restore_columns(
                node, n.UnionAll(tuple(_row(node, row) for row in node.rows), _BRANCH)
            )
        case _:
            return node


def _row(node: n.Values, row: tuple[Expr, ...]) -> n.Node:
    """Return one of the rows, computed above a row that says nothing."""
    one = n.Values(((Literal(BIGINT, 0),),), (Field(_BRANCH, BIGINT, nullable=False),))
    return lift_volatile(n.Project(one, tuple(zip(node.names, row, strict=True))))


def _restore_columns(node: n.Node, lifted: n.Node) -> n.Node:
    """Return a lifted node with the columns that it had before."""
    return n.Project(lifted, node.identity)


def _name_draws(exprs: Iterable[Expr]) -> dict[Volatile, ColumnRef]:
    names: dict[Volatile, ColumnRef] = {}
    for expr in exprs:
        for part in walk(expr):
            if isinstance(part, Volatile):
                names.setdefault(part, ColumnRef(part.type, f"{_PREFIX}{len(names)}"))
    return names


def _add_draws(node: n.Node, drawn: dict[Volatile, ColumnRef]) -> n.Node:
    return n.Project(node, (*node.identity, *((ref.name, call) for call, ref in drawn.items())))


def _replace_draws(expr: Expr, drawn: dict[Volatile, ColumnRef]) -> Expr:
    return transform(expr, lambda e: drawn.get(e, e) if isinstance(e, Volatile) else e)


def _replace_in_call(call: AggCall, drawn: dict[Volatile, ColumnRef]) -> AggCall:
    return replace(
        call,
        args=tuple(_replace_draws(a, drawn) for a in call.args),
        filter=None if call.filter is None else _replace_draws(call.filter, drawn),
        order_by=tuple((_replace_draws(e, drawn), d, f) for e, d, f in call.order_by),
    )
