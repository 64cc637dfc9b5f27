"""Reading and writing tables within an epoch: files to frames, frames to files to commits."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from itertools import groupby
from typing import TYPE_CHECKING, Any

from floodmark import failpoints
from floodmark.changelog import EPOCH, ROW_ID
from floodmark.errors import DataError
from floodmark.limits import Limits
from floodmark.price import Price, charge, charge_time
from floodmark.scalar.types import BIGINT, Field, Schema
from floodmark.spark.columns import ROUTE
from floodmark.spark.types import ident, nullable_ddl
from floodmark.storage.files.imported_files import (
    EPOCH_PART,
    FIRST_PART,
    is_delivered,
    table_folder,
)
from floodmark.storage.files.pruning import prune
from floodmark.storage.logs.object_record import ObjectRecord, parse_record
from floodmark.storage.records.text import to_text
from floodmark.storage.table import (
    AlreadyRecorded,
    Conflict,
    DataFile,
    Handle,
    Store,
    raise_missing_version,
    raise_older,
    record_of,
    refuse_other_record,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FOLD = "fold"
"""The maintenance that puts a layer of changes into the table below it."""
UNDO = "undo"
"""The maintenance that puts back what another program has changed, once its rows are logged."""
RESHAPE = "reshape"
"""The maintenance that gives stored rows the columns of another definition."""
PUBLISH = "publish"
"""The maintenance that lets a published table show the rows of its object."""
_EPOCH_FIELD = Field(EPOCH, BIGINT)


def _commit_price(seconds: float) -> Price:
    return Price(commit_s=seconds)


class Tables:
    """The tables of a warehouse as Spark frames; safe between threads."""

    def __init__(self, store: Store, spark: SparkSession, limits: Limits) -> None:
        self.store = store
        self.spark = spark
        self.limits = limits

    def open(self, table: str, version: int) -> Handle:
        """Return a table at a pinned version."""
        return self.store.open(table, version)

    def read(
        self, handle: Handle, columns: Schema, files: Sequence[DataFile] | None = None
    ) -> DataFrame | None:
        """Return the rows of a table, or of some of its files; None when there are none."""
        chosen = handle.files if files is None else files
        if not chosen:
            return None
        written = [file for file in chosen if not is_delivered(file)]
        taken = [file for file in chosen if is_delivered(file)]
        parts = [self.read_paths(self.store.paths(handle, written), columns)] if written else []
        parts += [self._read_imported(handle, columns, taken)] if taken else []
        return reduce(_union, parts)

    def _read_imported(
        self, handle: Handle, columns: Schema, files: Sequence[DataFile]
    ) -> DataFrame:
        """Return the rows of files that were taken over, with what their paths say of them."""
        own = tuple(f for f in columns if f.name not in (ROW_ID, EPOCH))
        parts = tuple(Field(name, BIGINT) for name in (EPOCH_PART, FIRST_PART))
        schema = nullable_ddl((*own, *parts))
        hidden = {
            ROW_ID: f"{FIRST_PART} + _metadata.row_index AS {ROW_ID}",
            EPOCH: f"{EPOCH_PART} AS {EPOCH}",
        }
        texts = [hidden.get(f.name, ident(f.name)) for f in columns]
        paths = sorted(self.store.paths(handle, files), key=table_folder)
        frames = (
            self.spark.read.option("basePath", base).schema(schema).parquet(*found)
            for base, found in groupby(paths, key=table_folder)
        )
        return reduce(_union, (frame.selectExpr(*texts) for frame in frames))

    def files_of_epochs(self, handle: Handle, first: int, last: int) -> tuple[DataFile, ...]:
        """Return the files with rows which epochs of a range wrote, merged with others or not."""
        return prune(handle, None, {EPOCH: (first, last)})

    def epoch_rows(self, handle: Handle, columns: Schema, epoch: int) -> DataFrame | None:
        """Return the rows that one epoch wrote."""
        return self.rows_of_epochs(handle, columns, epoch, epoch)

    def rows_of_epochs(
        self, handle: Handle, columns: Schema, first: int, last: int
    ) -> DataFrame | None:
        """Return the rows that the epochs from `first` to `last` wrote."""
        files = self.files_of_epochs(handle, first, last)
        mixed = any(
            f.low.get(EPOCH, 0) < first or f.high.get(EPOCH, last + 1) > last for f in files
        )
        wanted = columns if any(f.name == EPOCH for f in columns) else (*columns, _EPOCH_FIELD)
        frame = self.read(handle, wanted if mixed else columns, files)
        if frame is None or not mixed:
            return frame
        kept = frame.where(f"{EPOCH} BETWEEN {first} AND {last}")
        return kept.selectExpr(*(ident(f.name) for f in columns))

    def read_paths(self, paths: Sequence[str], columns: Schema) -> DataFrame:
        """Return the rows of files that are not committed (yet)."""
        return self.spark.read.schema(nullable_ddl(columns)).parquet(*paths)


@dataclass(frozen=True)
class TableChange:
    """What an epoch does to a table: files that come, files that go, and the version it read.

    With `reshapes` the table gets the columns with which it is committed.
    """

    adds: Sequence[DataFile] = ()
    removes: Sequence[DataFile] = ()
    on: Handle | None = None
    reshapes: bool = False


@dataclass
class Writer:
    """Writes what one object commits in one epoch, under one attempt number.

    Every commit has the `metadata`, of which `record` is the id of the record that orders the work.
    `pinned` has the versions of the object's tables after its epoch before: what moved one of them
    since, other than this epoch and merging files, was somebody else.
    """

    tables: Tables
    app: str
    epoch: int
    metadata: Mapping[str, Any]
    pinned: Mapping[str, int] = field(default_factory=dict)
    attempt: int = 0

    def __post_init__(self) -> None:
        # A zombie of an earlier try must never share a folder with this one.
        self.attempt = self.attempt or secrets.randbelow(10**9) + 1

    def newest(self, table: str, schema: Schema) -> Handle:
        """Open a table, creating it at its first use."""
        store = self.tables.store
        if not store.exists(table):
            if table in self.pinned:
                raise_missing_version(table, None)
            return store.create(table, schema)
        return self._check_foreign(store.open(table))

    def _check_foreign(self, handle: Handle) -> Handle:
        """Return the handle; a `DataError` E0420 when others have changed the table's rows."""
        table, pinned = handle.table, self.pinned.get(handle.table)
        if pinned is None or handle.version == pinned:
            return handle
        if handle.version < pinned:
            raise_older(table, handle.version, pinned)
        history = self.tables.store.history(table, pinned)
        # What another program wrote into a table is taken in as DML, its own files put back.
        undone = [i for i, info in enumerate(history) if _maintenance(info) == UNDO]
        history = history[undone[-1] + 1 :] if undone else history
        foreign = [i for i in history if i["data_change"] and not own_commit(i["metadata"])]
        if not foreign or _same_files(handle, self.tables.open(table, pinned)):
            return handle
        first = foreign[0]
        raise DataError(
            "E0420",
            f"somebody else wrote into {table}: {first['operation']} in version {first['version']} "
            f"after {pinned}",
            hint=f"restore the table to version {pinned} and resume the object, or create it again",
        )

    def find_handle(self, table: str) -> Handle | None:
        """Return the table if this epoch is in it already, else None.

        E0433 where it is by another record than the one of this epoch.
        """
        if not self.tables.store.exists(table):
            return None
        handle = self.tables.store.open(table)
        done = handle.transaction(self.app)
        if done is None or done < self.epoch:
            return None
        found = record_of(self.tables.store, table, self.app, self.epoch)
        refuse_other_record(table, self.epoch, found, self.metadata.get("record"))
        if done > self.epoch:
            return self._epoch_handle(table)
        return self._check_foreign(handle)

    def find_record(self, table: str) -> ObjectRecord | None:
        """Return the object's record as an earlier attempt told it by `commit_last`, or None.

        E0435 for a record that is not whole.
        """
        handle = self.find_handle(table)
        if handle is None:
            return None
        history = self.tables.store.history(table, self.pinned.get(table, -1))
        mine = (i for i in history if i["metadata"].get("epoch") == self.epoch)
        last = next((info for info in mine if "told" in info["metadata"]), None)
        if last is None:
            return None
        record = parse_record(str(last["metadata"]["told"]), table, last["format"])
        return _with_version(record, handle)

    def _epoch_handle(self, table: str) -> Handle | None:
        """Return the table as this epoch left it, while catching up what later ones recorded."""
        version = self.tables.store.version_at(table, self.app, self.epoch)
        return None if version is None else self.tables.open(table, version)

    def write(self, table: str, frame: DataFrame, rows_per_file: int = 0) -> tuple[DataFile, ...]:
        """Write a frame into the table's attempt folder: one Spark job, nothing committed.

        A file has at most `rows_per_file` rows, any number where that is 0.
        """
        folder = self.folder(table)
        writer = frame.write.mode("append")
        if rows_per_file:
            writer = writer.option("maxRecordsPerFile", rows_per_file)
        writer.parquet(folder)
        return self.list_written(table)

    def take(self, table: str, files: Sequence[tuple[str, int]]) -> tuple[DataFile, ...]:
        """Take files over as they are, each with the row id of its first row."""
        return self.tables.store.take(table, files, self.epoch, self.attempt)

    def write_routed(self, table: str, frame: DataFrame) -> dict[int, tuple[DataFile, ...]]:
        """Write a frame split by `__route`, in one Spark job; return the files of each route."""
        folder = self.folder(table)
        frame.write.mode("append").partitionBy(ROUTE).parquet(folder)
        routed: dict[int, list[DataFile]] = {}
        for file in self.list_written(table):
            routed.setdefault(_route_of(file.path), []).append(file)
        return {route: tuple(files) for route, files in routed.items()}

    def list_written(self, table: str, read: Sequence[DataFile] = ()) -> tuple[DataFile, ...]:
        """Return the files that this attempt has just written into the table's folder.

        `read` are those that this process, not Spark, has read for them.
        """
        with charge_time(_commit_price):
            files = self.tables.store.list_stage(table, self.epoch, self.attempt)
        charge(Price(bytes_read=_size_of(read), bytes_written=_size_of(files)))
        return files

    def folder(self, table: str) -> str:
        """Return the folder of what this attempt writes for a table."""
        return self.tables.store.stage(table, self.epoch, self.attempt)

    def paths(self, table: str, files: Sequence[DataFile]) -> list[str]:
        """Return absolute paths of files that this attempt has written."""
        base = self.folder(table).rsplit("/", 1)[0]
        return [f"{base}/{file.path}" for file in files]

    def move(self, source: str, files: Sequence[DataFile], target: str) -> tuple[DataFile, ...]:
        """Move written, uncommitted files of one route into another table's attempt folder."""
        if not files:
            return ()
        folder = self.folder(source)
        route = _route_of(files[0].path)
        return self.tables.store.adopt(
            target, f"{folder}/{ROUTE}={route}", self.epoch, self.attempt
        )

    def commit_once(
        self, table: str, schema: Schema, build: Callable[[], TableChange | None], point: str = ""
    ) -> Handle | None:
        """Return the table after the epoch: as it is recorded, or with the change of `build`.

        That is asked where nothing is recorded alone. None where it has nothing to commit. The
        failpoint `point` is passed after a commit.
        """
        done = self.find_handle(table)
        if done is not None:
            return done
        change = build()
        if change is None:
            return None
        adds, removes = change.adds, change.removes
        done = self.commit(table, schema, adds, removes, change.on, reshapes=change.reshapes)
        if point:
            failpoints.reach(point)
        return done

    def commit_last(
        self, table: str, schema: Schema, adds: Sequence[DataFile], record: ObjectRecord
    ) -> ObjectRecord:
        """Commit the last table of an object in the epoch, and tell the object's record by it.

        Returns the record with the table's version. Whoever comes after an attempt that was killed
        has the same from `find_record`.
        """
        handle = self.commit(table, schema, adds, note=to_text(asdict(record)))
        return _with_version(record, handle)

    @charge_time(_commit_price)
    def commit(
        self,
        table: str,
        schema: Schema,
        adds: Sequence[DataFile] = (),
        removes: Sequence[DataFile] = (),
        on: Handle | None = None,
        note: str = "",
        *,
        reshapes: bool = False,
    ) -> Handle:
        """Commit once for this epoch; what an earlier attempt recorded stands.

        `note` is for whoever comes after an attempt that was killed: see `commit_last`. With
        `reshapes` the table has the columns of the schema from then on.
        """
        handle = on or self.newest(table, schema)
        metadata = {**self.metadata, "epoch": self.epoch, "attempt": self.attempt}
        try:
            done = self.tables.store.commit(
                handle,
                adds=adds,
                removes=removes,
                app=self.app,
                epoch=self.epoch,
                metadata={**metadata, "told": note} if note else metadata,
                schema=schema if reshapes else None,
            )
        except AlreadyRecorded:
            done = self.find_handle(table) or handle
        except Conflict:
            self.newest(table, schema)
            raise
        return done


