"""Gives every volatile call of a query on its own a projection, so that it is drawn once per row.

A printed expression stands in several places: its value, its error, both ends of BETWEEN. Spark
draws anew in each, but never copies a column that draws.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from floodmark.plan import nodes as n
from floodmark.plan.expressions import AggCall, ColumnRef, Expr, Volatile, transform, walk

_PREFIX = "__drawn"


def lift_volatile(node: n.Node) -> n.Node:
    """Return the plan with volatile calls as columns of projections below their operators."""
    node = node.with_inputs([lift_volatile(child) for child in node.inputs])
    match node:
        case n.Project():
            drawn = _drawn(expr for _, expr in node.columns)
            columns = tuple((name, _replaced(expr, drawn)) for name, expr in node.columns)
            return node if not drawn else n.Project(_below(node.input, drawn), columns)
        case n.Filter():
            drawn = _drawn([node.predicate])
            if not drawn:
                return node
            kept = n.Filter(_below(node.input, drawn), _replaced(node.predicate, drawn))
            return n.Project(kept, _passed(node.input))
        case n.Aggregate():
            drawn = _drawn(e for _, call in node.aggregates for e in call.children)
            calls = tuple((name, _replaced_call(call, drawn)) for name, call in node.aggregates)
            below = _below(node.input, drawn)
            return replace(node, input=below, aggregates=calls) if drawn else node
        case _:
            return node


def _drawn(exprs: Iterable[Expr]) -> dict[Volatile, ColumnRef]:
    found: dict[Volatile, ColumnRef] = {}
    for expr in exprs:
        for part in walk(expr):
            if isinstance(part, Volatile):
                found.setdefault(part, ColumnRef(part.type, f"{_PREFIX}{len(found)}"))
    return found


def _passed(node: n.Node) -> tuple[tuple[str, Expr], ...]:
    return tuple((f.name, ColumnRef(f.type, f.name)) for f in node.schema)


def _below(node: n.Node, drawn: dict[Volatile, ColumnRef]) -> n.Node:
    return n.Project(node, (*_passed(node), *((ref.name, call) for call, ref in drawn.items())))


def _replaced(expr: Expr, drawn: dict[Volatile, ColumnRef]) -> Expr:
    return transform(expr, lambda e: drawn.get(e, e) if isinstance(e, Volatile) else e)


def _replaced_call(call: AggCall, drawn: dict[Volatile, ColumnRef]) -> AggCall:
    return replace(
        call,
        args=tuple(_replaced(a, drawn) for a in call.args),
        filter=None if call.filter is None else _replaced(call.filter, drawn),
        order_by=tuple((_replaced(e, drawn), d, f) for e, d, f in call.order_by),
    )
