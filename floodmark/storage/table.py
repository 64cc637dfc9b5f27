"""The storage contract: tables as versions of file lists, one application transaction a commit.

It knows files and their statistics, never DataFrames. Two implementations pass one contract suite:
`delta/store.py` (Delta tables on a local disk) and `stores/memory.py` (the log in memory, the
Parquet on disk).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NoReturn, Protocol

from floodmark.errors import DataError, TransientError
from floodmark.scalar.types import Schema

SHOWN = "floodmark/rows"
"""The application whose transaction in a published table is the version of the rows it shows."""
Scalar = Any
"""A file statistic: bool, int, float, Decimal, str, date or naive/UTC datetime."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file of a table.

    `path` is relative to the table's root. `low` and `high` bound every non-NULL value of a column
    (a column without an entry is unbounded); `nulls` counts NULLs.
    """

    path: str
    size: int
    rows: int
    low: Mapping[str, Scalar] = field(default_factory=dict, hash=False)
    high: Mapping[str, Scalar] = field(default_factory=dict, hash=False)
    nulls: Mapping[str, int] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Handle:
    """A table at one version: what a reader needs and what a commit starts from.

    `transactions` maps application ids to the last epoch that they recorded. `token` belongs to
    the implementation.
    """

    table: str
    version: int
    schema: Schema
    files: tuple[DataFile, ...]
    transactions: Mapping[str, int] = field(hash=False)
    token: Any = field(default=None, compare=False, repr=False)

    def transaction(self, app: str) -> int | None:
        """Return the last epoch that `app` recorded, or None."""
        return self.transactions.get(app)


class Conflict(TransientError):
    """Somebody else committed between open and commit (code E0501)."""


class AlreadyRecorded(TransientError):
    """The application transaction of this epoch is in the table already (code E0502)."""


class OtherHistory(DataError):
    """A table has epochs that the log does not have, or has otherwise (code E0433)."""


class Store(Protocol):
    """The tables of one warehouse; names are paths such as `_changes/public/orders`.

    `floodmark.storage.warehouse` makes them.
    """

    def exists(self, table: str) -> bool:
        """Tell whether the table has been created."""

    def create(
        self, table: str, schema: Schema, *, properties: Mapping[str, str] | None = None
    ) -> Handle:
        """Create an empty table; one that exists with the same schema is opened instead."""

    def open(self, table: str, version: int | None = None) -> Handle:
        """Open the newest or a pinned version; a missing one is a `DataError` E0402."""

    def stage(self, table: str, epoch: int, attempt: int) -> str:
        """Return the absolute folder (or URL) for the files of one attempt; not yet created."""

    def list_stage(self, table: str, epoch: int, attempt: int) -> tuple[DataFile, ...]:
        """Read the footers of the Parquet files below a stage folder; empty files are left out."""

    def adopt(self, table: str, folder: str, epoch: int, attempt: int) -> tuple[DataFile, ...]:
        """Move the Parquet files of `folder` (absolute) into the table's stage folder."""

    def share(
        self, table: str, paths: Sequence[str], epoch: int, attempt: int
    ) -> tuple[DataFile, ...]:
        """Put files of another table (absolute paths) into the table's stage folder, as they are.

        Each table can delete its own without harm to the other.
        """

    def mirror(self, table: str, handle: Handle, files: Sequence[DataFile]) -> None:
        """Put files of another table into the table's folder, as they are, under the same paths.

        Each table can delete its own without harm to the other.
        """

    def take(
        self, table: str, files: Sequence[tuple[str, int]], epoch: int, attempt: int
    ) -> tuple[DataFile, ...]:
        """Copy delivered files into the table's folder, as they are.

        Each is an absolute path and the row id of its first row; row ids and epoch are those of
        `floodmark.storage.files.imported_files`.
        """

    def commit(
        self,
        handle: Handle,
        *,
        adds: Sequence[DataFile] = (),
        removes: Sequence[DataFile] = (),
        app: str | None = None,
        epoch: int | None = None,
        metadata: Mapping[str, Any] | None = None,
        data_change: bool = True,
        schema: Schema | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> Handle:
        """Commit once, on exactly the handle's version.

        With `schema`, the table has those columns from then on, and `properties` beside its own.

        Raises `AlreadyRecorded` when `app` has recorded `epoch` or a later one, `Conflict` when the
        table has moved on. Never rebases.
        """

    def paths(self, handle: Handle, files: Sequence[DataFile] | None = None) -> list[str]:
        """Return absolute paths that Spark can read, for all files of the handle or those given."""

    def history(self, table: str, after: int) -> list[Mapping[str, Any]]:
        """Return the commit infos of the versions after `after`, oldest first.

        Each has `version`, `operation`, `metadata` (what `commit` was given), `data_change`,
        `engine`, and `transactions`: the epochs that it records, by application.
        """

    def commits(self, table: str) -> Iterator[Mapping[str, Any]]:
        """Yield the commit infos from the newest on back, as far as the log goes."""

    def last_commit(self, table: str) -> int:
        """Return when the newest commit was written, in Unix nanoseconds; 0 where nothing says it.

        Nothing does of a table that is not there.
        """

    def tables(self) -> Iterator[str]:
        """Yield the names of all tables that there are."""

    def version_at(self, table: str, app: str, epoch: int) -> int | None:
        """Return the newest version whose recorded transaction of `app` is at most `epoch`."""

    def settle(self, table: str, version: int) -> int:
        """Return the newest version with the rows and transactions of the given one.

        Raises `DataError` E0434 where the table ends before that one.

        Merging files and ending what has expired make such versions, because neither tells anybody
        of a change; a commit of an epoch does not, even an empty one. A table that is not there is
        a `DataError` E0402.
        """

    def checkpoint(self, table: str) -> None:
        """Write a log checkpoint; contents do not change."""

    def vacuum(self, table: str, *, retain_versions_from: int, written_before: datetime) -> int:
        """Delete orphans and files no version from the given one on needs; return how many.

        Those written later than `written_before` (aware) stay: they may be about to be committed.
        """

    def drop(self, table: str) -> None:
        """Remove the table, its folder included."""


def check_change(
    handle: Handle,
    adds: Sequence[DataFile],
    removes: Sequence[DataFile],
    app: str | None,
    epoch: int | None,
) -> None:
    """Check a commit against its handle before anything is written.

    Raises `AlreadyRecorded` when the handle holds the transaction.
    """
    assert (app is None) == (epoch is None), "an application transaction has an app and an epoch"
    present = {file.path for file in handle.files}
    gone = [file.path for file in removes]
    assert present.issuperset(gone) and len(set(gone)) == len(gone), "removes a file it lacks"
    new = [file.path for file in adds]
    assert present.isdisjoint(new) and len(set(new)) == len(new), "adds a file twice"
    refuse_recorded(handle, app, epoch)


def refuse_recorded(handle: Handle, app: str | None, epoch: int | None) -> None:
    """Raise `AlreadyRecorded` when the table has the transaction or a later one of the app."""
    recorded = None if app is None else handle.transaction(app)
    if recorded is not None and epoch is not None and recorded >= epoch:
        raise AlreadyRecorded(
            "E0502",
            f"{handle.table} has recorded epoch {recorded}; epoch {epoch} is not written again",
            hint="open the table and use the recorded result",
        )


def record_of(store: Store, table: str, app: str, epoch: int) -> str | None:
    """Return the id of the record by which a table has an epoch; None where it is not known.

    It is not where a former version committed it, or where the commit is cleaned up.
    """
    for info in store.commits(table):
        done = info["transactions"].get(app)
        if done is not None and done <= epoch:
            return info["metadata"].get("record") if done == epoch else None
    return None


def refuse_other_record(table: str, epoch: int, stored: str | None, record: str | None) -> None:
    """Raise `OtherHistory` E0433 where a table has an epoch by another record than the log's."""
    if stored is not None and stored != record:
        raise OtherHistory(
            "E0433",
            f"{table} has an epoch {epoch} that is not the epoch {epoch} of the log: "
            "the log and the tables are of different times",
            hint="restore the whole warehouse from one backup, or put the newer _floodmark back; "
            "nothing was written into the table",
        )


def raise_conflict(handle: Handle, newest: int) -> NoReturn:
    """Raise the error for a commit on a version that is not the newest."""
    raise Conflict(
        "E0501",
        f"{handle.table} has moved from version {handle.version} to {newest} in the meantime",
        hint="run again: the epoch continues from the newest version",
    )


def raise_missing_version(table: str, version: int | None) -> NoReturn:
    """Raise the error for a table, or a version of it, that is not there."""
    what = "does not exist" if version is None else f"has no version {version} (any more)"
    raise DataError(
        "E0402",
        f"the table {table} {what}",
        hint="restore its folder from a backup, then RESUME the suspended objects; or drop the "
        "object of the table and create it again"
        if version is None
        else "choose an epoch within the retention",
    )


def raise_older(table: str, newest: int, version: int) -> NoReturn:
    """Raise the error for a table that has lost commits, or is an older copy of itself."""
    raise DataError(
        "E0434",
        f"{table} is at version {newest}, and the log knows its version {version}: "
        "the table is older than the log",
        hint="restore the table, or the whole warehouse, from a backup and resume the object; or "
        "create the object again",
    )


def refuse_schema(table: str) -> NoReturn:
    """Raise the error for creating a table that exists with other columns."""
    raise DataError(
        "E0404",
        f"the table {table} exists with other columns",
        hint="drop the object, or remove the folder if it is a left-over",
    )
