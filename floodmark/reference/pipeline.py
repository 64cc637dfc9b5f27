"""The objects of a pipeline as the reference runs them, and what goes in and out of an epoch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any

from floodmark.changelog import RowKind, is_hidden
from floodmark.plan.declaration import NO_CLOCK, ClockOptions, Ttl
from floodmark.plan.expr.expressions import Expr
from floodmark.plan.nodes import Node
from floodmark.reference.changes import Change
from floodmark.reference.moment import StoredCalls
from floodmark.reference.ownership import RowOwners
from floodmark.reference.rows import Row
from floodmark.reference.sink_writes import SinkWrites
from floodmark.reference.tables import MergeRules
from floodmark.reference.transform import ReferenceTransform
from floodmark.reference.watermarks import Watermark, WatermarkState, WatermarkValues
from floodmark.scalar.types import Schema


class ReferenceKind(Enum):
    """What an object of the pipeline is."""

    SOURCE = "source"
    TABLE = "table"
    VIEW = "view"
    SINK = "sink"


@dataclass(frozen=True)
class ReferenceObject:
    """An object as the reference runs it; `schema` has the hidden key columns too.

    Sources and tables: `merge` is set where rows replace each other by key, `promised` where no key
    comes twice. `defaults` fill columns that a row does not bring. `ingested` take the epoch's
    time. `generated` are computed over the row, in order. Views and sinks: `plan` keeps its stream
    key. A sink writes its plan's visible columns, by position, to `target_columns` of `target`. A
    sink to the outside is a view that emits what is written there, `sink_writes`. A sink with the
    name `owns` clears its columns where a row goes. A `recomputed` object has no state: its query
    is evaluated at the epoch's time. `partitions` are those of the connector that are known before
    they have rows: they hold the watermark back; without a connector only statements and sinks
    bring rows. With a `transform` the schema is that of what it makes of the rows. Rows end by a
    `ttl`, or below the watermark of the column `ttl_column`.
    """

    name: str
    kind: ReferenceKind
    schema: Schema
    stream_key: tuple[str, ...]
    plan: Node | None = None
    merge: MergeRules | None = None
    ingested: tuple[str, ...] = ()
    promised: tuple[str, ...] = ()
    watermarks: tuple[Watermark, ...] = ()
    clock: ClockOptions = NO_CLOCK
    defaults: tuple[tuple[str, Expr], ...] = ()
    generated: tuple[tuple[str, Expr], ...] = ()
    target: str | None = None
    target_columns: tuple[str, ...] = ()
    emits_on_close: bool = False
    recomputed: bool = False
    force_append_only: bool = False
    ignore_delete: bool = False
    owns: str = ""
    connected: bool = True
    partitions: tuple[str, ...] = ()
    transform: ReferenceTransform | None = None
    sink_writes: SinkWrites | None = None
    ttl: Ttl | None = None
    ttl_column: str | None = None

    @property
    def required_columns(self) -> tuple[str, ...]:
        """Return the columns in which rows of sinks must have a value.

        Where rows are merged with stored ones only the key; a time with a watermark is judged
        by that.
        """
        rules = self.merge
        merges = rules is not None and rules.merges
        key = () if rules is None else rules.primary_key
        times = {mark.column for mark in self.watermarks}
        return tuple(
            c.name
            for c in self.schema
            if not (c.nullable or is_hidden(c.name) or c.name in times)
            if c.name in key or not merges
        )

    @property
    def input_schema(self) -> Schema:
        """Return the columns of the rows as they come."""
        return self.schema if self.transform is None else self.transform.raw

    @property
    def input_key(self) -> tuple[str, ...]:
        """Return what identifies a row as it comes."""
        return self.stream_key if self.transform is None else self.transform.key

    def __post_init__(self) -> None:
        queries = (ReferenceKind.VIEW, ReferenceKind.SINK)
        assert (self.plan is not None) == (self.kind in queries), self.name
        assert (self.target is not None) == (self.kind is ReferenceKind.SINK), self.name


@dataclass(frozen=True, slots=True)
class Delivery:
    """One changelog row that a connector delivers, in offset order within its partition."""

    kind: RowKind
    row: Row
    partition: str = "0"


@dataclass(frozen=True, slots=True)
class EpochInput:
    """All that one epoch takes in; `dml` holds, per statement, a table and its changes.

    `number` is the epoch's; `seed` makes the random values of one warehouse its own. Of what is
    `limited` the connector has offered more than the epoch takes.
    """

    now: datetime
    deliveries: Mapping[str, Sequence[Delivery]] = field(default_factory=dict)
    dml: Sequence[tuple[str, Sequence[Change]]] = ()
    number: int = 0
    seed: str = ""
    limited: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ObjectState:
    """What an object is after an epoch.

    `dead` are a view's live dead letters. `stored` is what its operators have evaluated once.
    `taken` are the rows of a source as they came, `rows` those after its transformation. `now` is
    the time of the epoch, for queries. `wrote` has the time at which the row of a key was last
    written, where the row expires by it. `holds` are the owners that hold it. `shown` are the rows
    that readers see, where they are fewer than what downstream objects have received.
    """

    rows: tuple[Row, ...] = ()
    marks: WatermarkState = field(default_factory=WatermarkState)
    watermark: WatermarkValues = field(default_factory=dict)
    written: Mapping[str, int] = field(default_factory=dict)
    dead: Counter[Any] = field(default_factory=Counter)
    stored: StoredCalls = field(default_factory=dict)
    taken: tuple[Row, ...] = ()
    now: datetime | None = None
    wrote: Mapping[Any, datetime] = field(default_factory=dict)
    holds: Mapping[Any, RowOwners] = field(default_factory=dict)
    shown: tuple[Row, ...] | None = None


@dataclass(frozen=True, slots=True)
class Aside:
    """A row put aside (or, for a view, taken back from there) and why: `E0621`, `null_time`."""

    kind: RowKind
    reason: str
    row: Row


@dataclass(frozen=True, slots=True)
class ObjectResult:
    """What an object emitted in one epoch: changes ordered by key, late rows, dead letters.

    Of what came, `ignored` rows changed nothing, and `expired` ones were over; the time alone has
    taken `timed` rows away.
    """

    changes: tuple[Change, ...] = ()
    late: tuple[Row, ...] = ()
    dead: tuple[Aside, ...] = ()
    ignored: int = 0
    expired: int = 0
    timed: int = 0


States = Mapping[str, ObjectState]
