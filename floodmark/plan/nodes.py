"""All relational nodes of a logical plan; an invalid node cannot be constructed.

A node is a value with a schema whose column names are unique. Expressions name columns of the
node's input (for a join: of either side, whose names are disjoint). Hidden columns start with
`__`. Properties such as the stream key are derived in `floodmark.analysis`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from floodmark.catalog.types import BIGINT, TIMESTAMPTZ, Field, Schema, SqlType
from floodmark.changelog import ChangelogMode, is_hidden
from floodmark.errors import Span
from floodmark.plan.expressions import AggCall, ColumnRef, Expr, columns_of

Interval = tuple[int, int, int]
"""(months, days, microseconds)."""


@dataclass(frozen=True, slots=True)
class Node:
    """A relational operator; `span` is where it stands in the SQL."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """Return the input nodes, left to right."""
        return ()

    @property
    def schema(self) -> Schema:
        """Return the output columns."""
        raise NotImplementedError

    def field(self, name: str) -> Field:
        """Return the output column of that name."""
        return next(f for f in self.schema if f.name == name)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the output columns."""
        return tuple(f.name for f in self.schema)


def _check_unique(schema: Schema) -> None:
    names = [f.name for f in schema]
    assert len(set(names)) == len(names), f"column names repeat: {names}"


def _check_reads(node: Node, names: frozenset[str] | tuple[str, ...], schema: Schema) -> None:
    missing = set(names) - {f.name for f in schema}
    assert not missing, f"{type(node).__name__} reads unknown columns {sorted(missing)}"


@dataclass(frozen=True, slots=True)
class WatermarkColumn:
    """A column that carries a watermark; columns of one group have one origin."""

    column: str
    group: str


@dataclass(frozen=True, slots=True)
class Scan(Node):
    """Reads an object of the catalog: its changes of an epoch, or its rows at a version."""

    object: str
    columns: Schema
    stream_key: tuple[str, ...]
    mode: ChangelogMode
    watermarks: tuple[WatermarkColumn, ...] = ()

    def __post_init__(self) -> None:
        _check_unique(self.columns)
        _check_reads(self, self.stream_key, self.columns)

    @property
    def schema(self) -> Schema:
        return self.columns


@dataclass(frozen=True, slots=True)
class Values(Node):
    """A constant relation; each row has an expression per column. Its key is the hidden ordinal."""

    rows: tuple[tuple[Expr, ...], ...]
    columns: Schema

    def __post_init__(self) -> None:
        _check_unique(self.columns)
        assert all(len(row) == len(self.columns) for row in self.rows)

    @property
    def schema(self) -> Schema:
        return self.columns


@dataclass(frozen=True, slots=True)
class Project(Node):
    """Computes columns, row by row."""

    input: Node
    columns: tuple[tuple[str, Expr], ...]

    def __post_init__(self) -> None:
        _check_unique(self.schema)
        for _, expr in self.columns:
            _check_reads(self, columns_of(expr), self.input.schema)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def schema(self) -> Schema:
        return tuple(Field(name, expr.type, self._nullable(expr)) for name, expr in self.columns)

    def _nullable(self, expr: Expr) -> bool:
        return not isinstance(expr, ColumnRef) or self.input.field(expr.name).nullable

    @property
    def passed(self) -> dict[str, str]:
        """Map input columns to the (first) output column that passes them on unchanged."""
        out: dict[str, str] = {}
        for name, expr in self.columns:
            if isinstance(expr, ColumnRef):
                out.setdefault(expr.name, name)
        return out


@dataclass(frozen=True, slots=True)
class Filter(Node):
    """Keeps the rows for which the predicate is TRUE."""

    input: Node
    predicate: Expr

    def __post_init__(self) -> None:
        _check_reads(self, columns_of(self.predicate), self.input.schema)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True, slots=True)
class UnionAll(Node):
    """All rows of all inputs; inputs have equal schemas, `ordinal` names the hidden input index."""

    branches: tuple[Node, ...]
    ordinal: str

    def __post_init__(self) -> None:
        first = [(f.name, f.type) for f in self.branches[0].schema]
        assert all([(f.name, f.type) for f in b.schema] == first for b in self.branches[1:])

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.branches

    @property
    def schema(self) -> Schema:
        merged = tuple(
            Field(fields[0].name, fields[0].type, any(f.nullable for f in fields))
            for fields in zip(*(b.schema for b in self.branches), strict=True)
        )
        return (*merged, Field(self.ordinal, BIGINT, nullable=False))


