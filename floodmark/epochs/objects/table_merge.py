"""The merge of a table's incoming rows in an epoch with its stored rows, and the counts of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

from floodmark.changelog import OWNERS, ROW_ID, WEIGHT
from floodmark.connectors.base import BEFORE
from floodmark.dataflow import materialize
from floodmark.dataflow.intake import messages
from floodmark.dataflow.materialize import NEW_ROW, OLD_ROW
from floodmark.dataflow.merge import conflicts, merge
from floodmark.dataflow.merge.merge_output import Outcome
from floodmark.epochs.objects.object_advance import TablePart
from floodmark.epochs.objects.watermarks import CONNECTOR
from floodmark.spark import keyed
from floodmark.spark.round_trips import new_observation
from floodmark.spark.types import ident
from floodmark.storage.files.key_search import FileColumn
from floodmark.storage.table import DataFile
from floodmark.stream.properties.bounds import Bounds, hull
from floodmark.tables import key_uniqueness, layout
from floodmark.tables.bounds import file_bounds
from floodmark.tables.current import current_at_cut
from floodmark.tables.cutoff import Cutoff
from floodmark.tables.keyed_rows import KEY, KeyColumn
from floodmark.tables.watermark_ttl import drop_expired

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation

_OVER = "__over"


@dataclass(frozen=True)
class Operations:
    """The operations of one writer on the table: a frame, the bounds of its keys, its partition.

    `tie` is the number of a sink whose rows of one key have an order, `ended` how many stored rows
    can be over, of which it takes those that are. `paths` are the files that its rows are read
    from, if they are; statements that delete no row add so many. Rows that are `fresh` have row ids
    that no other row has.
    """

    frame: DataFrame
    within: Bounds = field(default_factory=dict)
    partition: str = CONNECTOR
    tie: int | None = None
    ended: int = 0
    adds: int = 0
    paths: Sequence[str] = ()
    fresh: bool = False


@dataclass(frozen=True)
class Counts:
    """What became of keys: `applied` changed by what came, `expired` are over as they come.

    The time alone took `timed` rows away, sinks `brought` so many rows; of keys to which messages
    came the old row `differs` from the stored one.
    """

    applied: int = 0
    expired: int = 0
    timed: int = 0
    brought: int = 0
    differs: int = 0


@dataclass
class TableMerge(TablePart):
    """The merge of a table in one epoch; rows up to the `cutoff` are expired."""

    cutoff: Cutoff | None = None
    observation: Observation | None = None
    added: int = 0

    @property
    def firsts(self) -> tuple[str, ...]:
        """Return the column with the old row that messages deliver, where it can be compared.

        The stored form of a transformed row differs from the delivered one.
        """
        declared = self.declaration
        compares = declared.is_messages and declared.transform is None
        compares = compares and declared.conflict.replaces
        return (BEFORE,) if compares else ()

    @property
    def merge_output(self) -> Outcome:
        """Return the possible output of the merge."""
        ttl, owned = self.declaration.ttl, self.obj.has_owners
        renews = ""
        if owned:
            renews = f"NOT ({NEW_ROW}.{OWNERS} <=> {OLD_ROW}.{OWNERS})"
        elif ttl is not None and ttl.column is None:
            renews = merge.GIVEN if self.replaces else conflicts.WRITTEN
        refuses = not self.replaces and conflicts.can_refuse(self.declaration, self.obj.owners)
        return Outcome(self.declaration.ttl_column or "", refuses, renews, self.hidden)

    @property
    def replaces(self) -> bool:
        """Tell whether the last row of a key replaces any stored row."""
        return self.declaration.conflict.replaces and not self.obj.has_owners

    @property
    def hidden(self) -> str:
        """Return the hidden column."""
        return OWNERS if self.obj.has_owners else ""

    @property
    def counts(self) -> Counts:
        """Return the counts that were taken while the changes were written."""
        found = {"applied": self.added} if self.observation is None else self.observation.get
        return Counts(**{name: int(value or 0) for name, value in found.items()})

    def expire_rows(self) -> Operations | None:
        """Return the expired stored rows as deletes; None if no file can have any."""
        cutoff = self.cutoff
        if cutoff is None or not cutoff.ttl.deletes:
            return None
        stored, parts = self._rows_in_files(cutoff.ends)
        if stored is None:
            return None
        over = cutoff.expired_rows(stored, self.columns)
        within = file_bounds(parts, layout.merge_key(self.obj)) or {}
        rows = sum(file.rows for file in parts)
        return Operations(merge.expiry_operations(over, self.columns), within, ended=rows)

    def keyless_rows(self) -> DataFrame | None:
        """Return the stored rows with a NULL in the primary key, with weight -1.

        A table that was a view before may have some. None if no file can have any.
        """
        key = self.obj.relation.primary_key
        stored, _ = self._rows_in_files(lambda file: any(file.nulls.get(c) != 0 for c in key))
        if stored is None:
            return None
        names = [ident(f.name) for f in self.columns]
        missing = " OR ".join(f"{ident(c)} IS NULL" for c in key)
        return stored.where(missing).selectExpr(*names, f"-1 AS {WEIGHT}")

    def _rows_in_files(
        self, chosen: Callable[[DataFile], bool]
    ) -> tuple[DataFrame | None, list[DataFile]]:
        """Return the rows at rest in some files, and those files; None where there are none."""
        current = current_at_cut(self.advance.tables.store, self.obj, self.advance.input.before)
        if current is None:
            return None, []
        parts = [file for _, files in current.parts for file in files if chosen(file)]
        if not parts:
            return None, []
        base = tuple(file for file in current.base.files if file in parts)
        return current.all_rows(self.advance.tables, base), parts

    def changes(self, operations: Sequence[Operations], rows_in: int) -> DataFrame:
        """Return the changes of the stored rows; `rows` is an estimate of the incoming rows."""
        key, within = layout.merge_key(self.obj), hull([o.within for o in operations])
        rows = rows_in + sum(o.ended for o in operations)
        few = rows <= self.advance.tables.limits.broadcast_rows
        few = few and not self.advance.input.created & {*self.obj.feeders}
        frames = [o.frame for o in operations]
        keys = _first_keys(operations, key) if few else {}
        stored, small = self._rows_to_meet(within, rows, keys)
        # Of a key of one column only the rows are left that meet others.
        small |= keys.keys() == {*key}
        if self._are_new(operations, stored):
            self.added = operations[0].adds
            epoch = self.advance.input.epoch
            return materialize.insert(operations[0].frame, self.columns, epoch)
        ties = [o.tie for o in operations if o.tie is not None]
        gathered = merge.gather_operations(frames, ties)
        owners = self.obj.owners
        if self.replaces:
            firsts = self.firsts
            chosen = merge.last_per_key(gathered, self.columns, key, firsts)
            passed = (materialize.NEW_ROW, *firsts, *merge.CAME)
        else:
            chosen = conflicts.list_operations(gathered, self.columns, key, owners)
            passed = (conflicts.OPERATIONS, *merge.CAME)
        pairs = merge.pairs(chosen, stored, self.columns, key, small=small, few=few, passed=passed)
        if not self.replaces:
            pairs = conflicts.fold_operations(
                pairs, self.declaration, self.columns, self.advance.now, owners
            )
        counted = self._counting(self._drop_expired_pairs(pairs))
        return self.merge_output.changes(counted, self.columns, self.advance.input.epoch)

    def _are_new(self, operations: Sequence[Operations], stored: DataFrame | None) -> bool:
        """Tell whether statements bring many rows, of which none meets another one.

        Where rows are stored among their keys, the merge looks for them: once is enough.
        """
        first, key = operations[0], layout.merge_key(self.obj)
        limits = self.advance.tables.limits
        if len(operations) > 1 or first.adds < limits.unique_rows:
            return False
        if self.cutoff is not None or self.merge_output.is_routed:
            return False
        if ROW_ID in key:
            return first.fresh
        if stored is not None:
            return False
        note = key_uniqueness.each_once(first.paths, self.columns, key, limits)
        return keyed.is_unique(first.frame, key) if note is None else note

    def _rows_to_meet(
        self, within: Bounds, coming: int, keys: Mapping[str, KeyColumn]
    ) -> tuple[DataFrame | None, bool]:
        """Return the rows that those that come can meet; and: to look for the keys pays nothing."""
        stored, small = self.advance.rows_before(within, coming, keys)
        stored = drop_expired(stored, self.obj, self.advance.input.before.records.get(self.obj.key))
        if stored is not None and self.cutoff is not None and not self.cutoff.ttl.deletes:
            # What is discarded is at rest until it is reclaimed, and holds its key no more.
            stored = self.cutoff.lasting(stored, layout.current_schema(self.obj))
        return stored, small

    def _drop_expired_pairs(self, pairs: DataFrame) -> DataFrame:
        """Return the pairs without new rows that are over, and whether there was one."""
        new = materialize.NEW_ROW
        if self.cutoff is None or self.cutoff.ttl.column is None:
            return pairs.selectExpr("*", f"FALSE AS {_OVER}")
        over = self.cutoff.is_over(f"{new}.")
        marked = self.cutoff.add_cutoff(pairs).selectExpr("*", f"{over} AS {_OVER}")
        others = [ident(c) for c in self._extra_columns() if c != new]
        return marked.selectExpr(*others, f"CASE WHEN NOT {_OVER} THEN {new} END AS {new}", _OVER)

    def _extra_columns(self) -> tuple[str, ...]:
        """Return the columns of pairs after the merge."""
        old, new = materialize.OLD_ROW, materialize.NEW_ROW
        if self.replaces:
            return (old, new, *self.firsts, *merge.CAME)
        return (old, new, conflicts.REFUSED, conflicts.WRITTEN, *merge.CAME)

    def _counting(self, pairs: DataFrame) -> DataFrame:
        """Count on the way what becomes of keys, and where messages had another old row in mind."""
        from pyspark.sql import functions as F

        self.observation = new_observation()
        differs = materialize.differ(self.columns, self.hidden)
        # Where rows end below a watermark, nothing but late rows comes to such a key.
        timed = "FALSE" if self.declaration.ttl_column else f"NOT {merge.GIVEN}"
        counts = {
            "applied": f"count_if({merge.GIVEN} AND NOT {_OVER} AND {differs})",
            "expired": f"count_if({merge.GIVEN} AND {_OVER})",
            "timed": f"count_if({timed})",
            "brought": f"sum({merge.BROUGHT})",
        }
        for before in self.firsts:
            counts["differs"] = f"count_if({messages.differs(before, self.declaration)})"
        columns = [F.expr(text).alias(name) for name, text in counts.items()]
        return pairs.observe(self.observation, *columns)


def _first_keys(operations: Sequence[Operations], key: Sequence[str]) -> dict[str, KeyColumn]:
    """Return the values of the key's first column: one is looked up faster than several."""
    found = dict[str, KeyColumn]()
    for column in key[:1]:
        frames = [o.frame.selectExpr(f"{ident(column)} AS {KEY}") for o in operations]
        written = [FileColumn(column, tuple(o.paths)) for o in operations]
        places = tuple(written) if all(c.paths for c in written) else None
        frame = reduce(lambda a, b: a.unionAll(b), frames)
        found[column] = KeyColumn(frame, written=places)
    return found
