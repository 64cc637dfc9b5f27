"""A sink's Delta table: one commit per epoch, which records the epoch as the sink's transaction."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from floodmark import failpoints
from floodmark.changelog import KIND
from floodmark.connectors.sinks.identity import (
    SinkIdentity,
    check_permission,
    reaching,
    unreachable_error,
)
from floodmark.connectors.sinks.records import Records, refuse_other_log, unknown
from floodmark.connectors.sinks.sink_batch import PUT, SinkBatch
from floodmark.errors import DataError, FloodmarkError, TransientError
from floodmark.limits import Limits
from floodmark.storage.delta.elsewhere import DeltaElsewhere, traits_of
from floodmark.storage.delta.types import delta_schema, delta_type
from floodmark.storage.files import rewrite
from floodmark.storage.files.pruning import prune
from floodmark.storage.local_files import make_folder
from floodmark.storage.plain_files import open_parquet, parquet_footer
from floodmark.storage.table import AlreadyRecorded, Conflict, DataFile, Handle, record_of
from floodmark.stream.objects.external_sink import ExternalSink, SinkType

if TYPE_CHECKING:
    import pyarrow as pa

_OTHERS = ".others"
_OWNER = "_owner"
"""In the folder of an attempt until it is committed: the application of the sink whose it is."""


@dataclass(frozen=True)
class DeltaSender:
    """Writes the Delta table of one sink."""

    sink: ExternalSink
    identity: SinkIdentity
    limits: Limits

    @property
    def folder(self) -> Path:
        """Return the table's folder."""
        return self.sink.path

    @property
    def _store(self) -> DeltaElsewhere:
        return DeltaElsewhere(self.folder, durable=True)

    @property
    def _name(self) -> str:
        return self.folder.name

    def check(self) -> None:
        """Raise E0741 out of reach, E0743 for other columns, E0744 for what cannot be written."""
        delta_schema(self.sink.written_columns)
        with reaching(self.identity.name, self.folder):
            check_permission(self.identity.name, self.folder)
            if self._store.exists(self._name):
                self._check_table(self._store.open(self._name))
            elif self.folder.is_dir() and any(self.folder.glob("[!_.]*")):
                raise DataError(
                    "E0744",
                    f"the folder {self.folder} has files and is no Delta table",
                    hint="choose an empty folder, or one that is not there yet",
                )

    def _check_table(self, handle: Handle) -> None:
        wanted = [(f.name, delta_type(f.type)) for f in self.sink.written_columns]
        there = [(f.name, delta_type(f.type)) for f in handle.schema]
        if there != wanted or not all(f.nullable for f in handle.schema):
            own = ", ".join(f"{f.name} {f.type}" for f in self.sink.written_columns)
            others = ", ".join(f"{f.name} {f.type}" for f in handle.schema)
            raise DataError(
                "E0743",
                f"the Delta table {self.folder} has other columns than the sink "
                f"{self.identity.name}",
                detail=f"  sink:  {own}\n  table: {others}",
                hint="select the table's columns, in its order and types; or choose another path",
            )
        traits = traits_of(self.folder)
        problems = [f"needs {', '.join(traits.strange)}"] if traits.strange else []
        if self.sink.type is SinkType.UPSERT:
            problems += ["keeps a change data feed"] if traits.has_feed else []
            problems += ["takes new rows alone"] if traits.only_adds else []
        if problems:
            raise DataError(
                "E0744",
                f"the Delta table {self.folder} {problems[0]}: the sink cannot write that",
                hint="choose another path; or type = 'retract' with all changes as rows",
            )

    def send(
        self, epoch: int, outgoing: SinkBatch, *, initial: bool, records: Records = unknown
    ) -> int:
        """Commit an epoch; one without rows has no commit unless it begins.

        E0745 where the table has the epoch, or its last one before, by another record than the log,
        or later ones.
        """
        try:
            with reaching(self.identity.name, self.folder):
                return self._send(epoch, outgoing, initial, records)
        except FloodmarkError as error:
            # Such as a full disk, or others that write all the time: nobody else has to wait.
            if isinstance(error, TransientError) or isinstance(error.__cause__, OSError):
                raise unreachable_error(self.identity.name, self.folder, error.message) from error
            raise

    def _send(self, epoch: int, outgoing: SinkBatch, initial: bool, records: Records) -> int:
        store = self._store
        if not initial and not store.exists(self._name):
            raise unreachable_error(
                self.identity.name,
                self.folder,
                "the Delta table is gone",
                "put the table back; or DROP the sink and create it again, with all rows",
            )
        make_folder(self.folder, durable=True)
        handle = store.create(self._name, self.sink.written_columns)
        self._check_table(handle)
        attempt, tries = secrets.randbelow(10**9) + 1, 0
        rows: int | None = None
        while True:
            try:
                has = self._has(handle, epoch, records)
                self._clear(epoch, committed=has)
                if has:
                    return rows or sum(int(p.num_rows) for p in outgoing.rows(self.sink))
                with self._staging(store, epoch, attempt):
                    adds, removes, rows = self._change(
                        store, handle, epoch, attempt, outgoing, initial
                    )
                    failpoints.reach("outside_written")
                    if adds or removes or initial:
                        self._commit(store, handle, adds, removes, epoch, records(epoch))
                failpoints.reach("outside_in_place")
                return rows
            except AlreadyRecorded:
                self._has(store.open(self._name), epoch, records)
                return rows or 0
            except Conflict:
                tries, attempt = tries + 1, attempt + 1
                if tries == self.limits.sink_tries:
                    raise
                handle = store.open(self._name)
                self._check_table(handle)

    def _has(self, handle: Handle, epoch: int, records: Records) -> bool:
        """Tell whether the table has an epoch already; E0745 where its last one is another's."""
        done = handle.transaction(self.identity.app) or 0
        known = done <= epoch
        if done and known:
            found = record_of(self._store, self._name, self.identity.app, done)
            known = found in (None, records(done))
        if not known:
            remedy = "restore the table as of the warehouse's backup"
            name = self.identity.name
            refuse_other_log(name, self.folder, "Delta table", done, epoch, remedy)
        return done == epoch

    def _clear(self, epoch: int, *, committed: bool) -> None:
        """Remove the files of attempts at an epoch that were killed; mark what is committed."""
        for owner in self.folder.glob(f"{epoch}-*/{_OWNER}"):
            with suppress(OSError):
                if owner.read_text(encoding="utf-8") == self.identity.app:
                    owner.unlink() if committed else shutil.rmtree(owner.parent)

    @contextmanager
    def _staging(self, store: DeltaElsewhere, epoch: int, attempt: int) -> Iterator[None]:
        """Remove the files of an attempt that fails, unless they are committed."""
        stage = Path(store.stage(self._name, epoch, attempt))
        stage.mkdir(parents=True, exist_ok=True)
        owner = stage / _OWNER
        owner.write_text(self.identity.app, encoding="utf-8")
        try:
            yield
            owner.unlink(missing_ok=True)
            with suppress(OSError):
                stage.rmdir()  # nothing was written
        except Exception:
            if stage.exists() and not self._holds(store, stage.name):
                shutil.rmtree(stage, ignore_errors=True)
            raise

    def _holds(self, store: DeltaElsewhere, folder: str) -> bool:
        """Tell whether files of a folder are in the table, or may be."""
        try:
            return any(f.path.startswith(f"{folder}/") for f in store.open(self._name).files)
        except FloodmarkError:
            return True

    def _commit(
        self,
        store: DeltaElsewhere,
        handle: Handle,
        adds: Sequence[DataFile],
        removes: Sequence[DataFile],
        epoch: int,
        record: str | None,
    ) -> None:
        done = store.commit(
            handle,
            adds=adds,
            removes=removes,
            app=self.identity.app,
            epoch=epoch,
            metadata={"sink": self.identity.name, "epoch": epoch, "record": record},
        )
        if done.version % self.limits.checkpoint_commits == 0:
            try:
                store.checkpoint(self._name)
            except TransientError:
                return  # readers do without

    def _change(
        self,
        store: DeltaElsewhere,
        handle: Handle,
        epoch: int,
        attempt: int,
        outgoing: SinkBatch,
        initial: bool,
    ) -> tuple[tuple[DataFile, ...], tuple[DataFile, ...], int]:
        """Write files; return those to add, those to remove, and how many rows were sent."""
        stage = Path(store.stage(self._name, epoch, attempt))
        anew = initial and self.identity.app in handle.transactions
        removes = handle.files if anew else ()
        if self.sink.type is not SinkType.UPSERT:
            rows = _write(stage, outgoing.rows(self.sink), self.limits)
            return store.list_stage(self._name, epoch, attempt), removes, rows
        base = () if anew else handle.files
        if not base:
            puts = (_filter_kind(part, PUT) for part in outgoing.rows(self.sink))
            rows = _write(stage, (part.drop_columns([KIND]) for part in puts), self.limits)
            return store.list_stage(self._name, epoch, attempt), removes, rows
        import pyarrow as pa

        parts = list(outgoing.rows(self.sink))
        if not parts:
            return (), removes, 0
        changed = pa.concat_tables(parts)
        touched = self._files_with_keys(handle, changed)
        added = _filter_kind(changed, PUT).drop_columns([KIND])
        paths = self._alike(store.paths(handle, touched), added, stage)
        rewrite.replace_rows(
            paths, changed.select(list(self.sink.key)), added, str(stage), self.limits
        )
        shutil.rmtree(stage / _OTHERS, ignore_errors=True)
        return store.list_stage(self._name, epoch, attempt), touched, changed.num_rows

    def _files_with_keys(self, handle: Handle, changed: pa.Table) -> tuple[DataFile, ...]:
        """Return the files that can have a key that changes."""
        if changed.num_rows > self.limits.sink_keys:
            return handle.files
        keys = {c: changed.column(c).to_pylist() for c in self.sink.key}
        return prune(handle, keys, None)

    def _alike(self, paths: Sequence[str], rows: pa.Table, stage: Path) -> list[str]:
        """Return the files, copies of those in other Arrow types: another program wrote them."""
        from pyarrow import parquet as pq

        out = []
        for number, path in enumerate(paths):
            found = parquet_footer(path).schema.to_arrow_schema()
            if [found.field(c).type for c in rows.column_names if c in found.names] != [
                f.type for f in rows.schema
            ]:
                table = open_parquet(path).read()
                arrays = [_column(table, f) for f in rows.schema]
                folder = stage / _OTHERS
                folder.mkdir(parents=True, exist_ok=True)
                path = str(folder / f"{number}.parquet")
                pq.write_table(type(table).from_arrays(arrays, schema=rows.schema), path)
            out.append(path)
        return out


def _column(table: pa.Table, field: Any) -> Any:
    import pyarrow as pa

    if field.name not in table.column_names:
        return pa.nulls(table.num_rows, field.type)
    return table.column(field.name).cast(field.type)


def _filter_kind(part: pa.Table, kind: str) -> pa.Table:
    from pyarrow import compute as pc

    return part.filter(pc.equal(part.column(KIND), kind))


def _write(stage: Path, rows: Iterator[pa.Table], limits: Limits) -> int:
    """Write rows as files of a stage folder; return how many there are."""
    from pyarrow import parquet as pq

    total, writer, number = 0, None, 0
    try:
        for part in rows:
            if not part.num_rows:
                continue
            if writer is None or total // limits.sink_delta_rows >= number:
                if writer is not None:
                    writer.close()
                stage.mkdir(parents=True, exist_ok=True)
                writer = pq.ParquetWriter(
                    stage / f"part-{number:05}-{secrets.token_hex(8)}.parquet",
                    part.schema,
                    compression="zstd",
                    write_statistics=rewrite.columns_with_bounds(part),
                )
                number += 1
            writer.write_table(part)
            total += part.num_rows
    finally:
        if writer is not None:
            writer.close()
    return total
