"""Refuses conditions on `now()` that say of no row when it comes and when it goes."""

from __future__ import annotations

from floodmark.plan import nodes as n
from floodmark.plan.expr.conjunctions import conjuncts
from floodmark.plan.expr.determinism import reads_now
from floodmark.plan.expr.expressions import Expr
from floodmark.plan.rules.temporal import NoPeriodError, period_of, place_of
from floodmark.sql import statements as s
from floodmark.stream.operators.lower import StreamPlan
from floodmark.stream.passes.refresh import could_refresh

_REFRESH = "or recompute the view in each epoch: WITH (refresh = 'full')"


def check_periods(plan: StreamPlan, statement: s.Statement) -> None:
    """Raise E0357 for the first condition that reads `now()` and has no period.

    What has one is a temporal filter by now.
    """
    for node in plan.nodes:
        try:
            _check(node)
        except NoPeriodError as error:
            hints = (_REFRESH,) if could_refresh(plan, statement) else ()
            raise error.refusal("cannot be kept as time passes", *hints) from None


def _check(node: n.Node) -> None:
    match node:
        case n.Filter():
            _check_condition(node.predicate)
        case n.ProjectSet() if reads_now(node.call) and not isinstance(node, n.GrowingSeries):
            hint = "generate_series(start, now(), step) grows: a start that stays, a step upwards"
            raise NoPeriodError("a table function of now()", place_of(node.call), hint)
        case n.Join() if node.residual is not None and reads_now(node.residual):
            _check_condition(node.residual)
            part = next(filter(reads_now, conjuncts(node.residual)))
            what = f"now() in ON of a {node.kind.value} join, beside what that join keeps,"
            hint = "compare now() with columns of the side that is padded, or put it into WHERE"
            raise NoPeriodError(what, place_of(part), hint)
        case n.Aggregate() | n.CloseAggregate():
            filters = (call.filter for _, call in node.aggregates if call.filter is not None)
            for condition in filter(reads_now, filters):
                hint = "put the condition into WHERE of a view or subquery, and aggregate that"
                raise NoPeriodError("now() in FILTER", place_of(condition), hint)


def _check_condition(condition: Expr) -> None:
    for part in filter(reads_now, conjuncts(condition)):
        period_of(part)
