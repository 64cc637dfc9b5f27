"""Plans of times, dates and numbers with watermarks, under every operator that has a rule for them.

Small domains make rows meet at the watermark: a quarter of an hour, a week, twelve numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from floodmark.changelog import ROW_ID, ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.conjunctions import all_of
from floodmark.plan.expr.expressions import (
    AggCall,
    Call,
    Cast,
    ColumnRef,
    Expr,
    Literal,
    Now,
)
from floodmark.scalar.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    INT,
    INTERVAL,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    Field,
    SqlType,
    list_of,
)
from tests.property.nested_strategies import called
from tests.property.plan_strategies import Builder, Draw

START = datetime(2024, 1, 1)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
_COLUMNS = (Field("ts", TIMESTAMP), Field("d", DATE), Field("n", INT))
SOURCES = ("a", "b", "c")
RELATIONS = {
    name: n.Scan(
        name, (*_COLUMNS, Field(ROW_ID, BIGINT, False)), (ROW_ID,), ChangelogMode.APPEND_ONLY,
        tuple(n.WatermarkColumn(f.name, f"{name}.{f.name}") for f in _COLUMNS),
    )
    for name in SOURCES
}  # fmt: skip
KINDS = (
    "project", "project", "filter", "tumble", "hop", "session", "union", "set", "join", "join",
    "join", "lookup", "aggregate", "top", "over", "timed", "unnest", "series", "stored", "buffer",
    "closing", "closing session",
)  # fmt: skip
FRAMES = (
    None,
    ("RANGE", "UNBOUNDED PRECEDING", "0/0/120000000 FOLLOWING", "NO OTHERS"),
    ("RANGE", "0/0/60000000 PRECEDING", "0/0/180000000 FOLLOWING", "NO OTHERS"),
    ("RANGE", "0/0/180000000 PRECEDING", "CURRENT ROW", "NO OTHERS"),
    ("RANGE", "CURRENT ROW", "UNBOUNDED FOLLOWING", "NO OTHERS"),
    ("ROWS", "2 PRECEDING", "CURRENT ROW", "NO OTHERS"),
    ("ROWS", "1 PRECEDING", "1 FOLLOWING", "NO OTHERS"),
    ("GROUPS", "CURRENT ROW", "1 FOLLOWING", "NO OTHERS"),
)


def time_of(minute: int) -> datetime:
    return START + minute * MINUTE


def value_of(type_: SqlType, step: int) -> Any:
    """Return a value of a column's type: the minute, the day, the number."""
    if type_ == TIMESTAMP:
        return time_of(step)
    return date(2024, 1, 1) + step * DAY if type_ == DATE else step


def ref(field: Field) -> ColumnRef:
    return ColumnRef(field.type, field.name)


def _interval(minutes: int) -> Literal:
    return Literal(INTERVAL, (0, 0, minutes * 60_000_000))


