"""Arrangements: an input's rows that no object stores, as a log of weighted changes.

Rows that an epoch needs lie within bounds, and only files that overlap the bounds are read. All
changes of a row must be read, or none, so rows outside the bounds are filtered out one by one. Rows
that are no longer needed are filtered out, too, and files with nothing else are dropped. If some
rows of such a file are still needed (the last of a partition), the log is rewritten after it has
grown to many files.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from floodmark.changelog import WEIGHT
from floodmark.dataflow.key_sets import ALL_KEYS, KeySets, select_values
from floodmark.dataflow.state.io import StateIO, replacement
from floodmark.dataflow.state.leaving_rows import ExpiredRows
from floodmark.scalar.types import (
    BIGINT,
    DATE,
    INT,
    SMALLINT,
    TIMESTAMP,
    TIMESTAMPTZ,
    Field,
    Schema,
    SqlType,
)
from floodmark.spark.literals import literal
from floodmark.spark.rows import never_negative
from floodmark.spark.types import ident
from floodmark.storage.files.pruning import prune
from floodmark.storage.table import DataFile, Handle
from floodmark.stream.properties.bounds import EVERYWHERE, Bounds
from floodmark.tables.keyed_rows import make_narrow
from floodmark.tables.tables import TableChange

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_EXACT = (SMALLINT, INT, BIGINT, DATE, TIMESTAMP, TIMESTAMPTZ)


@dataclass
class Arrangement:
    """Input rows that no persisted object holds, as a log of weighted changes."""

    io: StateIO
    table: str
    columns: Schema
    gone: ExpiredRows | None = None

    def __post_init__(self) -> None:
        if self.gone is not None and self._type(self.gone.column) not in _EXACT:
            self.gone = None

    @property
    def _schema(self) -> Schema:
        return (*self.columns, Field(WEIGHT, INT, nullable=False))

    def rows_before(
        self, within: Bounds = EVERYWHERE, keys: KeySets = ALL_KEYS
    ) -> DataFrame | None:
        """Return the rows before the epoch, at least those within bounds that have the keys."""
        log = self._log(self.io.handle_before(self.table), self._exact(within))
        return None if log is None else self._consolidate([log], keys)

    def rows_after(
        self, changes: DataFrame | None, within: Bounds = EVERYWHERE, keys: KeySets = ALL_KEYS
    ) -> DataFrame | None:
        """Record the epoch's changes and return the rows after them.

        At least those within bounds that have the keys.
        """
        within = self._exact(within)
        handle = self.io.handle_before(self.table)
        log = self._log(handle, within)
        names = [ident(f.name) for f in self._schema]
        fresh = None if changes is None else changes.selectExpr(*names)
        self._record(fresh)
        parts = [part for part in (log, self._prune(fresh, within)) if part is not None]
        return self._consolidate(parts, keys) if parts else None

    def _exact(self, within: Bounds) -> Bounds:
        """Return the bounds of columns that Spark and Python order alike, to the last value."""
        return {
            f.name: within[f.name] for f in self.columns if f.name in within and f.type in _EXACT
        }

    def _log(self, handle: Handle | None, within: Bounds) -> DataFrame | None:
        if handle is None:
            return None
        files = prune(handle, None, within)
        over = self._expired_files(handle)
        files = tuple(file for file in files if file not in over)
        rows = self.io.tables.read(handle, self._schema, files)
        if rows is not None and self.gone is not None and self.gone.stays is None:
            rows = rows.where(f"{ident(self.gone.column)} >= {self._print_expiry(self.gone)}")
        return self._prune(rows, within)

    def _expired_files(self, handle: Handle) -> tuple[DataFile, ...]:
        """Return the files all of whose rows are not needed any more."""
        if self.gone is None or self.gone.stays is not None:
            return ()
        column, bound = self.gone.column, self.gone.bound
        return tuple(f for f in handle.files if column in f.high and f.high[column] < bound)

    def _print_expiry(self, gone: ExpiredRows) -> str:
        return _print_bound(self._type(gone.column), gone.bound)

    def _type(self, column: str) -> SqlType:
        return next(f.type for f in self.columns if f.name == column)

    def _prune(self, rows: DataFrame | None, within: Bounds) -> DataFrame | None:
        if rows is None or not within:
            return rows
        types = {f.name: f.type for f in self.columns}
        ends = {c: [_print_bound(types[c], end) for end in within[c]] for c in within}
        return rows.where(
            " AND ".join(f"{ident(c)} BETWEEN {low} AND {high}" for c, (low, high) in ends.items())
        )

    def _record(self, changes: DataFrame | None) -> None:
        self.io.commit_once(self.table, self._schema, lambda before: self._change(changes, before))

    def _change(self, changes: DataFrame | None, handle: Handle | None) -> TableChange | None:
        """Write what becomes of the log; None where nothing does."""
        if handle is not None and changes is not None and self._is_long(handle):
            return replacement(handle, self._compact(changes, handle))
        over = () if handle is None else self._expired_files(handle)
        if changes is None and not over:
            return None
        return TableChange(
            () if changes is None else self.io.writer.write(self.table, changes), over
        )

    def _is_long(self, handle: Handle) -> bool:
        most = self.io.tables.limits.log_files
        return self.gone is not None and self.gone.stays is not None and len(handle.files) >= most

    def _compact(self, changes: DataFrame, handle: Handle) -> tuple[DataFile, ...]:
        """Write the rows that are needed, those of the changes among them, in place of the log."""
        gone = self.gone
        assert gone is not None
        log = self.io.tables.read(handle, self._schema)
        parts = [part for part in (log, changes) if part is not None]
        rows = self._consolidate(parts)
        names = [ident(f.name) for f in self.columns]
        below = f"{ident(gone.column)} < {self._print_expiry(gone)}"
        placed = rows.where(below).selectExpr("*", gone.places[0])
        last = placed.selectExpr("*", *gone.places[1:]).where(gone.stays).selectExpr(*names)
        kept = rows.where(f"NOT ({below})").selectExpr(*names).unionAll(last)
        return self.io.writer.write(
            self.table, kept.selectExpr(*names, f"1 AS {WEIGHT}").coalesce(1)
        )

    def _consolidate(self, parts: list[DataFrame], keys: KeySets = ALL_KEYS) -> DataFrame:
        from pyspark.sql import functions as F

        log = reduce(lambda a, b: a.unionAll(b), parts)
        rows = make_narrow(self.columns, select_values(keys)).rows(log)
        names = [ident(f.name) for f in self.columns]
        total = F.expr(f"sum({WEIGHT})").alias(WEIGHT)
        there = never_negative(WEIGHT, f"{WEIGHT} > 0")
        return rows.groupBy(*names).agg(total).where(there).selectExpr(*names)


def _print_bound(type_: SqlType, end: Any) -> str:
    """Return the Spark text of a bound, which may lie beyond the numbers of its column's type."""
    if type_.is_integer:
        return literal(max(-(2**63), min(end, 2**63 - 1)), BIGINT)
    return literal(end, type_)
