"""The scalar expressions of a plan's operators."""

from __future__ import annotations

from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Expr


def expressions_of(node: n.Node) -> tuple[Expr, ...]:
    """Return the scalar expressions of one node, those of its inputs left out."""
    match node:
        case n.Project() | n.MaterializeProject():
            return tuple(expr for _, expr in node.columns)
        case n.Filter():
            return (node.predicate,)
        case n.Join() | n.LookupJoin():
            return () if node.residual is None else (node.residual,)
        case n.Aggregate() | n.CloseAggregate():
            return tuple(e for _, call in node.aggregates for e in call.children)
        case n.OverWindow():
            calls = [call for _, call in node.calls]
            filters = (call.filter for call in calls if call.filter is not None)
            return (*(a for call in calls for a in call.args), *filters)
        case n.ProjectSet():
            return (node.call,)
        case n.TemporalFilter():
            return (node.condition, *node.bounds)
        case n.SortBuffer():
            return () if node.condition is None else (node.condition,)
        case n.Values():
            return tuple(e for row in node.rows for e in row)
        case _:
            return ()