@dataclass(frozen=True)
class Times(Builder):
    """Draws nodes over relations whose columns carry watermarks."""

    mixed: bool = False
    """Whether conditions of joins compare dates with times."""

    def plan(self, depth: int) -> n.Node:
        if depth == 0:
            scan = RELATIONS[self.pick(SOURCES)]
            return n.Project(scan, tuple((self.fresh(), ref(f)) for f in scan.schema))
        kind = self.pick(KINDS)
        if kind in ("union", "set", "join", "lookup"):
            return self.of_two(kind, self.plan(depth - 1), self.plan(depth - 1))
        below = self.plan(depth - 1)
        fields = [f for f in below.schema if f.type == TIMESTAMP]
        if not fields:
            return below
        return self.of_one(kind, below, self.pick(fields))

    def of_one(self, kind: str, below: n.Node, time: Field) -> n.Node:
        names = {"start": self.fresh(), "end": self.fresh()}
        size = (0, 0, self.pick([1, 3, 5]) * 60_000_000)
        offset = (0, 0, self.pick([0, 0, 30_000_000]))
        group = self.some(below, 2)
        match kind:
            case "project":
                kept = self.some(below, 3)
                passed = [(self.fresh(), ref(below.field(c))) for c in kept]
                risen = [(self.fresh(), self.risen(below)) for _ in range(3)]
                return n.Project(below, (*passed, *risen))
            case "filter":
                now = Cast(TIMESTAMP, Now(TIMESTAMPTZ))
                bound = now if self.pick([True, False]) else Literal(TIMESTAMP, time_of(8))
                return n.Filter(below, Call(BOOLEAN, "<", (ref(time), bound)))
            case "tumble":
                return n.Tumble(below, time.name, size, offset, **names)
            case "hop":
                slide = (0, 0, self.pick([1, 2, 4]) * 60_000_000)
                return n.Hop(below, time.name, slide, size, offset, **names)
            case "session":
                return n.Session(below, time.name, size, self.some(below, 1), **names)
            case "closing session":
                return n.CloseSession(below, time.name, size, self.some(below, 1), **names)
            case "aggregate":
                calls = ((self.fresh(), AggCall("count", (), BIGINT)),)
                return n.Aggregate(below, group, calls)
            case "closing":
                windows = n.Tumble(below, time.name, size, offset, **names)
                closing = self.pick([names["start"], names["end"]])
                columns = tuple(dict.fromkeys((*self.some(windows, 2), closing)))
                return n.CloseAggregate(windows, columns, (), closing)
            case "top":
                order = (n.SortKey(time.name, self.pick([True, False])),)
                return n.TopN(below, group, order, 1)
            case "over":
                return self.over(below, time, group[:1])
            case "timed":
                return self.timed(below, time)
            case "unnest":
                lists = Call(list_of(TIMESTAMP), "array", (ref(time), ref(time)))
                return n.ProjectSet(below, lists, (self.fresh(),), self.fresh())
            case "series":
                step = Literal(INTERVAL, (0, 0, 60_000_000))
                args = (Cast(TIMESTAMPTZ, ref(time)), Now(TIMESTAMPTZ), step)
                call = Call(list_of(TIMESTAMPTZ), "generate_series", args)
                return n.GrowingSeries(below, call, (self.fresh(),), self.fresh())
            case "stored":
                columns = tuple((self.fresh(), ref(f)) for f in below.schema)
                return n.MaterializeProject(below, columns, ())
            case _:
                return n.SortBuffer(below, time.name)

    def some(self, below: n.Node, most: int) -> tuple[str, ...]:
        names = st.lists(st.sampled_from(below.names), max_size=most, unique=True)
        return tuple(self.draw(names))

    def risen(self, below: n.Node) -> Expr:
        """Draw an expression of one or two columns of a type; it falls sometimes."""
        field = self.pick([f for f in below.schema if f.type in (TIMESTAMP, DATE, INT)] or [None])
        if field is None:
            return Literal(INT, 1)
        alike = [ref(f) for f in below.schema if f.type == field.type]
        column = ref(field)
        match self.pick(["moved", "moved", "cut", "cast", "chosen", "constant", "fallen"]):
            case "chosen":
                args = (column, self.pick(alike), self.pick(alike))
                return called(self.pick(["coalesce", "greatest", "least"]), *args)
            case "constant":
                return called("coalesce", column, Literal(field.type, value_of(field.type, 3)))
            case "cast" if field.type != INT:
                return Cast(self.pick([TIMESTAMP, DATE, TIMESTAMPTZ]), column)
            case "cast":
                return Cast(self.pick([BIGINT, VARCHAR]), column)
            case "cut" if field.type == TIMESTAMP:
                unit = Literal(VARCHAR, self.pick(["minute", "hour", "day"]))
                return called("date_trunc", unit, column)
            case "cut" if field.type == INT:
                return called(self.pick(["*", "/"]), column, Literal(INT, self.pick([1, 2, 3, -2])))
            case "fallen" if field.type == INT:
                return called("-", Literal(INT, 5), column)
            case _ if field.type == TIMESTAMP:
                return called(self.pick(["+", "-"]), column, _interval(self.pick([0, 1, 4])))
            case _:
                return called(self.pick(["+", "-"]), column, Literal(INT, self.pick([0, 1, 2])))

    def over(self, below: n.Node, time: Field, partition: tuple[str, ...]) -> n.Node:
        order = (n.SortKey(time.name, self.pick([False, False, True])),)
        calls = []
        for _ in range(self.pick([1, 1, 2])):
            match self.pick(["rank", "row_number", "cume_dist", "lag", "lead", "count", "count"]):
                case "lag" | "lead" as name:
                    by = Literal(INT, self.pick([-1, 0, 1]))
                    call = n.WindowCall(name, (ref(time), by), TIMESTAMP)
                case "count":
                    call = n.WindowCall("count", (), BIGINT, self.pick(FRAMES))
                case name:
                    call = n.WindowCall(name, (), BIGINT)
            calls.append((self.fresh(), call))
        return n.OverWindow(below, partition, order, tuple(calls))

    def timed(self, below: n.Node, time: Field) -> n.Node:
        """Draw a condition on now() by which rows come, or go."""
        moved = Cast(TIMESTAMPTZ, called("+", ref(time), _interval(self.pick([0, 2, 5]))))
        cut = called("date_trunc", Literal(VARCHAR, "hour"), moved)
        bound = self.pick([moved, moved, cut])
        comes = Call(BOOLEAN, "<=", (bound, Now(TIMESTAMPTZ)))
        goes = Call(BOOLEAN, ">", (bound, Now(TIMESTAMPTZ)))
        if self.pick([True, True, True, False]):
            return n.TemporalFilter(below, comes, (bound,), ())
        return n.TemporalFilter(below, goes, (), (bound,))

    def of_two(self, kind: str, left: n.Node, right: n.Node) -> n.Node:
        pairs = [(a, b) for a in left.schema for b in right.schema if a.type == b.type]
        pairs = [(a, b) for a, b in pairs if a.type in (TIMESTAMP, DATE, INT)]
        if not pairs:
            return left
        if kind in ("union", "set"):
            chosen = self.draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=3))
            names = [(self.fresh(), a, b) for a, b in chosen]
            sides = (
                n.Project(left, tuple((c, ref(a)) for c, a, _ in names)),
                n.Project(right, tuple((c, ref(b)) for c, _, b in names)),
            )
            if kind == "union":
                return n.UnionAll(sides, self.fresh("__branch"))
            how = self.pick(list(n.SetKind)), self.draw(st.booleans())
            return n.SetOperation(*sides, *how, copy=self.fresh("__copy"))
        return self.joined(kind, left, right, pairs)

    def joined(
        self, kind: str, left: n.Node, right: n.Node, pairs: Sequence[tuple[Field, Field]]
    ) -> n.Node:
        """Draw a join of one condition or several, equalities and distances."""
        conditions: list[Expr] = []
        equi: list[tuple[str, str]] = []
        for _ in range(self.pick([1, 1, 2, 3])):
            a, b = self.pick(pairs)
            if self.pick([True, False]):
                equi.append((a.name, b.name))
            else:
                conditions += self.apart(left, right, a, b)
        equal, residual = tuple(dict.fromkeys(equi)), all_of(conditions)
        if kind == "lookup":
            how = self.pick([n.JoinKind.INNER, n.JoinKind.LEFT])
            return n.LookupJoin(left, right, how, equal, residual)
        return n.Join(left, right, self.pick(list(n.JoinKind)), equal, residual)

    def apart(self, left: n.Node, right: n.Node, a: Field, b: Field) -> list[Expr]:
        """Draw how far two columns are apart at most, on one side or both."""
        if self.mixed and self.pick([True, False]):
            others = [f for f in right.schema if {f.type, a.type} == {DATE, TIMESTAMP}]
            if others:
                b = self.pick(others)
                to = self.pick([DATE, TIMESTAMP])
                return [Call(BOOLEAN, self.pick([">=", "<="]), tuple(_as(to, f) for f in (a, b)))]
        low, high = (self.moved(b, op) for op in ("-", "+"))
        whole = [Call(BOOLEAN, ">=", (ref(a), low)), Call(BOOLEAN, "<=", (ref(a), high))]
        strict = [Call(BOOLEAN, "<", (low, ref(a)))]
        return self.pick([whole, whole, strict, whole[1:]])

    def moved(self, field: Field, op: str) -> Expr:
        if self.pick([True, False, False]):
            return ref(field)
        if field.type == TIMESTAMP:
            return called(op, ref(field), _interval(self.pick([1, 3])))
        return called(op, ref(field), Literal(INT, self.pick([1, 2])))


def _as(type_: SqlType, field: Field) -> Expr:
    return ref(field) if field.type == type_ else Cast(type_, ref(field))


@st.composite
def timed_plans(draw: Draw, mixed: bool = False, max_depth: int = 3) -> n.Node:
    """Draw a plan over relations with watermarks."""
    builder = Times(draw, itertools.count(), mixed=mixed)
    return builder.plan(draw(st.integers(1, max_depth)))
