"""Stored values of expressions that an operator evaluates once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from floodmark.dataflow.state.io import StateIO, replacement
from floodmark.dataflow.state.leaving_rows import ExpiredRows, ReplacedRows
from floodmark.scalar.types import Schema
from floodmark.spark import keyed
from floodmark.spark.literals import literal
from floodmark.spark.types import ident
from floodmark.storage.files.pruning import prune
from floodmark.storage.table import DataFile, Handle
from floodmark.stream.properties.bounds import EVERYWHERE, Bounds
from floodmark.tables.tables import TableChange

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass
class StoredValues:
    """What one operator has evaluated and stored: key, stored columns, error, epoch."""

    io: StateIO
    table: str
    schema: Schema

    @property
    def epoch(self) -> int:
        """Return the epoch that is being advanced."""
        return self.io.writer.epoch

    def rows_before(self, within: Bounds = EVERYWHERE) -> DataFrame | None:
        """Return what was stored before, at least of the keys within bounds; None for nothing."""
        handle = self.io.handle_before(self.table)
        if handle is None:
            return None
        return self.io.tables.read(handle, self.schema, prune(handle, None, within))

    def replace_all(self, fresh: Callable[[], DataFrame]) -> DataFrame | None:
        """Store the fresh rows in place of all others; return the stored or the recorded ones."""
        return self._commit(
            lambda before: replacement(before, self.io.writer.write(self.table, fresh()))
        )

    def keep(
        self, fresh: Callable[[], DataFrame], gone: ReplacedRows, over: ExpiredRows | None
    ) -> DataFrame | None:
        """Store the fresh rows in place of those of the gone keys; return them read back.

        Expired rows (`over`) go, too, if their files are rewritten. Rows that an earlier attempt
        recorded stay: values of users' functions differ from one evaluation to the next.
        """

        def build(before: Handle | None) -> TableChange:
            overlapping = () if before is None else prune(before, None, gone.within)
            ended = () if before is None else _expired_files(before, over)
            overlapping = tuple(file for file in overlapping if file not in ended)
            names = [ident(f.name) for f in self.schema]
            rows = fresh().selectExpr(*names)
            if before is not None and overlapping:
                stored = self.io.tables.read(before, self.schema, overlapping)
                assert stored is not None
                lasting = stored.where(self._lasts(over))
                others = keyed.anti_join(lasting, gone.rows, gone.key, few=gone.few)
                rows = others.selectExpr(*names).unionAll(rows)
            return TableChange(self.io.writer.write(self.table, rows), (*overlapping, *ended))

        return self._commit(build)

    def _commit(self, build: Callable[[Handle | None], TableChange]) -> DataFrame | None:
        """Return the rows of the epoch as they are stored."""
        done = self.io.commit_once(self.table, self.schema, build)
        return None if done is None else self.io.tables.epoch_rows(done, self.schema, self.epoch)

    def _lasts(self, over: ExpiredRows | None) -> str:
        if over is None:
            return "TRUE"
        column, bound = over.column, over.bound
        type_ = next(f.type for f in self.schema if f.name == column)
        return f"coalesce({ident(column)} >= {literal(bound, type_)}, TRUE)"


def _expired_files(handle: Handle, over: ExpiredRows | None) -> tuple[DataFile, ...]:
    """Return the files all of whose rows are over."""
    if over is None:
        return ()
    column, bound = over.column, over.bound
    return tuple(
        f
        for f in handle.files
        if column in f.high and f.high[column] < bound and not f.nulls.get(column, 1)
    )
