"""Plans with expressions and columns that may change their mind: volatile calls, metadata, lookups.

They extend the plans of `plan_strategies` by `random()`, `gen_random_uuid()` and functions of users
in columns, conditions and arguments, by casts, by lookups in tables, and by a table whose column
`at` belongs to the message.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from floodmark.changelog import ChangelogMode
from floodmark.errors import NotSupported
from floodmark.plan import nodes as n
from floodmark.plan.bind.user_calls import user_call
from floodmark.plan.expr.expressions import (
    Call,
    Case,
    Cast,
    ColumnRef,
    Expr,
    Literal,
    Now,
    Volatile,
)
from floodmark.reference.interpreter import reads_time
from floodmark.reference.pipeline import Delivery, EpochInput, ReferenceKind, ReferenceObject
from floodmark.reference.tables import MergeRules
from floodmark.scalar.functions import ORDERED_SETS, Determinism
from floodmark.scalar.functions.user import UserFunction
from floodmark.scalar.functions.volatile import CLOCK
from floodmark.scalar.types import BIGINT, BOOLEAN, DOUBLE, INT, TIMESTAMPTZ, UUID, VARCHAR, Field
from floodmark.sql.parse import parse_statement
from floodmark.stream.ndu import DeterminismMode, Root, colocate_state, resolve
from floodmark.stream.operators.lower import StreamPlan, lower
from floodmark.stream.passes.keep_keys import keep_keys
from tests.property.nested_strategies import called, integers
from tests.property.plan_strategies import OBJECTS, SCANS, Builder, Draw, epochs, keyed_changes

METADATA = "at"
_M = (Field("k", INT, False), Field("a", INT), Field(METADATA, BIGINT))
M = n.Scan("m", _M, ("k",), ChangelogMode.RETRACT, metadata=(METADATA,))
LOOSE_OBJECTS = (
    *OBJECTS,
    ReferenceObject("m", ReferenceKind.TABLE, _M, ("k",), merge=MergeRules(("k",))),
)
_TYPES = {"random": DOUBLE, "gen_random_uuid": UUID, CLOCK: TIMESTAMPTZ}
_STATEMENT = parse_statement("SELECT 1")
MOOD = [0]
"""What `moody` depends on beside its argument."""


def moody(value: int | None) -> int | None:
    """Stand for a user's function that is not IMMUTABLE; -1 it refuses."""
    if value == -1:
        raise ValueError(value)
    return None if value is None else (value + MOOD[0]) % 5


MOODY = UserFunction(
    "moody", (("v", INT),), INT, "python", "loose_plans.moody", Determinism.VOLATILE
)


