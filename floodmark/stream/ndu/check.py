"""The check, top-down: which columns must be deterministic, and whether they are.

A requirement on an input leaves out the columns of its upsert keys, because these do not change
when a row is updated. A requirement that reaches an append-only input ends there. The rules of the
operators are Flink's; `strict` adds what Flink leaves open (conditions, join keys, arguments) and
takes the engine's own unique keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from floodmark.changelog import ChangelogMode, is_hidden
from floodmark.plan import nodes as n
from floodmark.plan.expr.determinism import reads_now
from floodmark.plan.expr.expressions import AggCall, AttemptExpr, ColumnRef, Expr, columns_of
from floodmark.scalar.types import BOOLEAN, Schema
from floodmark.stream.ndu.calc import Calc, calc_of, in_calc
from floodmark.stream.ndu.nondeterministic_exprs import (
    nondeterministic_exprs,
    nontemporal_exprs,
    volatile_aggregate,
)
from floodmark.stream.ndu.violations import Cause, Violation
from floodmark.stream.operators.lower import StreamPlan
from floodmark.stream.properties.key_sets import Keys
from floodmark.stream.properties.ranking import ranking_of
from floodmark.stream.properties.upsert_keys import removable

Columns = frozenset[str]
NONE: Columns = frozenset()


@dataclass
class Check:
    """One walk over a plan; `violations` and `lookups`, those to store, are what it results in.

    `own_table_nodes` are lookups whose rows the owner's table can take back (strict only).
    `changes_pass`: changes of what is visited reach the operators above; those of
    what is looked up do not.
    """

    plan: StreamPlan
    strict: bool
    own_table_nodes: frozenset[n.Node] = frozenset()
    violations: list[Violation] = field(default_factory=list)
    lookups: list[n.LookupJoin] = field(default_factory=list)
    changes_pass: bool = True

    def hand(self, node: n.Node, required: Iterable[str], needed: Iterable[str]) -> None:
        """Pass a requirement to an input: `needed` are the columns that operators above read."""
        names = frozenset(node.names)
        wanted = frozenset(needed) & names
        rest = frozenset(required) & names
        if self.appends(node):
            rest = NONE
        self._visit(node, _without_key(rest, self.keys(node, wanted)), wanted)

    def appends(self, node: n.Node) -> bool:
        """Tell whether no row of a node's output is ever retracted."""
        return self.plan[node].append_only if self.strict else insert_only(node)

    def keys(self, node: n.Node, needed: Columns) -> Keys:
        """Return the keys to use; for Flink, only those of columns that are not pruned."""
        if self.strict:
            return self.plan[node].unique_keys
        return tuple(key for key in self.plan[node].upsert_keys if key <= needed)

    def _visit(self, node: n.Node, required: Columns, needed: Columns) -> None:
        if in_calc(node):
            self._calc(node, required, needed)
            return
        match node:
            case n.Scan():
                self._scan(node, required)
            case n.MaterializeProject():
                self._materialize(node, required, needed)
            case n.Filter():
                ranking = ranking_of(node)
                assert ranking is not None
                self._first_of_groups(
                    ranking.window, ranking.partition, ranking.column, required, needed
                )
            case n.Join():
                self._join(node, required, needed)
            case n.LookupJoin():
                self._lookup(node, required, needed)
            case n.SetOperation():
                self._set_operation(node, required, needed)
            case n.Aggregate() | n.CloseAggregate():
                self._aggregate(node, required, needed)
            case n.OverWindow():
                self._over_window(node, required, needed)
            case _:
                self._unary(node, required, needed)

    def _unary(self, node: n.Node, required: Columns, needed: Columns) -> None:
        match node:
            case n.TopN():
                if node.group:
                    self._first_of_groups(node, node.group, node.number, required, needed)
                    return
                used = frozenset(k.column for k in node.order)
                required, needed = required - {node.number}, needed - {node.number}
                if not self.strict:
                    self._above_first_rows(node, required)
                self.hand(node.input, required | self._also(used), needed | used)
            case n.ProjectSet():
                self._project_set(node, required, needed)
            case n.SortBuffer():
                used = frozenset((node.column,))
                self.hand(node.input, required | self._also(used), needed | used)
            case n.Tumble() | n.Hop():
                used = frozenset((node.time,))
                bounds = required & {node.start, node.end}
                self.hand(node.input, required | (self._also(used) if bounds else NONE),
                          needed | used)  # fmt: skip
            case n.UnionAll():
                for branch in node.branches:
                    self.hand(branch, required, needed)
            case n.Unary():
                used = frozenset(node.input.names) if node.reads is None else node.reads
                self.hand(node.input, required | self._also(used), needed | used)
            case n.Values():
                self._values(node, needed)
            case _:
                assert not node.inputs, node

    def _above_first_rows(self, node: n.TopN, required: Columns) -> None:
        """Flink computes columns that do not order the rows after it has chosen them."""
        calc = calc_of(node.input)
        if not all(isinstance(calc.columns[k.column], ColumnRef) for k in node.order):
            return
        for name in sorted(required, key=node.names.index):
            called = nondeterministic_exprs((calc.columns[name],))
            if called:
                self._report(Cause.FUNCTION, calc.computing_node(name), (name,), called)

    def _also(self, columns: Iterable[str]) -> Columns:
        """Return what the strict check requires in addition."""
        return frozenset(columns) if self.strict else NONE

    def _report(
        self, cause: Cause, node: n.Node, columns: Iterable[str], functions: Iterable[str] = ()
    ) -> None:
        violation = Violation(cause, node, tuple(columns), tuple(functions))
        if violation not in self.violations:
            self.violations.append(violation)

    def _scan(self, node: n.Scan, required: Columns) -> None:
        columns = [c for c in node.metadata if c in required]
        if columns and self.changes_pass and not self.appends(node):
            self._report(Cause.METADATA, node, columns)

    def _calc(self, node: n.Node, required: Columns, needed: Columns) -> None:
        calc = calc_of(node)
        below = calc.reads(needed) | calc.condition_columns
        if isinstance(calc.below, n.Values):
            self._check_constants(calc, needed)
        if self.appends(calc.below) or not (required or self.strict):
            self.hand(calc.below, NONE, below)
            return
        for condition in calc.conditions:
            called = (
                nontemporal_exprs(condition)
                if self.strict
                else nondeterministic_exprs((condition,))
            )
            if called:
                self._report(Cause.CONDITION, _filter_of(calc.nodes), (), called)
        # What is stored is not here any more: in strict, every call that is left is too many.
        for name in sorted(needed if self.strict else required, key=node.names.index):
            called = nondeterministic_exprs((calc.columns[name],))
            if called:
                self._report(Cause.FUNCTION, calc.computing_node(name), (name,), called)
        self.hand(calc.below, calc.reads(required) | self._also(calc.condition_columns), below)

    def _check_constants(self, calc: Calc, needed: Columns) -> None:
        """What is said of no row would keep the time at which the view was made."""
        for condition in calc.conditions:
            if self.strict and reads_now(condition):
                self._report(Cause.CONDITION, _filter_of(calc.nodes), (), ("now()",))
        for name in sorted(needed, key=calc.nodes[0].names.index):
            if self.strict and reads_now(calc.columns[name]):
                self._report(Cause.FUNCTION, calc.computing_node(name), (name,), ("now()",))

    def _values(self, node: n.Values, needed: Columns) -> None:
        for index, name in enumerate(node.names):
            if self.strict and name in needed and any(reads_now(row[index]) for row in node.rows):
                self._report(Cause.FUNCTION, node, (name,), ("now()",))

    def _materialize(self, node: n.MaterializeProject, required: Columns, needed: Columns) -> None:
        """Stored columns are what they were; the others are computed again."""
        exprs = dict(node.columns)
        fresh = [c for c in node.names if c not in node.stored]
        if not self.appends(node.input):
            for name in node.names:
                called = [
                    f
                    for f in nondeterministic_exprs((exprs[name],))
                    if f == "now()" or name in fresh
                ]
                if called and name in needed:
                    cause = Cause.CONDITION if _of_condition(name, exprs[name]) else Cause.FUNCTION
                    self._report(cause, node, (name,), called)
        reads = (columns_of(exprs[c]) for c in required if c in fresh)
        below = frozenset().union(*(columns_of(exprs[c]) for c in needed))
        self.hand(node.input, frozenset().union(*reads), below)

    def _first_of_groups(
        self,
        node: n.OverWindow | n.TopN,
        group: Sequence[str],
        number: str | None,
        required: Columns,
        needed: Columns,
    ) -> None:
        below, made = node.input, frozenset(() if number is None else (number,))
        used = frozenset((*group, *(k.column for k in node.order)))
        inner = (needed | used) - made
        if self.appends(below):
            self.hand(below, NONE, inner)
            return
        if self.strict:
            self.hand(below, (required | used) - made, inner)
            return
        keyed = any(key >= frozenset(group) for key in self.keys(below, inner))
        if keyed and all(_only_grows(below, k, self) for k in node.order):
            self.hand(below, required - used - made, inner)
            return
        self.hand(below, inner, inner)
        return

    def _join(self, node: n.Join, required: Columns, needed: Columns) -> None:
        updates = not (self.appends(node.left) and self.appends(node.right))
        inner = node.kind in (n.JoinKind.INNER, n.JoinKind.SEMI)
        called = () if node.residual is None else nondeterministic_exprs((node.residual,))
        if self.strict and node.residual is not None and node.kind is n.JoinKind.INNER:
            called = nontemporal_exprs(node.residual)
        if called and (updates or not inner):
            self._report(Cause.CONDITION, node, (), called)
        tested = NONE if node.residual is None else columns_of(node.residual)
        for side, keys in ((node.left, 0), (node.right, 1)):
            used = tested | {pair[keys] for pair in node.equi}
            names = frozenset(side.names)
            wanted = (needed | used) & names
            part = (required & names) | (self._also(used) & names)
            self.hand(side, part if self.keys(side, wanted) else wanted, wanted)

    def _lookup(self, node: n.LookupJoin, required: Columns, needed: Columns) -> None:
        lefts, rights = (frozenset(side.names) for side in node.inputs)
        tested = NONE if node.residual is None else columns_of(node.residual)
        used = tested | {a for a, _ in node.equi}
        looked_up = (needed | tested | {b for _, b in node.equi}) & rights
        followed, self.changes_pass = self.changes_pass, False
        self._visit(node.right, NONE, looked_up)
        self.changes_pass = followed
        wanted = (needed | used) & lefts
        if self.appends(node.left) or not (required or self.strict):
            self.hand(node.left, NONE, wanted)
            return
        called = () if node.residual is None else nondeterministic_exprs((node.residual,))
        if called:
            self._report(Cause.CONDITION, node, (), called)
        if self._must_store(node, required & rights, looked_up):
            self.lookups.append(node)
        self.hand(node.left, (required & lefts) | (self._also(used) & lefts), wanted)

    def _must_store(self, node: n.LookupJoin, required: Columns, needed: Columns) -> bool:
        if node.stored or node.static:
            return False
        keys = frozenset(b for _, b in node.equi)
        unique = [key for key in self.keys(node.right, needed) if key <= keys]
        if self.strict:
            return bool(required) or not unique or node not in self.own_table_nodes
        return bool(required) and not any(required <= key for key in unique)

    def _set_operation(self, node: n.SetOperation, required: Columns, needed: Columns) -> None:
        """In Flink a semi or anti join on all columns below a DISTINCT; ALL counts rows."""
        left, right = node.inputs
        shown, shown_right = _visible(left.schema), _visible(right.schema)
        if self.strict or node.all:
            self.hand(left, shown, shown)
            self.hand(right, shown_right, shown_right)
            return
        distinct = any(key <= shown for key in self.keys(left, shown))
        part = required & shown if distinct else shown
        self.hand(left, part if self.keys(left, shown) else shown, shown)
        self.hand(right, NONE if self.keys(right, shown_right) else shown_right, shown_right)

    def _aggregate(
        self, node: n.Aggregate | n.CloseAggregate, required: Columns, needed: Columns
    ) -> None:
        calls = dict(node.aggregates)
        live = {c: call for c, call in calls.items() if c in needed}
        read = frozenset(c for call in live.values() for e in call.children for c in columns_of(e))
        below = frozenset(node.group) | read
        if not self.appends(node.input):
            if isinstance(node, n.Aggregate) and not self.strict and self._single(node, below):
                rest = {c for n_ in required & set(calls) for c in _reads(calls[n_])}
                self.hand(node.input, (required & set(node.group)) | rest, below)
                return
            self._arguments(node, live)
        for column, call in live.items():
            own = volatile_aggregate(call)
            wanted = self.appends(node.input) and column in required
            if own is not None and (wanted or (self.strict and not self.appends(node.input))):
                self._report(Cause.FUNCTION, node, (column,), (own,))
        self.hand(node.input, below, below)

    def _single(self, node: n.Aggregate, below: Columns) -> bool:
        return removable(node, self.keys(node.input, below))

    def _arguments(self, node: n.Aggregate | n.CloseAggregate, calls: dict[str, AggCall]) -> None:
        for column, call in calls.items():
            called = nondeterministic_exprs(call.children)
            if called:
                self._report(Cause.FUNCTION, node, (column,), called)

    def _over_window(self, node: n.OverWindow, required: Columns, needed: Columns) -> None:
        order = frozenset((*node.partition, *(k.column for k in node.order)))
        everywhere = needed if self.strict else required
        exprs: list[Expr] = []
        for column, call in node.calls:
            parts = [*call.args, *([] if call.filter is None else [call.filter])]
            if column in everywhere:
                exprs += parts
                if not self.appends(node.input) and (called := nondeterministic_exprs(parts)):
                    self._report(Cause.FUNCTION, node, (column,), called)
        read = frozenset(c for e in exprs for c in columns_of(e))
        live = frozenset(
            c for name, call in node.calls if name in needed
            for e in (*call.args, *([] if call.filter is None else [call.filter]))
            for c in columns_of(e)
        )  # fmt: skip
        names = frozenset(node.input.names)
        self.hand(node.input, (required & names) | order | read, needed | order | live)

    def _project_set(self, node: n.ProjectSet, required: Columns, needed: Columns) -> None:
        made = {*node.outputs, node.ordinal}
        read = columns_of(node.call)
        called = () if isinstance(node, n.GrowingSeries) else nondeterministic_exprs((node.call,))
        if not self.appends(node.input) and called and (self.strict or required & made):
            self._report(Cause.FUNCTION, node, node.outputs, called)
        self.hand(node.input, (required - made) | self._also(read), (needed - made) | read)


