"""Typed scalar expressions: what the binder makes of SQL text.

Every node knows its SQL type. A node is a value: no engine, no session, no clock. The Spark form
is printed by `floodmark.spark.expressions`, the Python form evaluated by
`floodmark.plan.expr.evaluate`; both look functions up in `floodmark.scalar.functions` by the
name in `Call.function`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from floodmark.errors import Span
from floodmark.scalar.functions.model import Function
from floodmark.scalar.functions.user import UserFunction
from floodmark.scalar.types import BOOLEAN, INT, VARCHAR, SqlType, struct_of


@dataclass(frozen=True, slots=True)
class Expr:
    """A typed expression; `span` is where it stands in the SQL and takes no part in equality."""

    type: SqlType
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)
    _size: int | None = field(default=None, init=False, compare=False, repr=False)
    _reads: frozenset[str] | None = field(default=None, init=False, compare=False, repr=False)

    @property
    def size(self) -> int:
        """Return how many nodes it has; one that stands in two places counts twice."""
        if self._size is None:
            object.__setattr__(self, "_size", 1 + sum(child.size for child in self.children))
        assert self._size is not None
        return self._size

    @property
    def reads(self) -> frozenset[str]:
        """Return the names of the columns that it reads."""
        if self._reads is None:
            names = frozenset[str]().union(*(child.reads for child in self.children))
            object.__setattr__(self, "_reads", names)
        assert self._reads is not None
        return self._reads

    @property
    def children(self) -> tuple[Expr, ...]:
        """Return the direct sub-expressions, in order."""
        return ()


@dataclass(frozen=True, slots=True)
class ColumnRef(Expr):
    """A column of the input relation, by its unique name."""

    name: str

    @property
    def reads(self) -> frozenset[str]:
        """Return its name."""
        return frozenset((self.name,))


@dataclass(frozen=True, slots=True)
class Literal(Expr):
    """A constant.

    `value` is the Python form of the type: bool, int, Decimal, float, str, bytes, date, datetime,
    or None. A datetime is naive for TIMESTAMP and UTC-aware for TIMESTAMPTZ. INTERVAL has `(months,
    days, micros)`, TIME has microseconds as int, JSONB and UUID have their canonical str, LIST and
    STRUCT a tuple.
    """

    value: Any


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """A call of a registered scalar function or operator, arguments already coerced."""

    function: str
    args: tuple[Expr, ...]

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.args


@dataclass(frozen=True, slots=True)
class Volatile(Call):
    """A built-in volatile function at one place of a statement.

    `position` numbers the places in the order in which they are bound: the same statement always
    gives the same numbers, and one text bound twice keeps its number. A replay-stable value is a
    hash of it and of a `RowSeed` (`floodmark.scalar.functions.volatile`), which whoever compiles
    or evaluates the expression supplies.
    """

    position: int


@dataclass(frozen=True, slots=True)
class UserCall(Call):
    """A call of a function that a user wrote in Python.

    `definition` is a digest of the function, so that plans differ when it does.
    """

    definition: str
    user: UserFunction = field(compare=False, repr=False)

    @property
    def entry(self) -> Function:
        """Return what the registry says of a built-in function."""
        return self.user.entry


@dataclass(frozen=True, slots=True)
class Cast(Expr):
    """A conversion to `type`, explicit or inserted by the binder."""

    operand: Expr

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.operand,)


@dataclass(frozen=True, slots=True)
class BoolOp(Expr):
    """AND or OR over two or more operands; never depends on evaluation order."""

    op: str  # "and" | "or"
    args: tuple[Expr, ...]

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.args


@dataclass(frozen=True, slots=True)
class Case(Expr):
    """A searched CASE: the first TRUE condition chooses; a simple CASE is bound to this."""

    whens: tuple[tuple[Expr, Expr], ...]
    otherwise: Expr | None

    @property
    def children(self) -> tuple[Expr, ...]:
        pairs = tuple(e for when in self.whens for e in when)
        return pairs if self.otherwise is None else (*pairs, self.otherwise)


@dataclass(frozen=True, slots=True)
class Now(Expr):
    """The epoch's logged time (`now()`, `mz_now()`, `current_timestamp`)."""


