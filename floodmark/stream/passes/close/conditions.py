"""Conditions that end rows as time passes, in a query that emits on close: asked at the release.

`ts > now() - INTERVAL '1 hour'` would take back rows, and rows of a closed window are final. So the
condition is lifted to where rows are released, and is evaluated there at the time of the epoch that
releases them. Below that its columns carry their watermarks as if it were not there. The part of a
condition that only lets rows come stays in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from floodmark.changelog import HIDDEN_PREFIX
from floodmark.errors import NotSupported
from floodmark.plan import nodes as n
from floodmark.plan.expr.conjunctions import conjunction
from floodmark.plan.expr.expressions import Call, ColumnRef, Expr, Now, columns_of, transform
from floodmark.plan.nodes.columns import fresh_name
from floodmark.scalar.types import BOOLEAN, TIMESTAMPTZ

WindowOf = Callable[[n.Aggregate], str]
"""Returns the group column whose watermark closes an aggregate's groups, or refuses it."""
LiftedPlan = tuple[n.Node, tuple[Expr, ...]]
"""A node, and the conditions over its columns that are still to be asked of its rows."""


def lift_ends(root: n.Node, window_of: WindowOf) -> LiftedPlan:
    """Return the plan with the conditions that end rows at its releases, and those of its result.

    Raises E0317 where an operator would see other rows than those that the condition leaves.
    """
    match root:
        case n.TemporalFilter() if root.upper_bounds:
            below, ends = lift_ends(root.input, window_of)
            return _without_ends(root, below), (*ends, root.condition)
        case n.Project():
            below, ends = lift_ends(root.input, window_of)
            return _pass_columns(root, below, ends)
        case n.Filter() | n.TemporalFilter() | n.Tumble() | n.Hop():
            below, ends = lift_ends(root.input, window_of)
            return root.with_inputs([below]), ends
        case n.Join():
            return _join(root, window_of)
        case n.Aggregate():
            below, ends = lift_ends(root.input, window_of)
            if not ends:
                return root.with_inputs([below]), ()
            kept = replace(root, input=below)
            held = n.SortBuffer(below, window_of(kept), conjunction(ends), span=root.span)
            return replace(root, input=held), ()
        case _:
            found = [lift_ends(child, window_of) for child in root.inputs]
            for _, ends in found:
                _refuse(root, ends)
            return root.with_inputs([child for child, _ in found]), ()


def _without_ends(node: n.TemporalFilter, below: n.Node) -> n.Node:
    """Return the rows from when they come on."""
    if not node.lower_bounds:
        return below
    now = Now(TIMESTAMPTZ)
    started = conjunction([Call(BOOLEAN, "<=", (lower, now)) for lower in node.lower_bounds])
    return n.TemporalFilter(below, started, node.lower_bounds, (), span=node.span)


def _pass_columns(node: n.Project, below: n.Node, ends: tuple[Expr, ...]) -> LiftedPlan:
    """Return a projection that passes on, hidden, what the conditions read."""
    columns = list(node.columns)
    passed = {e.name: name for name, e in node.columns if isinstance(e, ColumnRef)}
    for column in sorted({c for end in ends for c in columns_of(end)} - set(passed)):
        field = below.field(column)
        name = fresh_name(f"{HIDDEN_PREFIX}asked", {name for name, _ in columns})
        columns.append((name, ColumnRef(field.type, column)))
        passed[column] = name
    return n.Project(below, tuple(columns), span=node.span), _rename(ends, passed)


def _rename(ends: Sequence[Expr], names: dict[str, str]) -> tuple[Expr, ...]:
    def change(e: Expr) -> Expr:
        return replace(e, name=names[e.name]) if isinstance(e, ColumnRef) else e

    return tuple(transform(end, change) for end in ends)


def _join(node: n.Join, window_of: WindowOf) -> LiftedPlan:
    """Lift the conditions of sides of which a join only gives rows out, beside others."""
    (left, of_left), (right, of_right) = (lift_ends(s, window_of) for s in node.inputs)
    kept = [node.kind is n.JoinKind.INNER] * 2
    if node.kind in (n.JoinKind.LEFT, n.JoinKind.SEMI, n.JoinKind.ANTI):
        kept[0] = True
    if node.kind is n.JoinKind.RIGHT:
        kept[1] = True
    for ends, lifts in ((of_left, kept[0]), (of_right, kept[1])):
        if not lifts:
            _refuse(node, ends)
    return node.with_inputs([left, right]), (*of_left, *of_right)


def _refuse(node: n.Node, ends: Sequence[Expr]) -> None:
    if ends:
        raise NotSupported(
            "E0317",
            "The query cannot be executed in Emit-On-Window-Close mode: a condition on now() "
            f"removes rows that the {type(node).__name__} above it has already used.",
            span=ends[0].span or node.span,
            hint="apply the condition above it, or in a view that reads this one",
        )
