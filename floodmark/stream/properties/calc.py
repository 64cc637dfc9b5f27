"""Runs of projections and filters, as one computation over the node below them.

Flink checks the determinism of such a run as a whole; the check here does the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from floodmark.plan import nodes as n
from floodmark.plan.expr.determinism import reads_now
from floodmark.plan.expr.expressions import ColumnRef, Expr, columns_of, transform
from floodmark.plan.expr.size import check_growth
from floodmark.stream.properties.determinism_check import NONE, Cause, Columns, DeterminismCheck
from floodmark.stream.properties.nondeterministic_exprs import (
    nondeterministic_exprs,
    nontemporal_exprs,
)
from floodmark.stream.properties.ranking import ranking_of


@dataclass(frozen=True, slots=True)
class Calc:
    """`columns` by output name and `conditions`, all of them over the columns of `below`.

    `last` is the operator of the run that computes something: errors name it.
    """

    below: n.Node
    columns: Mapping[str, Expr]
    conditions: tuple[Expr, ...]
    nodes: tuple[n.Node, ...]

    def reads(self, names: Iterable[str]) -> frozenset[str]:
        """Return the columns below that some output columns are computed from."""
        return frozenset(c for name in names for c in columns_of(self.columns[name]))

    @property
    def condition_columns(self) -> frozenset[str]:
        """Return the columns below that conditions read."""
        return frozenset(c for condition in self.conditions for c in columns_of(condition))

    def computing_node(self, name: str) -> n.Node:
        """Return the operator that computes a column."""
        for node in self.nodes:
            if not isinstance(node, n.Project):
                continue
            expr = dict(node.columns)[name]
            if not isinstance(expr, ColumnRef):
                return node
            name = expr.name
        return self.nodes[0]

    def check(self, required: Columns, needed: Columns, check: DeterminismCheck) -> None:
        """Check the determinism of the run, and hand on what it requires of the node below."""
        below = self.reads(needed) | self.condition_columns
        if isinstance(self.below, n.Values):
            self._check_constants(needed, check)
        if check.appends(self.below) or not (required or check.strict):
            check.hand(self.below, NONE, below)
            return
        for condition in self.conditions:
            called = (
                nontemporal_exprs(condition)
                if check.strict
                else nondeterministic_exprs((condition,))
            )
            if called:
                check.report(Cause.CONDITION, self._filter, (), called)
        # What is stored is not here any more: in strict, every call that is left is too many.
        for name in sorted(needed if check.strict else required, key=self.nodes[0].names.index):
            called = nondeterministic_exprs((self.columns[name],))
            if called:
                check.report(Cause.FUNCTION, self.computing_node(name), (name,), called)
        also = check.also(self.condition_columns)
        check.hand(self.below, self.reads(required) | also, below)

    def _check_constants(self, needed: Columns, check: DeterminismCheck) -> None:
        """What is said of no row would keep the time at which the view was made."""
        for condition in self.conditions:
            if check.strict and reads_now(condition):
                check.report(Cause.CONDITION, self._filter, (), ("now()",))
        for name in sorted(needed, key=self.nodes[0].names.index):
            if check.strict and reads_now(self.columns[name]):
                check.report(Cause.FUNCTION, self.computing_node(name), (name,), ("now()",))

    @property
    def _filter(self) -> n.Node:
        return next(node for node in self.nodes if isinstance(node, n.Filter | n.TemporalFilter))


def _in_calc(node: n.Node) -> bool:
    """Tell whether a node is part of such a run."""
    if isinstance(node, n.Filter):
        return ranking_of(node) is None
    return isinstance(node, n.Project | n.TemporalFilter)


def calc_of(node: n.Node) -> Calc:
    """Return the run of projections and filters from a node downwards.

    Raises E0147 where its columns repeat one another until they are too large.
    """
    run: list[n.Node] = []
    below = node
    while _in_calc(below):
        run.append(below)
        (below,) = below.inputs
    columns: dict[str, Expr] = dict(below.identity)
    conditions: list[Expr] = []
    for step in reversed(run):
        match step:
            case n.Project():
                columns = {name: _substitute(expr, columns) for name, expr in step.columns}
            case n.Filter():
                conditions.append(_substitute(step.predicate, columns))
            case n.TemporalFilter():
                conditions += [_substitute(bound, columns) for bound in step.bounds]
    return Calc(below, columns, tuple(conditions), tuple(run))


def _substitute(expr: Expr, columns: Mapping[str, Expr]) -> Expr:
    over = transform(expr, lambda e: columns[e.name] if isinstance(e, ColumnRef) else e)
    check_growth(over, expr.span)
    return over