@dataclass(frozen=True)
class LooseBuilder(Builder):
    """Draws nodes some of whose expressions are volatile; with `asks` lookups and user calls."""

    asks: bool = True
    function: UserFunction = MOODY

    def join(self, depth: int) -> n.Node:
        if not self.asks or self.draw(st.integers(0, 2)):
            return super().join(depth)
        left, right = self.node(depth), self.table()
        if not integers(left):
            return left
        column = self.pick(["k", "k", "a"])
        found = next(c for c, e in right.columns if isinstance(e, ColumnRef) and e.name == column)
        equi = ((self.pick(integers(left)).name, found),)
        residual = self.pick([None, self.residual(left, right), self.comparison(left)])
        return n.LookupJoin(left, right, self.pick(n.LookupJoin.KINDS), equi, residual)

    def table(self) -> n.Project:
        scan = self.pick(SCANS[:2])
        return n.Project(
            scan, tuple((self.fresh(), ColumnRef(f.type, f.name)) for f in scan.schema)
        )

    def project(self, below: n.Node) -> n.Node:
        drawn = super().project(below)
        assert isinstance(drawn, n.Project)
        extra: tuple[tuple[str, Expr], ...] = ()
        match self.pick(["number", "id", "time", "cast", "none"]):
            case "number":
                extra = ((self.fresh("r"), self.loose(below)),)
            case "id":
                extra = ((self.fresh("u"), self.call("gen_random_uuid")),)
            case "time":
                clock = self.pick([Now(TIMESTAMPTZ), self.call(CLOCK)])
                extra = ((self.fresh("x"), self.minute(clock)),)
            case "cast":
                found = self.pick(below.schema)
                if found.type in (INT, BIGINT):
                    type_ = self.pick([BIGINT, VARCHAR, INT])
                    cast = Cast(type_, ColumnRef(found.type, found.name))
                    extra = ((self.fresh("x"), cast),)
        return replace(drawn, columns=(*drawn.columns, *extra))

    def call(self, below: Any) -> Any:  # type: ignore[override]
        """Return a volatile call for a name, else an aggregate call over a node's columns."""
        if isinstance(below, str):
            return Volatile(_TYPES[below], below, (), next(self.names))
        drawn = super().call(below)
        if self.draw(st.integers(0, 3)) == 0 and drawn.args[0].type == INT:
            value = self.loose(below)
            order = drawn.order_by
            if drawn.function in ORDERED_SETS:
                order = tuple((value, *flags) for _, *flags in order)
            return replace(drawn, args=(value, *drawn.args[1:]), order_by=order)
        return drawn

    def minute(self, time: Expr) -> Expr:
        """Return the minute of a time, as a whole number."""
        return Cast(INT, called("extract", Literal(VARCHAR, "minute"), time))

    def comparison(self, below: n.Node) -> Expr:
        loose = self.draw(st.integers(0, 3)) == 0
        return self.chance(below) if loose else super().comparison(below)

    def chance(self, below: n.Node) -> Expr:
        """Return a volatile condition."""
        if self.asks and integers(below) and self.draw(st.booleans()):
            return Call(BOOLEAN, "<", (self.asked(below), Literal(INT, self.pick([1, 3]))))
        return Call(BOOLEAN, "<", (self.call("random"), Literal(DOUBLE, self.pick([0.3, 0.7]))))

    def loose(self, below: n.Node) -> Expr:
        """Return a volatile whole number, of a column where there is one."""
        columns = [ColumnRef(f.type, f.name) for f in below.schema if f.type == INT]
        value: Expr = self.pick(columns) if columns else Literal(INT, 1)
        if self.asks and columns and self.draw(st.booleans()):
            return self.asked(below)
        return Case(INT, ((self.chance(below), value),), Literal(INT, 0))

    def asked(self, below: n.Node) -> Expr:
        """Return the call of a user's function on a column."""
        found = self.pick(integers(below))
        return user_call(self.function, (ColumnRef(INT, found.name),), None)


@st.composite
def loose_plans(
    draw: Draw,
    max_depth: int = 4,
    *,
    scans: tuple[n.Scan, ...] = (*SCANS, M, M),
    asks: bool = False,
    function: UserFunction = MOODY,
) -> n.Node:
    """Draw a plan that keeps its stream keys; nothing of it is stored yet."""
    builder = LooseBuilder(draw, itertools.count(), scans, asks, function)
    return keep_keys(builder.node(draw(st.integers(1, max_depth))))


def settled(root: n.Node, mode: DeterminismMode) -> StreamPlan | None:
    """Return the plan that a view of this query runs; None where the mode refuses it."""
    plan = lower(root)
    kept = Root(plan[root].stream_key, stores=True)
    try:
        return colocate_state(resolve(plan, kept, mode, _STATEMENT).plan, kept)
    except NotSupported:
        return None


def is_cut_dependent(plan: StreamPlan) -> bool:
    """Tell whether the rows depend on where epochs end: what was evaluated once, then, is kept."""
    once = n.MaterializeProject | n.LookupJoin
    exprs = (e for node in plan.nodes if isinstance(node, n.Project) for _, e in node.columns)
    return any(isinstance(node, once) for node in plan.nodes) or any(map(reads_time, exprs))


@st.composite
def loose_epochs(draw: Draw, count: int = 3) -> list[EpochInput]:
    """Draw the input of some epochs; each message to `m` has a number of its own."""
    out = []
    for number, epoch in enumerate(draw(epochs(count)), 1):
        messages = enumerate(draw(keyed_changes))
        brought = [
            Delivery(kind, {"k": k, "a": a, METADATA: number * 10 + i})
            for i, (kind, k, a, _) in messages
        ]
        deliveries = {**epoch.deliveries, "m": brought}
        out.append(replace(epoch, deliveries=deliveries, number=number, seed="the seed"))
    return out
