"""What an operator may ask in one epoch: of its inputs, of the epoch, of the state it keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from floodmark.dataflow.inputs import EpochInputs
from floodmark.dataflow.key_sets import (
    ALL_KEYS,
    ChangedValues,
    KeySets,
    Sources,
    select_sources,
    select_values,
)
from floodmark.dataflow.keyed_reads import KeyedReads
from floodmark.dataflow.stages import ObjectStages
from floodmark.plan import nodes as n
from floodmark.scalar.functions.volatile import RowSeed
from floodmark.spark.rows import Rows
from floodmark.storage.files.key_search import FileColumn
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.properties.bounds import EVERYWHERE, Bounds
from floodmark.tables.keyed_rows import Narrow, make_narrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Changes(Protocol):
    """What an operator changes in one epoch: its own output, and what the one above reads of it."""

    @property
    def rows(self) -> Rows | None:
        """Return its changes, None when there are none."""

    def materialize(self) -> DataFrame | None:
        """Return the changes without failing rows, cheap to read more than once."""


class Input(Changes, Protocol):
    """One input of an operator in one epoch. None is an empty relation.

    A protocol because `OperatorInput` reads an output, whose changes the operators compute.

    An input that cannot be read again has an arrangement, which the operator keeps: `rows_before`
    and `rows_after` read whichever there is.
    """

    @property
    def operator(self) -> StreamOperator[Any]:
        """Return the operator below."""

    @property
    def inputs(self) -> Sequence[Input]:
        """Return the inputs of the operator that gives these changes."""

    @property
    def bounds(self) -> Bounds:
        """Return where the values of its changes lie."""

    @property
    def pays_by_key(self) -> bool:
        """Tell whether the epoch is to read its rows by key: there are many, and few changes.

        The keys cost a pass over the changes.
        """

    def sources(self, column: str) -> Sources | None:
        """Return where a column's values in the changes are found; None where nothing tells."""

    def finds(self, keys: KeySets) -> bool:
        """Tell whether its rows are read by keys, or are few: no large table is read whole."""

    def single_use(self) -> DataFrame | None:
        """Return the changes without failing rows, for an operator that reads them once."""

    def initial_rows(self) -> DataFrame | None:
        """Return all rows in an epoch that fills, to be read once."""

    def rows_before(
        self, within: Bounds = EVERYWHERE, keys: KeySets = ALL_KEYS
    ) -> DataFrame | None:
        """Return the rows before the epoch, at least those within bounds that have the keys."""

    def rows_after(self, within: Bounds = EVERYWHERE, keys: KeySets = ALL_KEYS) -> DataFrame | None:
        """Return the rows after the epoch, at least those within bounds that have the keys.

        An arrangement has the epoch's changes from here on.
        """

    def keep(self, within: Bounds = EVERYWHERE) -> None:
        """Record the changes in an arrangement that was not asked for the rows after the epoch."""

    def rows_from_scan(self, scanned: DataFrame) -> DataFrame:
        """Return the rows that it has where these are all that it scans."""


@dataclass(frozen=True)
class EpochContext:
    """What is the same for all operators of a plan in one epoch."""

    inputs: EpochInputs
    stages: ObjectStages
    keyed_reads: KeyedReads

    @property
    def now(self) -> int:
        """Return the epoch's time in microseconds."""
        return self.inputs.now

    def narrow(self, op: StreamOperator[Any], keys: KeySets) -> Narrow | None:
        """Return what leaves out an operator's rows without the keys; None where none has them."""
        known = select_values(keys)
        for column, sources in select_sources(keys).items():
            values = self.keyed_reads.values(sources, self.inputs, self.stages)
            if values is not None and values.frame is None:
                return None
            if values is not None:
                known[column] = values
        scan = op.node if isinstance(op.node, n.Scan) and known else None
        filled = () if scan is None else self.inputs.columns_without_null(scan)
        return make_narrow(op.node.schema, known, filled, self.stages.scratch)

    def key_files(self, below: Input, columns: Sequence[str]) -> dict[str, list[FileColumn]]:
        """Return where few values of columns of an input's changes are written, if that is known.

        Rows that are found by keys are not waited for.
        """
        inputs, written = self.inputs, dict[str, list[FileColumn]]()
        for column in () if inputs.fills else columns:
            sources = below.sources(column) or ()
            changed = [s for s in sources if isinstance(s, ChangedValues)]
            if len(changed) < len(sources):
                continue
            changed = [s for s in changed if inputs.has_changes(s.object)]
            rows = sum(inputs.count_changes(s.object) for s in changed)
            places = [inputs.file_column(s.object, s.column) for s in changed]
            known = [place for place in places if place is not None]
            if known and len(known) == len(places) and rows <= inputs.limits.exact_keys:
                written[column] = known
        return written

    def seed(self, operator: StreamOperator[Any], epoch: str | None = None) -> RowSeed:
        """Return what identifies a row of an operator, for values that each replay gives again.

        `epoch` is the column with the epoch in which the row has changed, where rows do.
        """
        key = tuple((c, operator.node.field(c).type) for c in operator.stream_key)
        origin = self.inputs.origin
        return RowSeed(origin.seed, origin.object, key, epoch)


def keys_to_read(
    below: Input,
    givers: Mapping[str, Sequence[tuple[Input, str]]],
    look: Callable[[], KeySets],
) -> KeySets:
    """Return the keys by which an input is read for changes.

    `givers` has by column whose changes give its values, and their column. `look` returns the keys
    where only the changes themselves tell them.
    """
    if not below.pays_by_key:
        return ALL_KEYS
    known: dict[str, Sources] = {}
    for column, changed in givers.items():
        parts = [giver.sources(name) for giver, name in changed if giver.rows is not None]
        found = [part for part in parts if part is not None]
        if found and len(found) == len(parts):
            known[column] = frozenset[Any]().union(*found)
    return known if known and below.operator.has_arrangement else look()
