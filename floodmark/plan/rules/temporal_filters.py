"""Makes temporal filters of conditions that compare rows with `now()`.

In a view such conditions say when a row comes and when it goes. An epoch then reads only the rows
whose time has come. Conditions without `now()` become a filter below and are evaluated first; so
are those of an outer query that cannot fail. A condition of an inner join is lifted above it. A
condition on the padded side of an outer join is put below, on that side. A condition without a
period stays as it is, and is refused where a view needs it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from floodmark.plan import nodes as n
from floodmark.plan.expr.conjunctions import all_of, conjunction, conjuncts, is_movable
from floodmark.plan.expr.determinism import reads_now
from floodmark.plan.expr.expressions import Expr, columns_of
from floodmark.plan.rules.growing_series import growing
from floodmark.plan.rules.temporal import NoPeriodError, period_of


def add_temporal_filters(node: n.Node) -> n.Node:
    """Return the plan with temporal filters where conditions have a period."""
    node = node.with_inputs([add_temporal_filters(child) for child in node.inputs])
    match node:
        case n.Filter() if reads_now(node.predicate):
            return _filter(node)
        case n.Filter(input=n.TemporalFilter() as timed) if is_movable(node.predicate):
            return replace(timed, input=replace(node, input=timed.input))
        case n.Join() if node.residual is not None and reads_now(node.residual):
            return _join(node, node.residual)
        case n.ProjectSet() if reads_now(node.call):
            return growing(node) or node
        case _:
            return node


def plain_filters(node: n.Node) -> n.Node:
    """Return the plan with its temporal filters as conditions, for a time that stands still."""
    node = node.with_inputs([plain_filters(child) for child in node.inputs])
    match node:
        case n.TemporalFilter():
            return n.Filter(node.input, node.condition, span=node.span)
        case n.GrowingSeries():
            return n.ProjectSet(
                node.input, node.call, node.outputs, node.ordinal, node.unpacks, node.outer,
                span=node.span,
            )  # fmt: skip
        case _:
            return node


def _filter(node: n.Filter) -> n.Node:
    with suppress(NoPeriodError):
        period = period_of(node.predicate)
        plain = all_of(period.plain)
        below = node.input if plain is None else n.Filter(node.input, plain, span=node.span)
        timed = conjunction([p for p in conjuncts(node.predicate) if reads_now(p)])
        if not period.lower_bounds and not period.upper_bounds:
            return below
        return n.TemporalFilter(
            below, timed, tuple(period.lower_bounds), tuple(period.upper_bounds), span=node.span
        )
    return node


def _join(node: n.Join, residual: Expr) -> n.Node:
    left, right = frozenset(node.left.names), frozenset(node.right.names)
    kept: list[Expr] = []
    above: list[Expr] = []
    to_left: list[Expr] = []
    to_right: list[Expr] = []
    for part in conjuncts(residual):
        read = columns_of(part)
        if not reads_now(part):
            kept.append(part)
        elif node.kind is n.JoinKind.INNER:
            above.append(part)
        elif node.kind in _RIGHT_ONLY and read <= right:
            to_right.append(part)
        elif node.kind is n.JoinKind.RIGHT and read <= left:
            to_left.append(part)
        elif node.kind is n.JoinKind.SEMI and read <= left:
            above.append(part)
        else:
            kept.append(part)
    joined = replace(
        node,
        left=_filter_side(node.left, to_left, node),
        right=_filter_side(node.right, to_right, node),
        residual=all_of(kept),
    )
    return _filter_side(joined, above, node)


_RIGHT_ONLY = (n.JoinKind.LEFT, n.JoinKind.SEMI, n.JoinKind.ANTI)
"""Joins in which a condition on the right row alone says which right rows there are."""


def _filter_side(node: n.Node, parts: list[Expr], join: n.Join) -> n.Node:
    if not parts:
        return node
    return _filter(n.Filter(node, conjunction(parts), span=join.span))