class JoinKind(Enum):
    """Which rows without a match a join keeps."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"

    @property
    def pads_left(self) -> bool:
        """Tell whether the left columns can be padded with NULL."""
        return self in (JoinKind.RIGHT, JoinKind.FULL)

    @property
    def pads_right(self) -> bool:
        """Tell whether the right columns can be padded with NULL."""
        return self in (JoinKind.LEFT, JoinKind.FULL)


@dataclass(frozen=True, slots=True)
class Join(Node):
    """Pairs of rows with equal `equi` columns for which `residual` is TRUE; no `equi` = cross."""

    left: Node
    right: Node
    kind: JoinKind
    equi: tuple[tuple[str, str], ...]
    residual: Expr | None = None

    def __post_init__(self) -> None:
        _check_unique((*self.left.schema, *self.right.schema))
        _check_reads(self, tuple(a for a, _ in self.equi), self.left.schema)
        _check_reads(self, tuple(b for _, b in self.equi), self.right.schema)
        if self.residual is not None:
            both = (*self.left.schema, *self.right.schema)
            _check_reads(self, columns_of(self.residual), both)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @property
    def schema(self) -> Schema:
        left, right = self.left.schema, self.right.schema
        if self.kind in (JoinKind.SEMI, JoinKind.ANTI):
            return left
        if self.kind.pads_left:
            left = tuple(Field(f.name, f.type) for f in left)
        if self.kind.pads_right:
            right = tuple(Field(f.name, f.type) for f in right)
        return (*left, *right)


@dataclass(frozen=True, slots=True)
class LookupJoin(Node):
    """Looks the right side up at the epoch's cut (`FOR SYSTEM_TIME AS OF PROCTIME()`)."""

    left: Node
    right: Node
    kind: JoinKind
    equi: tuple[tuple[str, str], ...]
    residual: Expr | None = None

    def __post_init__(self) -> None:
        assert self.kind in (JoinKind.INNER, JoinKind.LEFT)
        _check_unique((*self.left.schema, *self.right.schema))

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @property
    def schema(self) -> Schema:
        right = self.right.schema
        if self.kind is JoinKind.LEFT:
            right = tuple(Field(f.name, f.type) for f in right)
        return (*self.left.schema, *right)


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    """One row per group; without group columns exactly one. DISTINCT is an aggregate of nothing."""

    input: Node
    group: tuple[str, ...]
    aggregates: tuple[tuple[str, AggCall], ...]

    def __post_init__(self) -> None:
        _check_unique(self.schema)
        _check_reads(self, self.group, self.input.schema)
        for _, call in self.aggregates:
            for expr in call.children:
                _check_reads(self, columns_of(expr), self.input.schema)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def schema(self) -> Schema:
        keys = tuple(self.input.field(name) for name in self.group)
        return (*keys, *(Field(name, call.type) for name, call in self.aggregates))


@dataclass(frozen=True, slots=True)
class Tumble(Node):
    """Adds the fixed window `[start, end)` that holds the time column."""

    input: Node
    time: str
    size: Interval
    offset: Interval
    start: str
    end: str

    def __post_init__(self) -> None:
        _check_unique(self.schema)
        _check_reads(self, (self.time,), self.input.schema)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def schema(self) -> Schema:
        time = self.input.field(self.time)
        windows = (
            Field(self.start, time.type, time.nullable),
            Field(self.end, time.type, time.nullable),
        )
        return (*self.input.schema, *windows)


@dataclass(frozen=True, slots=True)
class Hop(Node):
    """Repeats each row for every window of `size`, one per `slide`, that holds the time column."""

    input: Node
    time: str
    slide: Interval
    size: Interval
    offset: Interval
    start: str
    end: str

    def __post_init__(self) -> None:
        _check_unique(self.schema)
        _check_reads(self, (self.time,), self.input.schema)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def schema(self) -> Schema:
        time = self.input.field(self.time)
        windows = (
            Field(self.start, time.type, time.nullable),
            Field(self.end, time.type, time.nullable),
        )
        return (*self.input.schema, *windows)


@dataclass(frozen=True, slots=True)
class Session(Node):
    """Adds the session of its partition that holds the row: rows at most `gap` apart."""

    input: Node
    time: str
    gap: Interval
    partition: tuple[str, ...]
    start: str
    end: str

    def __post_init__(self) -> None:
        _check_unique(self.schema)
        _check_reads(self, (self.time, *self.partition), self.input.schema)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def schema(self) -> Schema:
        time = self.input.field(self.time)
        return (*self.input.schema, Field(self.start, time.type), Field(self.end, time.type))