def foreign_rows_error(message: str, hint: str) -> DataError:
    """Return the error for rows of another program that cannot be taken in: E0427."""
    return DataError("E0427", message, hint=hint)


def _with_version(record: ObjectRecord, handle: Handle) -> ObjectRecord:
    return replace(record, versions={**record.versions, handle.table: handle.version})


def _size_of(files: Sequence[DataFile]) -> int:
    return sum(file.size for file in files)


def _union(left: DataFrame, right: DataFrame) -> DataFrame:
    return left.unionAll(right)


def _route_of(path: str) -> int:
    marker = f"{ROUTE}="
    start = path.index(marker) + len(marker)
    return int(path[start:].split("/", 1)[0])


def own_commit(metadata: Mapping[str, Any]) -> bool:
    """Tell whether a commit is one of an epoch, or maintenance that moves rows between files."""
    return "attempt" in metadata or metadata.get("maintenance") in (FOLD, UNDO, RESHAPE, PUBLISH)


def _maintenance(info: Mapping[str, Any]) -> Any:
    return info["metadata"].get("maintenance")


def _same_files(one: Handle, other: Handle) -> bool:
    return {f.path for f in one.files} == {f.path for f in other.files}


def rows_of(files: Sequence[DataFile]) -> int:
    """Return the number of rows in files."""
    return sum(file.rows for file in files)
