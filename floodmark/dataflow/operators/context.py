"""What an operator is given in one epoch: its inputs, and the state it keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from floodmark.plan import nodes as n
from floodmark.scalar.types import Schema
from floodmark.spark.rows import Rows
from floodmark.storage.table import DataFile
from floodmark.tables.bounds import EVERYWHERE, Bounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from floodmark.connectors.lookup import Lookup
    from floodmark.dataflow.state.fetched import FetchedRows
    from floodmark.stream.properties.analyse import AnalysedPlan
    from floodmark.tables.bounds import Bounds


class Stored(Protocol):
    """Groups at rest; with `values` beside the accumulators there are those of the aggregates."""

    values: bool

    def stored(self, keys: DataFrame, key: tuple[str, ...], within: Bounds) -> DataFrame | None:
        """Return the stored groups as of the epoch before; None when there are none.

        Groups that are not among `keys`, all of which lie within the bounds, may be left out.
        """


class StateFiles(Stored, Protocol):
    """The state table of one aggregate in one epoch."""

    def keep(self, transitions: DataFrame, schema: Schema, key: tuple[str, ...]) -> DataFrame:
        """Write the transitions, bring the state up to date, return them read back."""

    def groups(self, keeps: Keeps | None, *, after: bool) -> DataFrame | None:
        """Return the groups before or after the epoch, at least those of the files that matter."""

    def release(
        self, transitions: DataFrame | None, schema: Schema, key: tuple[str, ...], closed: str
    ) -> DataFrame | None:
        """Bring the state up to date without the groups that `closed` selects; return those."""


class Surroundings(Protocol):
    """What an aggregate needs of the evaluation it is part of."""

    @property
    def now(self) -> int:
        """Return the epoch's time in microseconds."""

    @property
    def plan(self) -> AnalysedPlan:
        """Return the analysed plan."""

    @property
    def inputs(self) -> Inputs:
        """Return what the plan's scans read."""

    @property
    def stages(self) -> Stages:
        """Return where operators keep things."""

    def name(self, node: n.Node) -> str:
        """Return the node's name in the plan."""

    def delta(self, node: n.Node) -> Rows | None:
        """Return the changes of a node."""

    def settled(self, node: n.Node) -> DataFrame | None:
        """Return the changes of a node without failing rows, cheap to read more than once."""

    def bounds(self, node: n.Node) -> Bounds:
        """Return where the values of a node's changes lie."""

    def after(self, node: n.Node, within: Bounds) -> DataFrame | None:
        """Return the rows of a re-readable node after the epoch, at least those within bounds."""

    def own_state(self, node: n.Node) -> Stored | None:
        """Return the node's groups at rest, where they live in the object's own table."""


@dataclass(frozen=True)
class Origin:
    """Where replay-stable values come from: the warehouse's seed, the key of the plan's object."""

    seed: str = ""
    object: str = ""


Keeps = Callable[[DataFile], bool]
"""Tells whether a file can hold rows that matter."""


class Inputs(Protocol):
    """What the scans of a plan read in one epoch; None is an empty relation."""

    spark: SparkSession
    now: int
    epoch: int
    origin: Origin
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

    def fall_due(self, rows: int) -> None:
        """Count rows, at most so many, that change because of the time."""

    def changes(self, scan: n.Scan) -> Rows | None:
        """Return what the epoch changed in an object."""

    def bounds(self, scan: n.Scan) -> Bounds | None:
        """Return the bounds of what the epoch changed in an object, None when that is nothing."""

    def before(self, scan: n.Scan, keeps: Keeps | None = None) -> DataFrame | None:
        """Return the object's rows before the epoch, at least those of the files that matter."""

    def after(self, scan: n.Scan, keeps: Keeps | None = None) -> DataFrame | None:
        """Return the object's rows after the epoch, at least those of the files that matter."""

    def watermark(self, node: n.Node, column: str, *, before: bool) -> object | None:
        """Return the watermark of a node's column, before or after the epoch."""

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

    def own_state(self, node: n.Node) -> Stored | None:
        """Return an aggregate's groups, where they live in the object's own table."""

    def own_rows(self, node: n.TopN | n.OverWindow) -> OwnRows | None:
        """Return the rows of a node, where they are those of the object's own table."""

    def aggregate_state(self, name: str, schema: Schema) -> StateFiles:
        """Return the state table of an aggregate."""

    def arrangement(self, name: str, columns: Schema, gone: Unneeded | None) -> Arrangement:
        """Return the input arrangement of an operator, without the rows that are not needed."""

    def stored_values(self, name: str, schema: Schema) -> StoredValues:
        """Return the table in which an operator stores what it evaluates once."""

    def due_changes(self, name: str, schema: Schema) -> DueChanges:
        """Return the changes that a temporal filter has still to make."""

    def held_rows(self, name: str, schema: Schema, column: str) -> HeldRows:
        """Return the changes that a sort buffer holds."""

    def fetched(self, name: str, lookup: Lookup, columns: Schema, *, kept: bool) -> FetchedRows:
        """Return what an operator fetches of a table that is kept elsewhere."""