def _of_condition(name: str, expr: Expr) -> bool:
    """Tell whether a stored column holds what a condition gave, or the attempt at it."""
    value = expr.operand if isinstance(expr, AttemptExpr) else expr
    return is_hidden(name) and value.type == BOOLEAN


def _without_key(required: Columns, keys: Keys) -> Columns:
    """Return what is left to require beside the best key: its columns are deterministic."""
    if any(required <= key for key in keys):
        return NONE
    return min((required - key for key in keys), key=len, default=required)


def _visible(schema: Schema) -> Columns:
    return frozenset(f.name for f in schema if not is_hidden(f.name))


def _reads(call: AggCall) -> Columns:
    return frozenset(c for e in call.children for c in columns_of(e))


def _filter_of(nodes: tuple[n.Node, ...]) -> n.Node:
    return next(node for node in nodes if isinstance(node, n.Filter | n.TemporalFilter))


def _only_grows(node: n.Node, key: n.SortKey, check: Check) -> bool:
    """Tell whether a sort key moves rows only forwards: a count over rows that only come."""
    column = key.column
    while isinstance(node, n.Project):
        expr = dict(node.columns)[column]
        reads = columns_of(expr)
        if len(reads) != 1 or nondeterministic_exprs((expr,)):
            return False
        (column,) = reads
        node = node.input
    if not isinstance(node, n.Aggregate) or not key.descending:
        return False
    call = dict(node.aggregates).get(column)
    return call is not None and call.function == "count" and check.appends(node.input)


def insert_only(node: n.Node) -> bool:
    """Tell whether Flink sees no update in a node's output.

    A comparison with the time is an ordinary filter to it: rows do not leave when time passes.
    """
    match node:
        case n.Scan():
            return node.mode is ChangelogMode.APPEND_ONLY
        case n.Filter() if ranking_of(node) is not None:
            return False
        case n.CloseAggregate() | n.SortBuffer():
            return True
        case n.Aggregate() | n.TopN() | n.OverWindow():
            return False
        case n.LookupJoin():
            return insert_only(node.left)
        case n.Join() if node.kind not in (n.JoinKind.INNER, n.JoinKind.SEMI):
            return False
        case n.SetOperation():
            return False
        case n.Values():
            return True
        case (
            n.Project() | n.MaterializeProject() | n.Filter() | n.TemporalFilter() | n.ProjectSet()
            | n.Tumble() | n.Hop() | n.Session() | n.CloseSession() | n.UnionAll() | n.Join()
        ):  # fmt: skip
            return all(map(insert_only, node.inputs))
        case _:
            raise AssertionError(f"{type(node).__name__} does not say whether Flink sees updates")
