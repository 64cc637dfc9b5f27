"""Groups that only become more: the rule behind A102."""

from __future__ import annotations

from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import columns_of
from floodmark.stream.operators.aggregate import StreamAggregate
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.lower import StreamPlan
from floodmark.stream.printing.labels import Labels, labels_of
from floodmark.stream.properties.determinism_check import NONE, Columns


def find_growing_groups(plan: StreamPlan) -> str | None:
    """Say of the first aggregate whose groups only become more by what its state grows."""
    labels = labels_of(plan.root)
    aggregates = (op for op in plan.operators.values() if isinstance(op, StreamAggregate))
    growing = (op for op in aggregates if op.state and _groups_grow(op))
    return next((_describe(op, labels) for op in growing), None)


def _groups_grow(op: StreamAggregate) -> bool:
    return bool(_growing_columns(op.input) & set(op.node.group))


def _describe(op: StreamAggregate, labels: Labels) -> str:
    named = labels[op.input.node]
    why = "no watermark column in GROUP BY cleans it"
    if op.watermark_names:
        column = ", ".join(sorted(named[c] for c in op.watermark_names))
        why = f"only with EMIT ON WINDOW CLOSE does the watermark of {column} clean it"
    by = ", ".join(named[c] for c in op.node.group)
    return f"the state of {op.identifier} grows with the groups (by {by}): {why}"


def _growing_columns(op: StreamOperator[n.Node]) -> Columns:
    """Return the columns of which more and more values come, and none has to go.

    Rows go with those of a table, as time passes, and where there is room for a few only. A value
    that has to be equal to one of a table goes with that, and a condition on both can end a row.
    """
    names = frozenset(op.names)
    if op.append_only or not op.inputs:
        return names if op.append_only else NONE
    few = not op.stream_key or (isinstance(op.node, n.OrderedNode) and not op.node.scope)
    ends = isinstance(op.node, n.TemporalFilter) or (
        isinstance(op.node, n.Filter) and op.input.append_only
    )
    if few or ends:
        return NONE
    below = [_growing_columns(i) for i in op.inputs]
    match op.node:
        case n.Project(columns=made) | n.MaterializeProject(columns=made):
            return frozenset(name for name, expr in made if columns_of(expr) & below[0])
        case n.Pairing(equi=equi) as pair if pair.residual is None or all(below):
            left, right = below
            equal = {a for a, b in equi if b not in right and not pair.keeps_unmatched}
            equal |= {b for a, b in equi if a not in left and not pair.kind.pads_left}
            return (left | right) & names - equal
        case n.Unary(input=under):
            passed = below[0] & names
            return passed | names - set(under.names) if passed else NONE
        case n.UnionAll():
            return names if any(below) else NONE
        case n.SetOperation():
            return names if all(below) else NONE
        case n.Pairing():
            return NONE
        case _:
            raise AssertionError(f"no rule for {type(op.node).__name__}")
