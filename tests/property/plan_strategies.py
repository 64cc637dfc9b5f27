"""Hypothesis strategies that build legal plans and changelogs that respect keys.

Small domains make rows meet: 4 keys, 7 values with NULL, 0, -1 and the largest integer.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from floodmark.changelog import ROW_ID, ChangelogMode, RowKind
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import (
    AggCall,
    BoolOp,
    Call,
    Case,
    Cast,
    ColumnRef,
    Expr,
    Literal,
)
from floodmark.reference.pipeline import Delivery, EpochInput, ReferenceKind, ReferenceObject
from floodmark.reference.tables import MergeRules
from floodmark.reference.watermarks import Watermark
from floodmark.scalar.functions import Operand, aggregate_overload
from floodmark.scalar.types import BIGINT, BOOLEAN, DOUBLE, INT, TIMESTAMP, Field
from floodmark.stream.passes.keep_keys import keep_keys
from tests.property.nested_strategies import (
    apart,
    called,
    compared,
    distinct,
    integers,
    spread,
    unrolled,
    written,
)
from tests.property.ordered_strategies import over_window, top_n

LARGEST = 2**31 - 1
VALUES = (None, 0, -1, 1, 2, 3, LARGEST)
KEYS = (1, 2, 3, 4)
START = datetime(2024, 1, 1)
MINUTES = tuple(range(12))

_T = (Field("k", INT, False), Field("a", INT), Field("b", INT))
_S = (Field("ts", TIMESTAMP), Field("k", INT), Field("v", INT), Field(ROW_ID, BIGINT, False))
_MARK = n.WatermarkColumn("ts", "s.ts")

SCANS: tuple[n.Scan, ...] = (
    n.Scan("t1", _T, ("k",), ChangelogMode.RETRACT),
    n.Scan("t2", _T, ("k",), ChangelogMode.RETRACT),
    n.Scan("s", _S, (ROW_ID,), ChangelogMode.APPEND_ONLY, (_MARK,)),
)
OBJECTS: tuple[ReferenceObject, ...] = (
    ReferenceObject("t1", ReferenceKind.TABLE, _T, ("k",), merge=MergeRules(("k",))),
    ReferenceObject("t2", ReferenceKind.TABLE, _T, ("k",), merge=MergeRules(("k",))),
    ReferenceObject(
        "s", ReferenceKind.SOURCE, _S, (ROW_ID,),
        watermarks=(Watermark("ts", ColumnRef(TIMESTAMP, "ts")),),
    ),
)  # fmt: skip

CHANGES: tuple[n.Scan, ...] = (
    n.Scan("c", _T, ("k",), ChangelogMode.RETRACT),
    n.Scan("u", _T, ("k",), ChangelogMode.RETRACT),
)
"""Sources of messages that change rows: of a change data capture, and by key."""
CHANGED = tuple(
    ReferenceObject(scan.object, ReferenceKind.SOURCE, _T, ("k",), merge=MergeRules(("k",)))
    for scan in CHANGES
)

KINDS = (
    "union", "set", "project", "filter", "join", "join", "aggregate", "aggregate", "tumble", "hop",
    "session", "over", "top", "unroll", "value", "written", "distinct",
)  # fmt: skip
SUMS = ("count", "sum", "avg", "min", "max")
ORDERED = ("first_value", "last_value")
"""Aggregates whose value depends on the order of their input."""

Draw = Callable[..., Any]


@dataclass(frozen=True)
class Builder:
    """Draws nodes; every column gets a name that no other has."""

    draw: Draw
    names: Iterator[int]
    scans: tuple[n.Scan, ...] = (*SCANS, SCANS[2])

    def fresh(self, prefix: str = "c") -> str:
        return f"{prefix}{next(self.names)}"

    def pick(self, options: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(options))

    def node(self, depth: int) -> n.Node:
        """Draw a plan of at most `depth` operators above its leaves."""
        if depth == 0:
            return self.leaf()
        kind = self.pick(KINDS)
        if kind in ("union", "set"):
            return self.union(depth - 1, counts=kind == "set")
        if kind == "join":
            return self.join(depth - 1)
        if kind == "written":
            return written(self)
        below = self.node(depth - 1)
        match kind:
            case "project":
                return self.project(below)
            case "filter":
                return n.Filter(below, self.predicate(below))
            case "aggregate":
                return self.aggregate(below)
            case "tumble":
                return self.tumble(below)
            case "hop":
                return self.hop(below)
            case "over":
                return over_window(self, below)
            case "top":
                return top_n(self, below)
            case "unroll":
                return unrolled(self, below)
            case "value":
                return compared(self, below, self.node(min(depth - 1, 1)))
            case "distinct":
                return distinct(self, below)
            case _:
                return self.session(below)

    def leaf(self) -> n.Node:
        scan = self.pick(self.scans)
        shown = [(self.fresh(), ColumnRef(f.type, f.name)) for f in scan.schema]
        return n.Project(scan, tuple(shown))

    def project(self, below: n.Node) -> n.Node:
        kept = self.draw(st.lists(st.sampled_from(below.schema), min_size=1, unique=True))
        columns: list[tuple[str, Expr]] = [(self.fresh(), ColumnRef(f.type, f.name)) for f in kept]
        if numbers(below) and self.draw(st.booleans()):
            columns.append((self.fresh(), self.number(below)))
        return n.Project(below, tuple(columns))

    def number(self, below: n.Node) -> Expr:
        """Draw an expression; it overflows, and divides by zero, sometimes."""
        column = self.column(below)
        match self.pick(["+", "-", "/", "case"]):
            case "case":
                when = (self.comparison(below), column)
                return Case(column.type, (when,), Literal(column.type, 0))
            case op:
                small = Literal(column.type, self.pick([0, 1, 2] if op == "/" else [1, 2]))
                return called(op, column, small)

    def column(self, below: n.Node) -> ColumnRef:
        found = self.pick(numbers(below))
        return ColumnRef(found.type, found.name)

    def comparison(self, below: n.Node) -> Expr:
        if not numbers(below):
            found = below.schema[0]
            return Call(BOOLEAN, "is_not_null", (ColumnRef(found.type, found.name),))
        column = self.column(below)
        if self.draw(st.integers(0, 4)) == 0:
            return Call(BOOLEAN, self.pick(["is_null", "is_not_null"]), (column,))
        other = Literal(column.type, self.pick([0, 1, 2, -1]))
        return Call(BOOLEAN, self.pick(["=", "<>", "<", ">="]), (column, other))

    def predicate(self, below: n.Node) -> Expr:
        if self.draw(st.booleans()):
            return self.comparison(below)
        parts = (self.comparison(below), self.comparison(below))
        return BoolOp(BOOLEAN, self.pick(["and", "or"]), parts)

    def union(self, depth: int, *, counts: bool) -> n.Node:
        sides = (self.node(depth), self.node(depth))
        width = min(2, *(len(integers(side)) for side in sides))
        if width == 0:
            return sides[0]
        names = [self.fresh() for _ in range(width)]
        branches = []
        for side in sides:
            columns = integers(side)[:width]
            shown = [ColumnRef(f.type, f.name) for f in columns]
            branches.append(n.Project(side, tuple(zip(names, shown, strict=True))))
        if counts:
            kind, everything = self.pick(list(n.SetKind)), self.draw(st.booleans())
            return n.SetOperation(*branches, kind, everything, copy=self.fresh("__copy"))
        return n.UnionAll(tuple(branches), self.fresh("__branch"))

    def join(self, depth: int) -> n.Node:
        left, right = self.node(depth), self.node(depth)
        pairs = [(a, b) for a in left.schema for b in right.schema if a.type == b.type]
        if not pairs:
            return left
        count = self.pick([0, 1, 1, 1, 2, 2])
        equi = tuple({(a.name, b.name): None for a, b in (self.pick(pairs) for _ in range(count))})
        residual = self.residual(left, right) if self.pick([True, False, False]) else None
        if residual is None and self.draw(st.booleans()):
            residual = apart(self, left, right)
        return n.Join(left, right, self.pick(list(n.JoinKind)), equi, residual)

    def residual(self, left: n.Node, right: n.Node) -> Expr | None:
        """Draw a condition on pairs; it divides by zero sometimes."""
        if not numbers(left) or not numbers(right):
            return None
        pairs = [(a, b) for a in numbers(left) for b in numbers(right) if a.type == b.type]
        if not pairs:
            return self.comparison(left)
        mine, theirs = self.pick(pairs)
        a, b = ColumnRef(mine.type, mine.name), ColumnRef(theirs.type, theirs.name)
        match self.pick(["<", "<>", "/", "left"]):
            case "/":
                return Call(BOOLEAN, ">=", (called("/", a, b), Literal(mine.type, 1)))
            case "left":
                return self.comparison(left)
            case op:
                return Call(BOOLEAN, op, (a, b))

    def aggregate(self, below: n.Node) -> n.Node:
        group = self.draw(st.lists(st.sampled_from(below.names), max_size=2, unique=True))
        calls = [(self.fresh(), AggCall("count", (), BIGINT))]
        if numbers(below):
            calls += [(self.fresh(), self.call(below)) for _ in range(self.pick([1, 2, 0, 2]))]
        return n.Aggregate(below, tuple(group), tuple(calls))

    def call(self, below: n.Node) -> AggCall:
        column = self.column(below)
        name = self.pick([*SUMS, *ORDERED, *SUMS, *ORDERED, "percentile", "spread"])
        if name == "spread" and integers(below):
            return spread(self, below)
        if name in ("percentile", "spread"):
            return self.percentile(below, column)
        operand = Operand("", column.type)
        result = aggregate_overload(name, (column.type,)).result_type([operand])
        condition = self.comparison(below) if self.draw(st.integers(0, 3)) == 0 else None
        if name in ORDERED:
            by = [(self.column(below), self.draw(st.booleans()), self.draw(st.booleans()))]
            order = tuple(by) if self.draw(st.booleans()) else ()
            return AggCall(name, (column,), result, filter=condition, order_by=order)
        return AggCall(name, (column,), result, self.draw(st.integers(0, 3)) == 0, condition)

    def percentile(self, below: n.Node, column: ColumnRef) -> AggCall:
        """Draw an aggregate with WITHIN GROUP."""
        name = self.pick(["percentile_cont", "percentile_disc", "mode"])
        value: Expr = Cast(DOUBLE, column) if name == "percentile_cont" else column
        fraction = Literal(DOUBLE, self.pick([0.0, 0.25, 0.5, 0.75, 1.0]))
        args = (value,) if name == "mode" else (value, fraction)
        down = self.draw(st.booleans())
        condition = self.comparison(below) if self.draw(st.integers(0, 3)) == 0 else None
        order = ((value, down, down),)
        return AggCall(name, args, value.type, filter=condition, order_by=order)

    def tumble(self, below: n.Node) -> n.Node:
        times = [f.name for f in below.schema if f.type == TIMESTAMP]
        if not times:
            return below
        size = (0, 0, self.pick([1, 3, 5]) * 60_000_000)
        start, end = self.fresh(), self.fresh()
        return n.Tumble(below, self.pick(times), size, (0, 0, 0), start=start, end=end)

    def hop(self, below: n.Node) -> n.Node:
        times = [f.name for f in below.schema if f.type == TIMESTAMP]
        if not times:
            return below
        slide, size = ((0, 0, self.pick([1, 2, 3]) * 60_000_000) for _ in range(2))
        start, end = self.fresh(), self.fresh()
        return n.Hop(below, self.pick(times), slide, size, (0, 0, 0), start=start, end=end)

    def session(self, below: n.Node) -> n.Node:
        times = [f.name for f in below.schema if f.type == TIMESTAMP]
        if not times:
            return below
        gap = (0, 0, self.pick([1, 2, 4]) * 60_000_000)
        by = self.draw(st.lists(st.sampled_from(below.names), max_size=1))
        start, end = self.fresh(), self.fresh()
        return n.Session(below, self.pick(times), gap, tuple(by), start=start, end=end)


def numbers(node: n.Node) -> list[Field]:
    """Return the whole-number columns of a node."""
    return [f for f in node.schema if f.type in (INT, BIGINT)]


@st.composite
def plans(draw: Draw, max_depth: int = 4, scans: tuple[n.Scan, ...] = (*SCANS, SCANS[2])) -> n.Node:
    """Draw a plan that keeps its stream keys."""
    builder = Builder(draw, itertools.count(), scans)
    return keep_keys(builder.node(draw(st.integers(1, max_depth))))


@st.composite
def closing_plans(draw: Draw) -> n.Node:
    """Draw an aggregate over tumbling windows of `s`, or of it twice, that emits on close."""
    builder = Builder(draw, itertools.count())
    leaf = _times(builder, "s") if draw(st.booleans()) else _chosen_times(builder)
    size = (0, 0, draw(st.sampled_from([1, 3, 5])) * 60_000_000)
    tumble = n.Tumble(leaf, "s_ts", size, (0, 0, 0), start="start", end="end")
    extra = ("s_k",) if draw(st.booleans()) else ()
    calls = (("n", AggCall("count", (), BIGINT)), ("x", builder.call(tumble)))
    window = draw(st.sampled_from(["start", "end"]))
    return keep_keys(n.CloseAggregate(tumble, (window, *extra), calls, window))


def _times(builder: Builder, prefix: str) -> n.Node:
    """Draw the rows of `s`, or some of them."""
    columns = tuple((f"{prefix}_{f.name}", ColumnRef(f.type, f.name)) for f in _S)
    leaf = n.Project(SCANS[2], columns)
    return n.Filter(leaf, builder.predicate(leaf)) if builder.draw(st.booleans()) else leaf


def _chosen_times(builder: Builder) -> n.Node:
    """Draw a join on the times, and one column that has the time of both sides."""
    left, right = _times(builder, "l"), _times(builder, "r")
    kind = builder.pick([n.JoinKind.FULL, n.JoinKind.FULL, n.JoinKind.LEFT, n.JoinKind.RIGHT])
    join = n.Join(left, right, kind, (("l_ts", "r_ts"),))
    times = tuple(ColumnRef(TIMESTAMP, name) for name in ("l_ts", "r_ts"))
    time = Call(TIMESTAMP, builder.pick(["coalesce", "greatest", "least"]), times)
    columns = (("s_ts", time), ("s_k", ColumnRef(INT, "l_k")), ("s_v", ColumnRef(INT, "r_v")))
    return n.Project(join, columns)


_value = st.sampled_from(VALUES)
_upsert = st.tuples(st.just(RowKind.INSERT), st.sampled_from(KEYS), _value, _value)
_delete = st.tuples(st.just(RowKind.DELETE), st.sampled_from(KEYS), st.none(), st.none())
keyed_changes = st.lists(st.one_of(_upsert, _upsert, _delete), min_size=1, max_size=5)
_event = st.tuples(st.sampled_from(MINUTES), st.sampled_from([None, *KEYS]), _value)
_events = st.lists(_event, min_size=1, max_size=5)


@st.composite
def epochs(draw: Draw, count: int = 3, keyed: Sequence[str] = ("t1", "t2")) -> list[EpochInput]:
    """Draw the input of some epochs; a retraction carries only the key, the table knows the row."""
    out = []
    for number in range(count):
        deliveries = {name: [_change(op) for op in draw(keyed_changes)] for name in keyed}
        deliveries["s"] = [_appended(op, number) for op in draw(_events)]
        out.append(EpochInput(START.replace(tzinfo=UTC) + timedelta(minutes=number), deliveries))
    return out


def _change(op: tuple[Any, ...]) -> Delivery:
    kind, k, a, b = op
    return Delivery(kind, {"k": k, "a": a, "b": b})


def _appended(op: tuple[Any, ...], number: int) -> Delivery:
    minute, k, v = op
    time = START + timedelta(minutes=minute + 4 * number)
    return Delivery(RowKind.INSERT, {"ts": time, "k": k, "v": v})
