"""How an object's rows at rest follow its changes: files shared or rewritten, or a layer over them.

The table of the rows is committed last: its transaction says how far the object has come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from floodmark.changelog import KIND
from floodmark.dataflow.operators import materialize
from floodmark.scalar.types import VARCHAR, Field
from floodmark.storage.table import DataFile, Handle
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables import layout, rewrite
from floodmark.tables.current import CurrentRows
from floodmark.tables.cut import Cut
from floodmark.tables.keys import touched_files
from floodmark.tables.tables import Change, Tables, Writer, rows_of

_KIND_FIELD = Field(KIND, VARCHAR)


@dataclass(frozen=True)
class AtRest:
    """The rows of an object in one epoch."""

    found: AnalysedObject
    before: Cut
    tables: Tables
    writer: Writer

    def follow(self, source: str, files: Sequence[DataFile]) -> dict[str, int]:
        """Commit what written changes make of the rows; return the versions of the tables.

        `files` are those of the changelog, which this attempt has written into the table `source`.
        """
        table, schema = layout.current_table(self.found), layout.current_schema(self.found)

        def build() -> Change:
            current = self.writer.newest(table, schema)
            return self._change(source, files, current) if files else Change(on=current)

        handle = self.writer.commit_once(table, schema, build)
        assert handle is not None
        # The layer is committed before the table.
        layered = self.writer.recorded(layout.layer_table(self.found))
        versions = {} if layered is None else {layered.table: layered.version}
        return {**versions, table: handle.version}

    def _change(self, source: str, files: Sequence[DataFile], current: Handle) -> Change:
        """Return what written changes do to the table; a layer is committed here."""
        paths, key = self.writer.paths(source, files), self.found.relation.stream_key
        if self._has_layer(current):
            return self._commit_layer(current, paths)
        if all(f.low.get(KIND) == f.high.get(KIND) == "+I" for f in files):
            # New rows alone: the files of the changelog are those of the table, too.
            return Change(self._shared(current.table, paths), on=current)
        touched = touched_files(current, files, paths, key)
        if self._is_layered(touched, files):
            return self._commit_layer(current, paths)
        return Change(self._rewritten(current, touched, files, paths), touched, current)

    def _has_layer(self, current: Handle) -> bool:
        """Tell whether changes are beside the rows; then those that follow have to be, too."""
        layer = layout.layer_table(self.found)
        if not self.tables.store.exists(layer):
            return False
        newest = self.writer.newest(layer, layout.layer_schema(self.found))
        return bool(CurrentRows(self.found, current, newest).over)

    def _is_layered(self, touched: Sequence[DataFile], files: Sequence[DataFile]) -> bool:
        """Tell whether the rewrite of touched files is too much for so few changes."""
        if not self.found.relation.stream_key:
            return False
        changed, rewritten = (sum(f.size for f in found) for found in (files, touched))
        most, factor = self.tables.limits, self.tables.limits.layer_factor
        large = rewritten > max(most.layer_bytes, factor * changed)
        return large or rows_of(touched) > max(most.layer_rows, factor * rows_of(files))

    def _commit_layer(self, current: Handle, paths: Sequence[str]) -> Change:
        """Put the files of the changelog into the layer, as they are; drop what was folded."""
        layer, schema = layout.layer_table(self.found), layout.layer_schema(self.found)
        handle = self.writer.newest(layer, schema)
        over = CurrentRows(self.found, current, handle).over
        folded = [file for file in handle.files if file not in over]
        self.writer.commit(layer, schema, self._shared(layer, paths), folded, handle)
        return Change(on=current)

    def _shared(self, table: str, paths: Sequence[str]) -> tuple[DataFile, ...]:
        store = self.tables.store
        return store.share(table, paths, self.writer.epoch, self.writer.attempt)

    def _rewritten(
        self,
        current: Handle,
        touched: tuple[DataFile, ...],
        files: Sequence[DataFile],
        paths: Sequence[str],
    ) -> tuple[DataFile, ...]:
        """Write the touched files anew."""
        table, store, epoch = current.table, self.tables.store, self.writer.epoch
        if self._rewritten_here(current, touched, files, paths):
            return store.staged(table, epoch, self.writer.attempt)
        columns = (*layout.row_schema(self.found), *layout.own_state(self.found))
        changes = self.tables.read_paths(paths, (*columns, _KIND_FIELD))
        stored = self.tables.read(current, layout.current_schema(self.found), touched)
        few = rows_of(files) <= self.tables.limits.broadcast_rows
        key = self.found.relation.stream_key
        rows = materialize.rewritten(stored, changes, columns, key, epoch, few=few)
        return self.writer.write(table, rows)

    def _rewritten_here(
        self,
        current: Handle,
        touched: tuple[DataFile, ...],
        files: Sequence[DataFile],
        paths: Sequence[str],
    ) -> bool:
        """Rewrite touched files without Spark where they are few; tell whether that is done."""
        relation, store = self.found.relation, self.tables.store
        key = [f for f in relation.columns if f.name in relation.stream_key]
        if not rewrite.is_small(touched, files, tuple(key), self.tables.limits):
            return False
        names = [f.name for f in (*layout.row_schema(self.found), *layout.own_state(self.found))]
        folder = store.stage(current.table, self.writer.epoch, self.writer.attempt)
        return rewrite.rewrite(
            store.paths(current, touched),
            paths,
            names,
            relation.stream_key,
            self.writer.epoch,
            folder,
        )