@dataclass(frozen=True, slots=True)
class AttemptExpr(Expr):
    """What came of evaluating an expression: STRUCT(value, error, message); it never fails.

    So an expression that is guarded (by FILTER, a branch, a match of a join) can be evaluated
    where its guard is not known yet: `OutcomeExpr` says there what came of it.
    """

    operand: Expr

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.operand,)


@dataclass(frozen=True, slots=True)
class OutcomeExpr(Expr):
    """The value of an attempt, or its error."""

    operand: Expr

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.operand,)


def attempt(expr: Expr) -> AttemptExpr:
    """Return the attempt to evaluate an expression: `error` is a row error's code or NULL."""
    type_ = struct_of(("value", expr.type), ("error", INT), ("message", VARCHAR))
    return AttemptExpr(type_, expr, span=expr.span)


@dataclass(frozen=True, slots=True)
class AggCall:
    """A call of a registered aggregate function.

    `filter` is the FILTER (WHERE ...) condition, `order_by` pairs of (expression, descending,
    nulls_first).
    """

    function: str
    args: tuple[Expr, ...]
    type: SqlType
    distinct: bool = False
    filter: Expr | None = None
    order_by: tuple[tuple[Expr, bool, bool], ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def children(self) -> tuple[Expr, ...]:
        """Return all scalar expressions inside."""
        tail = () if self.filter is None else (self.filter,)
        return (*self.args, *tail, *(e for e, _, _ in self.order_by))


TRUE = Literal(BOOLEAN, True)


def walk(expr: Expr) -> Iterator[Expr]:
    """Yield the expression and everything below it, depth first."""
    left = [expr]
    while left:
        value = left.pop()
        yield value
        left += reversed(value.children)


def transform(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Return the expression rebuilt top-down: what `change` replaces is not looked into again.

    >>> from floodmark.scalar.types import INT
    >>> one = Literal(INT, 1)
    >>> transform(Call(INT, "-", (ColumnRef(INT, "a"),)), lambda e: one if e != one else e).value
    1
    """
    changed = change(expr)
    if changed is not expr:
        return changed
    match expr:
        case Call() | BoolOp():
            return replace(expr, args=tuple(transform(a, change) for a in expr.args))
        case Cast() | AttemptExpr() | OutcomeExpr():
            return replace(expr, operand=transform(expr.operand, change))
        case Case():
            whens = tuple((transform(c, change), transform(v, change)) for c, v in expr.whens)
            last = None if expr.otherwise is None else transform(expr.otherwise, change)
            return replace(expr, whens=whens, otherwise=last)
        case _:
            return expr


def without_places(expr: Expr) -> Expr:
    """Return what the text of an expression says, whichever place of the statement it stands at.

    Two texts that are equal are one in GROUP BY, ORDER BY and DISTINCT ON, volatile or not.
    """
    if not any(isinstance(part, Volatile) for part in walk(expr)):
        return expr

    def anywhere(e: Expr) -> Expr:
        if not isinstance(e, Volatile):
            return e
        return replace(e, position=0, args=tuple(without_places(a) for a in e.args))

    return transform(expr, anywhere)


def columns_of(expr: Expr) -> frozenset[str]:
    """Return the names of the columns that the expression reads."""
    return expr.reads


def plain_columns(columns: Iterable[tuple[str, Expr]]) -> dict[str, str]:
    """Map columns that are read to the first computed one that is the same."""
    out: dict[str, str] = {}
    for name, expr in columns:
        if isinstance(expr, ColumnRef):
            out.setdefault(expr.name, name)
    return out
