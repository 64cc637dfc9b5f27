"""What an operator evaluates once, at rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from floodmark.catalog.types import Schema
from floodmark.runtime.bounds import Bounds
from floodmark.runtime.operators import keyed
from floodmark.runtime.operators.stored_values import Gone
from floodmark.spark.types import quoted
from floodmark.storage.pruning import prune

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from floodmark.runtime.stages import ObjectStages


@dataclass
class ValuesFiles:
    """What one operator has evaluated and stored, by stream key."""

    stages: ObjectStages
    table: str
    schema: Schema

    @property
    def epoch(self) -> int:
        """Return the epoch that is being advanced."""
        return self.stages.writer.epoch

    def before(self, within: Bounds) -> DataFrame | None:
        """Return what was stored before, at least of the keys within bounds; None for nothing."""
        handle = self.stages.handle_before(self.table)
        if handle is None:
            return None
        return self.stages.tables.read(handle, self.schema, prune(handle, None, within))

    def once(self, fresh: Callable[[], DataFrame]) -> DataFrame | None:
        """Store the fresh rows in place of all others; return them, or what is recorded."""
        done = self.stages.writer.recorded(self.table)
        if done is None:
            handle = self.stages.handle_before(self.table)
            files = self.stages.writer.write(self.table, fresh())
            removes = () if handle is None else handle.files
            done = self.stages.commit(self.table, self.schema, files, removes, handle)
        self.stages.versions[self.table] = done.version
        return self.stages.tables.of_epoch(done, self.schema, self.epoch)

    def keep(self, fresh: Callable[[], DataFrame], gone: Gone, live: str) -> DataFrame | None:
        """Store the fresh rows in place of those of the gone keys; return them read back.

        `live` tells which of the others stay. What an earlier attempt recorded stands: values of
        users' functions differ from one evaluation to the next.
        """
        done = self.stages.writer.recorded(self.table)
        if done is None:
            handle = self.stages.handle_before(self.table)
            touched = () if handle is None else prune(handle, None, gone.within)
            names = [quoted(f.name) for f in self.schema]
            rows = fresh().selectExpr(*names)
            if handle is not None and touched:
                stored = self.stages.tables.read(handle, self.schema, touched)
                assert stored is not None
                others = keyed.without(stored.where(live), gone.rows, gone.key, few=gone.few)
                rows = others.selectExpr(*names).unionAll(rows)
            files = self.stages.writer.write(self.table, rows)
            done = self.stages.commit(self.table, self.schema, files, touched, handle)
        self.stages.versions[self.table] = done.version
        return self.stages.tables.of_epoch(done, self.schema, self.epoch)
