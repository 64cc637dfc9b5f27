"""What an operator may ask in one epoch: of its inputs, of the epoch, of the state it keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from floodmark.connectors.lookup.connector import Lookup, LookupKey
from floodmark.limits import Limits
from floodmark.plan import nodes as n
from floodmark.scalar.functions.volatile import RowSeed
from floodmark.scalar.types import Schema
from floodmark.spark.rows import Rows
from floodmark.storage.table import DataFile
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.properties.bounds import EVERYWHERE, Bounds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


FileFilter = Callable[[DataFile], bool]
"""Tells whether a file can hold rows that matter."""


@dataclass(frozen=True)
class ObjectSeed:
    """Where replay-stable values come from: the warehouse's seed, the key of the plan's object."""

    seed: str = ""
    object: str = ""


@dataclass(frozen=True)
class ReplacedRows:
    """Rows whose keys are stored anew or not at all: few of them or not, all within bounds."""

    rows: DataFrame
    key: tuple[str, ...]
    few: bool
    within: Bounds


@dataclass(frozen=True, slots=True)
class ExpiredRows:
    """Rows whose `column` is below `bound` are not needed from this epoch on.

    But for those that `stays` tells, a condition on the places of the rows below in their
    partition: `places` are the columns that it reads. Without it none of them stays.
    """

    column: str
    bound: Any
    places: tuple[str, ...] = ()
    stays: str | None = None


class Changes(Protocol):
    """What an operator changes in one epoch."""

    @property
    def rows(self) -> Rows | None:
        """Return its changes, None when there are none."""

    def materialize(self) -> DataFrame | None:
        """Return the changes without failing rows, cheap to read more than once."""


class Input(Changes, Protocol):
    """One input of an operator in one epoch. None is an empty relation.

    An input that cannot be read again has an arrangement, which the operator keeps: `rows_before`
    and `rows_after` read whichever there is.
    """

    @property
    def operator(self) -> StreamOperator[Any]:
        """Return the operator below."""

    @property
    def inputs(self) -> Sequence[Input]:
        """Return what that operator reads itself."""

    @property
    def bounds(self) -> Bounds:
        """Return where the values of its changes lie."""

    def single_use(self) -> DataFrame | None:
        """Return the changes without failing rows, for an operator that reads them once."""

    def initial_rows(self) -> DataFrame | None:
        """Return all rows in an epoch that fills, to be read once."""

    def rows_before(self, within: Bounds = EVERYWHERE) -> DataFrame | None:
        """Return the rows before the epoch, at least those within bounds."""

    def rows_after(self, within: Bounds = EVERYWHERE) -> DataFrame | None:
        """Return the rows after the epoch, at least those within bounds.

        An arrangement has the epoch's changes from here on.
        """

    def keep(self, within: Bounds = EVERYWHERE) -> None:
        """Record the changes in an arrangement that was not asked for the rows after the epoch."""

    def rows_from_scan(self, scanned: DataFrame) -> DataFrame:
        """Return the rows that it has where these are all that it scans."""


@dataclass(frozen=True)
class EpochContext:
    """What is the same for all operators of a plan in one epoch."""

    inputs: Inputs
    stages: Stages

    @property
    def now(self) -> int:
        """Return the epoch's time in microseconds."""
        return self.inputs.now

    def seed(self, operator: StreamOperator[Any], epoch: str | None = None) -> RowSeed:
        """Return what identifies a row of an operator, for values that each replay gives again.

        `epoch` is the column with the epoch in which the row has changed, where rows do.
        """
        key = tuple((c, operator.node.field(c).type) for c in operator.stream_key)
        origin = self.inputs.origin
        return RowSeed(origin.seed, origin.object, key, epoch)


class Inputs(Protocol):
    """What operators ask of the epoch and of the objects that the plan reads."""

    spark: SparkSession
    epoch: int
    now: int
    origin: ObjectSeed
    fills: bool
    """The plan's object is new: its input changes are all rows, and there was nothing before."""

    @property
    def rows(self) -> int | None:
        """Return how many rows of what the plan reads the epoch changes at most, if that is known.

        When filling, and of merged epochs, it is not.
        """

    @property
    def few(self) -> bool:
        """Tell whether the epoch changes few rows of what the plan reads."""

    @property
    def limits(self) -> Limits:
        """Return the limits of the warehouse."""

    def fall_due(self, rows: int) -> None:
        """Count rows, at most so many, that change because of the time."""

    def changes(self, scan: n.Scan) -> Rows | None:
        """Return what the epoch changed in an object."""

    def rows_before(self, scan: n.Scan, keeps: FileFilter | None = None) -> DataFrame | None:
        """Return the object's rows before the epoch, at least those of the files that matter."""

    def rows_after(self, scan: n.Scan, keeps: FileFilter | None = None) -> DataFrame | None:
        """Return the object's rows after the epoch, at least those of the files that matter."""

    def bounds(self, scan: n.Scan) -> Bounds | None:
        """Return the bounds of what the epoch changed in an object, None when that is nothing."""

    def watermark(self, operator: StreamOperator[Any], column: str, *, before: bool) -> Any:
        """Return the watermark of an operator's column, before or after the epoch."""

    def lookup(self, scan: n.Scan) -> Lookup:
        """Return how an object that is kept elsewhere is asked."""