@dataclass(frozen=True, slots=True)
class SortKey:
    """A column to order by."""

    column: str
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class TopN(Node):
    """The first rows per group (no group: of all), after skipping `offset`."""

    input: Node
    group: tuple[str, ...]
    order: tuple[SortKey, ...]
    limit: int | None
    offset: int = 0
    with_ties: bool = False

    def __post_init__(self) -> None:
        _check_reads(self, (*self.group, *(k.column for k in self.order)), self.input.schema)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True, slots=True)
class WindowCall:
    """A window function and its frame: `(unit, start, end, exclude)`; None where none is given."""

    function: str
    args: tuple[Expr, ...]
    type: SqlType
    frame: tuple[str, str, str, str] | None = None
    filter: Expr | None = None
    ignore_nulls: bool = False


@dataclass(frozen=True, slots=True)
class OverWindow(Node):
    """Adds window functions over one partitioning and order."""

    input: Node
    partition: tuple[str, ...]
    order: tuple[SortKey, ...]
    calls: tuple[tuple[str, WindowCall], ...]

    def __post_init__(self) -> None:
        _check_unique(self.schema)
        _check_reads(self, (*self.partition, *(k.column for k in self.order)), self.input.schema)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def schema(self) -> Schema:
        return (*self.input.schema, *(Field(name, call.type) for name, call in self.calls))


class SetKind(Enum):
    """The set operations besides UNION ALL."""

    INTERSECT = "intersect"
    EXCEPT = "except"


@dataclass(frozen=True, slots=True)
class SetOperation(Node):
    """INTERSECT or EXCEPT [ALL]; the visible columns meet by position, hidden ones take no part."""

    left: Node
    right: Node
    kind: SetKind
    all: bool

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @property
    def schema(self) -> Schema:
        return tuple(f for f in self.left.schema if not is_hidden(f.name))


@dataclass(frozen=True, slots=True)
class ProjectSet(Node):
    """Repeats each row for every value of a set-returning call; `ordinal` counts them from 1."""

    input: Node
    call: Expr
    output: str
    ordinal: str

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def schema(self) -> Schema:
        element = self.call.type.element or self.call.type
        return (*self.input.schema, Field(self.output, element), Field(self.ordinal, BIGINT, False))


@dataclass(frozen=True, slots=True)
class TemporalFilter(Node):
    """Keeps a row while the epoch's time is in its validity period `[lower, upper)`."""

    input: Node
    lower: Expr | None
    upper: Expr | None

    def __post_init__(self) -> None:
        for bound in (self.lower, self.upper):
            if bound is not None:
                assert bound.type in (TIMESTAMPTZ,) or bound.type.is_timestamp
                _check_reads(self, columns_of(bound), self.input.schema)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True, slots=True)
class MaterializeProject(Node):
    """A project whose volatile columns are stored by the input's stream key."""

    input: Node
    columns: tuple[tuple[str, Expr], ...]
    stored: tuple[str, ...]

    def __post_init__(self) -> None:
        _check_reads(self, self.stored, self.schema)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def schema(self) -> Schema:
        return tuple(Field(name, expr.type) for name, expr in self.columns)


@dataclass(frozen=True, slots=True)
class SortBuffer(Node):
    """Holds rows until the watermark of `column` has passed them, then releases them in order."""

    input: Node
    column: str

    def __post_init__(self) -> None:
        _check_reads(self, (self.column,), self.input.schema)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True, slots=True)
class CloseAggregate(Node):
    """An aggregate that emits each group once, when the watermark has passed its window column."""

    input: Node
    group: tuple[str, ...]
    aggregates: tuple[tuple[str, AggCall], ...]
    window: str

    def __post_init__(self) -> None:
        assert self.window in self.group
        _check_unique(self.schema)
        _check_reads(self, self.group, self.input.schema)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def schema(self) -> Schema:
        keys = tuple(self.input.field(name) for name in self.group)
        return (*keys, *(Field(name, call.type) for name, call in self.aggregates))


NODE_CLASSES: tuple[type[Node], ...] = (
    Scan, Values, Project, Filter, UnionAll, Join, LookupJoin, Aggregate, Tumble, Hop, Session,
    TopN, OverWindow, SetOperation, ProjectSet, TemporalFilter, MaterializeProject, SortBuffer,
    CloseAggregate,
)  # fmt: skip


def walk(node: Node) -> Iterator[Node]:
    """Yield the node and everything below it, inputs first, each place once."""
    for child in node.inputs:
        yield from walk(child)
    yield node


def scans(node: Node) -> tuple[Scan, ...]:
    """Return the object reads below a node, left to right."""
    return tuple(n for n in walk(node) if isinstance(n, Scan))