class Arrangement(Protocol):
    """The consolidated rows of an input that no persisted object holds."""

    def before(self, within: Bounds = EVERYWHERE) -> DataFrame | None:
        """Return its rows before the epoch, at least those within bounds."""

    def after(self, changes: DataFrame | None, within: Bounds = EVERYWHERE) -> DataFrame | None:
        """Return its rows after the epoch's changes, at least those within bounds; records them."""


class OwnRows(Protocol):
    """An operator's rows at rest, in the object's own table."""

    def before(self, within: Bounds) -> DataFrame | None:
        """Return those of before the epoch, at least of the scopes within bounds."""


class HeldRows(Protocol):
    """Changes of rows that the watermark has not passed: the node's columns and weight."""

    def reached(self, bound: Any) -> DataFrame | None:
        """Return all held changes of files with some below a bound; None where there are none."""

    def keep(self, changes: DataFrame | None, bound: Any, *, few: bool) -> None:
        """Record changes in place of those files."""


class StoredValues(Protocol):
    """The state table of one operator in one epoch: key, stored columns, error, epoch."""

    @property
    def epoch(self) -> int:
        """Return the epoch that is being advanced."""

    def before(self, within: Bounds) -> DataFrame | None:
        """Return what was stored before, at least of the keys within bounds; None for nothing."""

    def keep(
        self, fresh: Callable[[], DataFrame], gone: Gone, over: Unneeded | None
    ) -> DataFrame | None:
        """Store the fresh rows in place of those of the gone keys; return them read back.

        Of the others those that are `over` go, too. An epoch that is recorded keeps what it
        recorded.
        """

    def once(self, fresh: Callable[[], DataFrame]) -> DataFrame | None:
        """Store the fresh rows in place of all others; return them, or what is recorded."""


@dataclass(frozen=True)
class Gone:
    """Rows whose keys are stored anew or not at all: few of them or not, all within bounds."""

    rows: DataFrame
    key: tuple[str, ...]
    few: bool
    within: Bounds


class DueChanges(Protocol):
    """The changes that a filter has still to make: the node's columns, weight and time."""

    def due(self, now: int) -> DataFrame | None:
        """Return those whose time has come, without it; None where there are none."""

    def due_rows(self, now: int) -> int:
        """Return how many there are, or more."""

    def keep(self, fresh: DataFrame | None, now: int, *, few: bool) -> None:
        """Record the fresh ones in place of those whose time has come."""


@dataclass(frozen=True, slots=True)
class Unneeded:
    """Rows whose `column` is below `bound` are not needed from this epoch on.

    But for those that `stays` tells, a condition on the places of the rows below in their
    partition: `places` are the columns that it reads. Without it none of them stays.
    """

    column: str
    bound: Any
    places: tuple[str, ...] = ()
    stays: str | None = None


class InEpoch(Protocol):
    """A plan in one epoch."""

    @property
    def plan(self) -> AnalysedPlan:
        """Return the analysed plan."""

    @property
    def inputs(self) -> Inputs:
        """Return what the plan's scans read."""