class Stages(Protocol):
    """Where a plan's operators put what they keep or need twice."""

    lasting: ClassVar[bool]
    """What is kept is written; without it each epoch starts from nothing."""
    plan_nodes: int
    """How many nodes a query has at most, where it can be split."""

    def settle(self, name: str, rows: Rows, columns: Schema) -> DataFrame | None:
        """Write rows, put the failing ones aside, return the others read back."""

    def own_state(self, op: StreamOperator[Any]) -> StoredGroups | None:
        """Return an aggregate's groups, where they live in the object's own table."""

    def own_rows(self, op: StreamOperator[Any]) -> RowsAtRest | None:
        """Return the rows of an operator, where they are those of the object's own table."""

    def aggregate_state(self, name: str, schema: Schema) -> AggregateState:
        """Return the state table of an aggregate."""

    def arrangement(self, name: str, columns: Schema, gone: ExpiredRows | None) -> Arrangement:
        """Return the input arrangement of an operator, without the rows that are not needed."""

    def value_table(self, name: str, schema: Schema) -> StoredValues:
        """Return the table in which an operator stores what it evaluates once."""

    def due_changes(self, name: str, schema: Schema) -> DueChanges:
        """Return the changes that a temporal filter has still to make."""

    def sort_buffer(self, name: str, schema: Schema, column: str) -> HeldRows:
        """Return the changes that a sort buffer holds."""

    def lookup_rows(self, name: str, lookup: Lookup, columns: Schema, *, kept: bool) -> FetchedRows:
        """Return what an operator fetches of a table that is kept elsewhere."""


class RowsAtRest(Protocol):
    """Rows that were written before the epoch."""

    def rows_before(self, within: Bounds = EVERYWHERE) -> DataFrame | None:
        """Return those of before the epoch, at least those within bounds; None for nothing."""


class Arrangement(RowsAtRest, Protocol):
    """The consolidated rows of an input that no persisted object holds."""

    def rows_after(
        self, changes: DataFrame | None, within: Bounds = EVERYWHERE
    ) -> DataFrame | None:
        """Return its rows after the epoch's changes, at least those within bounds; records them."""


class StoredValues(RowsAtRest, Protocol):
    """The state table of one operator in one epoch: key, stored columns, error, epoch."""

    @property
    def epoch(self) -> int:
        """Return the epoch that is being advanced."""

    def keep(
        self, fresh: Callable[[], DataFrame], gone: ReplacedRows, over: ExpiredRows | None
    ) -> DataFrame | None:
        """Store the fresh rows in place of those of the gone keys; return them read back.

        Of the others those that are `over` go, too. An epoch that is recorded keeps what it
        recorded.
        """

    def replace_all(self, fresh: Callable[[], DataFrame]) -> DataFrame | None:
        """Store the fresh rows in place of all others; return them, or what is recorded."""


class StoredGroups(Protocol):
    """Groups at rest; with `values` beside the accumulators there are those of the aggregates."""

    values: bool

    def find_groups(
        self, keys: DataFrame, key: tuple[str, ...], within: Bounds
    ) -> DataFrame | None:
        """Return the stored groups as of the epoch before; None when there are none.

        Groups that are not among `keys`, all of which lie within the bounds, may be left out.
        """


class AggregateState(StoredGroups, Protocol):
    """The state table of one aggregate in one epoch."""

    def keep(self, transitions: DataFrame, schema: Schema, key: tuple[str, ...]) -> DataFrame:
        """Write the transitions, bring the state up to date, return them read back."""

    def groups(self, keeps: FileFilter | None, *, after: bool) -> DataFrame | None:
        """Return the groups before or after the epoch, at least those of the files that matter."""

    def release(
        self, transitions: DataFrame | None, schema: Schema, key: tuple[str, ...], closed: str
    ) -> DataFrame | None:
        """Bring the state up to date without the groups that `closed` selects; return those."""


class HeldRows(Protocol):
    """Changes of rows that the watermark has not passed: the node's columns and weight."""

    def passed_rows(self, bound: Any) -> DataFrame | None:
        """Return all held changes of files with some below a bound; None where there are none."""

    def keep(self, changes: DataFrame | None, bound: Any, *, few: bool) -> None:
        """Record changes in place of those files."""


class DueChanges(Protocol):
    """The changes that a filter has still to make: the node's columns, weight and time."""

    def take_due(self, now: int) -> DataFrame | None:
        """Return those whose time has come, without it; None where there are none."""

    def due_rows(self, now: int) -> int:
        """Return how many there are, or more."""

    def keep(self, fresh: DataFrame | None, now: int, *, few: bool) -> None:
        """Record the fresh ones in place of those whose time has come."""


class FetchedRows(Protocol):
    """What one operator fetches of a table that is kept elsewhere."""

    def fetch(self, keys: Callable[[], list[LookupKey]], by: Sequence[str]) -> DataFrame | None:
        """Return the rows of keys, written; None where there are none."""
