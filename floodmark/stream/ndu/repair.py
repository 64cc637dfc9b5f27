"""The repair: volatile expressions over rows that are updated are evaluated once and stored.

A projection becomes a `MaterializeProject`; conditions, arguments and join conditions become
columns of one below their operator. The conditions that guard them are not known there, so an
expression that can fail is stored as an attempt, and fails where it is used. Over an append-only
input, an argument becomes a column of a plain projection: an operator that rereads its input keeps
that input's rows with this column. Results of user-defined functions are always stored, so that an
epoch that resumes after a crash uses the values that it had evaluated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from floodmark.plan import nodes as n
from floodmark.plan.expr.can_fail import can_fail
from floodmark.plan.expr.conjunctions import all_of, conjunction, conjuncts
from floodmark.plan.expr.determinism import (
    asks_again,
    class_of,
    is_deterministic,
    is_volatile,
    reads_now,
)
from floodmark.plan.expr.expressions import (
    AggCall,
    Call,
    ColumnRef,
    Expr,
    OutcomeExpr,
    attempt,
    columns_of,
)
from floodmark.plan.rules.interval_join import bounds_pairs
from floodmark.plan.rules.nullability import split_conditions
from floodmark.scalar.functions import Determinism
from floodmark.stream.operators.lower import StreamPlan
from floodmark.stream.passes.keep_keys import hidden_name
from floodmark.stream.passes.rebuild import with_inputs
from floodmark.stream.properties.nondeterministic_exprs import is_temporal

NamedExprs = tuple[tuple[str, Expr], ...]
ColumnTest = Callable[[Expr], bool]
"""Tells of which expressions the value must be kept."""
_NOT_REPAIRED = (
    n.Values, n.TemporalFilter, n.GrowingSeries, n.MaterializeProject, n.SortBuffer
)  # fmt: skip
"""Nodes with expressions whose values are constants, follow the time, or are stored already."""


def repair(plan: StreamPlan, *, everywhere: bool) -> n.Node:
    """Return the plan with its volatile expressions materialized; itself where there are none.

    With `everywhere` each one over updating input is; otherwise only those below an operator that
    reads its input again. Calls of users' functions that are not IMMUTABLE always are.
    """
    return _Repair(plan, everywhere).node(plan.root, again=False)


def repair_top(plan: StreamPlan) -> n.Node:
    """Return the plan with the projections between its root and the first other operator repaired.

    Where the owner's table has their columns, that costs nothing.
    """
    return _top(plan, plan.root)


def lift_conditions(node: n.Node) -> n.Node:
    """Return a query on its own with volatile conditions of joins where a view evaluates them."""
    node = node.with_inputs([lift_conditions(child) for child in node.inputs])
    match node:
        case _ if n.is_lookup(node):
            return _lookup(node, stored=False)
        case n.Join(residual=Expr() as residual) if is_volatile(residual):
            if node.kind is n.JoinKind.INNER:
                return _filter_above(node, residual)
            return _outer_join(node, (False, False), is_volatile)
        case _:
            return node


def _top(plan: StreamPlan, node: n.Node) -> n.Node:
    if not isinstance(node, n.Project | n.Filter) or plan[node.input].append_only:
        return node
    rebuilt = with_inputs(node, (_top(plan, node.input),))
    if not isinstance(rebuilt, n.Project):
        return rebuilt
    return _storing(rebuilt, tuple(c for c, e in rebuilt.columns if not is_deterministic(e)))


@dataclass(frozen=True, slots=True)
class _Repair:
    plan: StreamPlan
    everywhere: bool

    def node(self, node: n.Node, *, again: bool) -> n.Node:
        """Return a node repaired; `again`: something above reads its rows again."""
        below = again or isinstance(node, n.OrderedNode) or self.plan[node].needs_all_rows
        rebuilt = with_inputs(node, tuple(self.node(c, again=below) for c in node.inputs))
        asks = any(asks_again(e) for e in rebuilt.expressions)
        if n.is_lookup(rebuilt):
            return _lookup(rebuilt, stored=asks or not self.plan[node.inputs[0]].append_only)
        updating = any(not self.plan[child].append_only for child in node.inputs)
        wanted = is_volatile if self.everywhere or below else asks_again
        stored = asks or (updating and wanted is is_volatile)
        if isinstance(rebuilt, n.Aggregate | n.CloseAggregate):
            return _aggregate(rebuilt, is_volatile if updating else _varies, stored=stored)
        if not (self.everywhere or below or asks):
            return rebuilt
        narrow = wanted if updating else asks_again
        match rebuilt:
            case n.Project():
                return _project(rebuilt, narrow)
            case n.Filter():
                return _filter(rebuilt, narrow)
            case n.Join():
                return self._join(node, rebuilt, wanted, asks=asks)
            case n.OverWindow():
                return _over_window(rebuilt, wanted if updating else _varies, stored=stored)
            case n.ProjectSet() if not isinstance(rebuilt, n.GrowingSeries):
                return _project_set(rebuilt, narrow)
            case _:
                known = not rebuilt.expressions or isinstance(rebuilt, _NOT_REPAIRED)
                assert known, f"nothing repairs the expressions of {type(rebuilt).__name__}"
                return rebuilt

    def _join(self, node: n.Node, rebuilt: n.Join, wanted: ColumnTest, *, asks: bool) -> n.Node:
        """Pairs of an inner join are stored above it; otherwise each side stores its part."""
        if rebuilt.residual is None or not wanted(rebuilt.residual):
            return rebuilt
        left, right = (asks or not self.plan[child].append_only for child in node.inputs)
        if rebuilt.kind is n.JoinKind.INNER:
            above = _filter_above(rebuilt, rebuilt.residual)
            return _filter(above, wanted) if left or right else above
        return _outer_join(rebuilt, (left, right), wanted)


def _filter_above(node: n.Pairing, residual: Expr) -> n.Filter:
    """Ask a condition of new pairs above their join, but for what may be asked before it there."""
    inside, outside = split_conditions(conjuncts(residual), bounds_pairs, node)
    pairs = replace(node, residual=all_of(inside))
    return n.Filter(pairs, conjunction(outside), span=node.span)


def _project(node: n.Project, wanted: ColumnTest) -> n.Node:
    return _storing(node, tuple(name for name, expr in node.columns if wanted(expr)))


def _storing(node: n.Project, stored: tuple[str, ...]) -> n.Node:
    if not stored:
        return node
    return n.MaterializeProject(node.input, node.columns, stored, span=node.span)


def _filter(node: n.Filter, wanted: ColumnTest) -> n.Node:
    """Store the outcome of the condition; comparisons with the time stay conditions."""
    if not wanted(node.predicate):
        return node
    parts = conjuncts(node.predicate)
    timed = tuple(p for p in parts if is_temporal(p))
    rest = conjunction(tuple(p for p in parts if not is_temporal(p))) if timed else node.predicate
    below = _PulledColumns(node.input)
    outcome = below.column(rest)
    kept = n.Filter(below.node(stored=True), conjunction((*timed, outcome)), span=node.span)
    return n.Project(kept, node.input.identity)


def _lookup(node: n.Pairing, *, stored: bool) -> n.Node:
    """Evaluate a volatile condition once per left row where it reads that alone.

    A condition that also reads the right side is evaluated once per pair, above an inner lookup. In
    a left lookup it stays and is refused, because it decides which rows are padded.
    """
    if node.residual is None or not is_volatile(node.residual):
        return node
    names = frozenset(node.left.names)
    parts = conjuncts(node.residual)
    if node.kind is n.JoinKind.INNER and not all(_reads_only(names, p) for p in parts):
        pairs = _filter_above(node, node.residual)
        return _filter(pairs, is_volatile) if stored else pairs
    left = _PulledColumns(node.left, {*node.left.names, *node.right.names})
    kept = conjunction(tuple(_pull(part, left, names, is_volatile) for part in parts))
    return replace(node, left=left.node(stored=stored), residual=kept)


def _reads_only(names: frozenset[str], part: Expr) -> bool:
    return not is_volatile(part) or columns_of(part) <= names


def _outer_join(node: n.Join, updating: tuple[bool, bool], wanted: ColumnTest) -> n.Join:
    """Evaluate each volatile condition once per row of the side whose columns it reads.

    One that reads neither side counts for the left row; one that reads both stays, and is refused.
    """
    assert node.residual is not None
    taken = {*node.left.names, *node.right.names}
    left, right = _PulledColumns(node.left, taken), _PulledColumns(node.right, taken)
    lefts, rights = frozenset(node.left.names), frozenset(node.right.names)
    parts: list[Expr] = []
    for part in conjuncts(node.residual):
        if wanted(part) and columns_of(part) <= rights and columns_of(part):
            part = right.column(part)
        elif wanted(part):
            part = _pull(part, left, lefts, wanted)
        parts.append(part)
    return replace(
        node,
        left=left.node(stored=updating[0]),
        right=right.node(stored=updating[1]),
        residual=conjunction(tuple(parts)),
    )


def _pull(part: Expr, side: _PulledColumns, names: frozenset[str], wanted: ColumnTest) -> Expr:
    return side.column(part) if wanted(part) and columns_of(part) <= names else part


def _aggregate(
    node: n.Aggregate | n.CloseAggregate, wanted: ColumnTest, *, stored: bool
) -> n.Aggregate | n.CloseAggregate:
    below = _PulledColumns(node.input, wanted=wanted)
    calls = tuple((name, _call(call, below)) for name, call in node.aggregates)
    if not below.columns:
        return node
    return replace(node, input=below.node(stored=stored), aggregates=calls)


def _varies(expr: Expr) -> bool:
    """Tell whether the value depends on more than the row."""
    return not is_deterministic(expr)


def _call(call: AggCall, below: _PulledColumns) -> AggCall:
    return replace(
        call,
        args=tuple(below.volatile(a) for a in call.args),
        filter=_condition(call.filter, below),
        order_by=tuple((below.volatile(e), d, f) for e, d, f in call.order_by),
    )


def _condition(filter_: Expr | None, below: _PulledColumns) -> Expr | None:
    """Return the condition of FILTER; like that of WHERE, one with the time goes on with it."""
    if filter_ is None or (reads_now(filter_) and not is_volatile(filter_)):
        return filter_
    return below.volatile(filter_)


def _over_window(node: n.OverWindow, wanted: ColumnTest, *, stored: bool) -> n.Node:
    below = _PulledColumns(node.input, wanted=wanted)
    calls = tuple(
        (
            name,
            replace(
                call,
                args=tuple(below.volatile(a) for a in call.args),
                filter=_condition(call.filter, below),
            ),
        )
        for name, call in node.calls
    )
    if not below.columns:
        return node
    over = replace(node, input=below.node(stored=stored), calls=calls)
    return n.Project(over, node.identity)


def _project_set(node: n.ProjectSet, wanted: ColumnTest) -> n.Node:
    """Store the arguments; of a function that is volatile itself, all the rows that it gives."""
    below = _PulledColumns(node.input, wanted=wanted)
    call = node.call
    if isinstance(call, Call) and class_of(call) is Determinism.DETERMINISTIC:
        call = replace(call, args=tuple(below.volatile(a) for a in call.args))
    else:
        call = below.volatile(call)
    if not below.columns:
        return node
    repeated = replace(node, input=below.node(stored=True), call=call)
    return n.Project(repeated, node.identity)


class _PulledColumns:
    """Expressions that become columns below an operator; `taken` are names that it has already."""

    def __init__(
        self, input_: n.Node, taken: set[str] | None = None, wanted: ColumnTest = is_volatile
    ) -> None:
        self._input = input_
        self._wanted = wanted
        self._taken = set(input_.names) if taken is None else taken
        self._known: dict[int, str] = {}
        self.columns: list[tuple[str, Expr]] = []

    def column(self, expr: Expr) -> Expr:
        """Return the expression's value from a column that holds it, or why there is none."""
        held = attempt(expr) if can_fail(expr) else expr
        name = self._known.get(id(expr))
        if name is None:
            name = self._known[id(expr)] = hidden_name("__stored", self._taken)
            self._taken.add(name)
            self.columns.append((name, held))
        column = ColumnRef(held.type, name, span=expr.span)
        return column if held is expr else OutcomeExpr(expr.type, column, span=expr.span)

    def volatile(self, expr: Expr) -> Expr:
        """Return the expression, or the column that holds it where its value must be kept."""
        return self.column(expr) if self._wanted(expr) else expr

    def node(self, *, stored: bool) -> n.Node:
        """Return the input with the columns; `stored`: their values are kept by its key."""
        if not self.columns:
            return self._input
        columns = (*self._input.identity, *self.columns)
        if not stored:
            return n.Project(self._input, columns)
        return n.MaterializeProject(self._input, columns, tuple(name for name, _ in self.columns))
