"""Application of changes to an object's stored rows: by rewriting files, or as a layer over them.

The table of the rows is committed last: its transaction records the object's epoch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from floodmark.changelog import KIND
from floodmark.dataflow import materialize
from floodmark.scalar.types import VARCHAR, Field
from floodmark.storage.files import rewrite
from floodmark.storage.table import DataFile, Handle
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables import layout
from floodmark.tables.current import CurrentRows
from floodmark.tables.cut import Cut
from floodmark.tables.keys import files_with_keys
from floodmark.tables.overlay import rewrite_is_dear
from floodmark.tables.tables import TableChange, Tables, Writer, rows_of

_KIND_FIELD = Field(KIND, VARCHAR)


@dataclass(frozen=True)
class ObjectRows:
    """The rows of an object in one epoch."""

    obj: AnalysedObject
    before: Cut
    tables: Tables
    writer: Writer

    def apply_changelog(self, source: str, files: Sequence[DataFile]) -> dict[str, int]:
        """Apply written changes to the rows and commit; return the versions of the tables.

        `files` are those of the changelog, which this attempt has written into the table `source`.
        """
        table, schema = layout.current_table(self.obj), layout.current_schema(self.obj)

        def build() -> TableChange:
            current = self.writer.newest(table, schema)
            return self._change(source, files, current) if files else TableChange(on=current)

        handle = self.writer.commit_once(table, schema, build)
        assert handle is not None
        # The layer is committed before the table.
        layered = self.writer.find_handle(layout.layer_table(self.obj))
        versions = {} if layered is None else {layered.table: layered.version}
        return {**versions, table: handle.version}

    def _change(self, source: str, files: Sequence[DataFile], current: Handle) -> TableChange:
        """Return the change that written changes make to the table; a layer is committed here."""
        paths, key = self.writer.paths(source, files), self.obj.relation.stream_key
        if self._has_layer(current):
            return self._commit_layer(current, paths)
        if all(f.low.get(KIND) == f.high.get(KIND) == "+I" for f in files):
            # New rows alone: the files of the changelog are those of the table, too.
            return TableChange(self._share_files(current.table, paths), on=current)
        touched = files_with_keys(current, files, paths, key, self.tables.limits)
        if key and rewrite_is_dear(touched, files, self.tables.limits):
            return self._commit_layer(current, paths)
        return TableChange(self._rewrite(current, touched, files, paths), touched, current)

    def _has_layer(self, current: Handle) -> bool:
        """Tell whether changes are beside the rows; then those that follow have to be, too."""
        layer = layout.layer_table(self.obj)
        if not self.tables.store.exists(layer):
            return False
        newest = self.writer.newest(layer, layout.layer_schema(self.obj))
        return bool(CurrentRows(self.obj, current, newest).layer_files)

    def _commit_layer(self, current: Handle, paths: Sequence[str]) -> TableChange:
        """Put the files of the changelog into the layer, as they are; drop what was folded."""
        layer, schema = layout.layer_table(self.obj), layout.layer_schema(self.obj)
        handle = self.writer.newest(layer, schema)
        over = CurrentRows(self.obj, current, handle).layer_files
        folded = [file for file in handle.files if file not in over]
        self.writer.commit(layer, schema, self._share_files(layer, paths), folded, handle)
        return TableChange(on=current)

    def _share_files(self, table: str, paths: Sequence[str]) -> tuple[DataFile, ...]:
        store = self.tables.store
        return store.share(table, paths, self.writer.epoch, self.writer.attempt)

    def _rewrite(
        self,
        current: Handle,
        touched: tuple[DataFile, ...],
        files: Sequence[DataFile],
        paths: Sequence[str],
    ) -> tuple[DataFile, ...]:
        """Write the touched files anew."""
        table, epoch = current.table, self.writer.epoch
        if self._rewrite_here(current, touched, files, paths):
            return self.writer.list_written(table, (*touched, *files))
        columns = (*layout.row_schema(self.obj), *layout.own_state(self.obj))
        changes = self.tables.read_paths(paths, (*columns, _KIND_FIELD))
        stored = self.tables.read(current, layout.current_schema(self.obj), touched)
        few = rows_of(files) <= self.tables.limits.broadcast_rows
        key = self.obj.relation.stream_key
        rows = materialize.rewritten(stored, changes, columns, key, epoch, few=few)
        return self.writer.write(table, rows)

    def _rewrite_here(
        self,
        current: Handle,
        touched: tuple[DataFile, ...],
        files: Sequence[DataFile],
        paths: Sequence[str],
    ) -> bool:
        """Rewrite touched files without Spark where they are few; tell whether that is done."""
        relation, store = self.obj.relation, self.tables.store
        key = [f for f in relation.columns if f.name in relation.stream_key]
        if not rewrite.is_small(touched, files, tuple(key), self.tables.limits):
            return False
        names = [f.name for f in (*layout.row_schema(self.obj), *layout.own_state(self.obj))]
        folder = self.writer.folder(current.table)
        return rewrite.rewrite(
            store.paths(current, touched),
            paths,
            names,
            relation.stream_key,
            self.writer.epoch,
            folder,
            self.tables.limits,
        )
