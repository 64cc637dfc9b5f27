"""The data files of tables: stages that others write to, footers, copies of what was delivered."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path

from floodmark.storage.durability import objects_of
from floodmark.storage.files.imported_files import folder_of, with_bounds
from floodmark.storage.files.statistics import read_footer
from floodmark.storage.local_files import disk_errors
from floodmark.storage.objects.contract import Location, Objects
from floodmark.storage.table import DataFile, Handle
from floodmark.storage.warehouse import check_table


class TableFiles:
    """The data files of the tables of a warehouse."""

    def __init__(self, place: Location, durable: bool | None = False) -> None:
        self.objects = objects_of(place, durable)

    def objects_of(self, table: str) -> Objects:
        """Return the objects of a table."""
        key = self.key(table)
        return self.objects.sub_objects(key) if key else self.objects

    def key(self, table: str, *names: str) -> str:
        """Return the key of what lies in the folder of a table."""
        return "/".join((check_table(table), *names))

    def stage(self, table: str, epoch: int, attempt: int) -> str:
        """Return the absolute folder for the files of one attempt; not yet created."""
        return self.objects.spark_url(self.key(table, f"{epoch}-{attempt}"))

    def list_stage(self, table: str, epoch: int, attempt: int) -> tuple[DataFile, ...]:
        """Read the footers below a stage folder, by path; files without rows are left out."""
        start = f"{epoch}-{attempt}/"
        with disk_errors(table):
            keys = [
                k for k in self.objects_of(table).list(start) if _is_data(k.removeprefix(start))
            ]
            files = [self._footer(table, key) for key in keys]
        return tuple(file for file in files if file.rows > 0)

    def adopt(self, table: str, folder: str, epoch: int, attempt: int) -> tuple[DataFile, ...]:
        """Move the Parquet files of `folder` into the table's stage folder."""
        inside = self._key_of(folder)
        assert inside is not None, "what is adopted lies in the warehouse"
        start = f"{inside}/"
        with disk_errors(table):
            for source in [k for k in self.objects.list(start) if _is_data(k.removeprefix(start))]:
                name = f"adopted-{uuid.uuid4().hex}.parquet"
                self.objects.move(source, self.key(table, f"{epoch}-{attempt}", name))
        return self.list_stage(table, epoch, attempt)

    def share(
        self, table: str, paths: Sequence[str], epoch: int, attempt: int
    ) -> tuple[DataFile, ...]:
        """Copy files of another table into the table's stage folder."""
        with disk_errors(table):
            for path in paths:
                name = f"shared-{uuid.uuid4().hex}.parquet"
                self._copy(path, self.key(table, f"{epoch}-{attempt}", name))
        return self.list_stage(table, epoch, attempt)

    def mirror(self, table: str, handle: Handle, files: Sequence[DataFile]) -> None:
        """Copy files of a handle into the folder of another table; see `Store.mirror`."""
        with disk_errors(table):
            for file in files:
                self.objects.copy(self.key(handle.table, file.path), self.key(table, file.path))

    def take(
        self, table: str, files: Sequence[tuple[str, int]], epoch: int, attempt: int
    ) -> tuple[DataFile, ...]:
        """Copy delivered files into the table's folder; see `Store.take`."""
        taken = []
        with disk_errors(table):
            for path, first in files:
                key = f"{folder_of(epoch, first)}/{attempt}-{uuid.uuid4().hex}.parquet"
                self.objects_of(table).upload(key, Path(path))
                taken.append(with_bounds(self._footer(table, key)))
        return tuple(file for file in taken if file.rows > 0)

    def paths(self, handle: Handle, files: Sequence[DataFile] | None = None) -> list[str]:
        """Return the absolute paths of all files of the handle or of those given."""
        base = self.objects_of(handle.table).place
        return [f"{base}/{file.path}" for file in (handle.files if files is None else files)]

    def _key_of(self, path: str) -> str | None:
        """Return the key of what Spark knows by a path; None where it is outside of the store."""
        start = f"{self.objects.place}/"
        return path.removeprefix(start) if path.startswith(start) else None

    def _copy(self, path: str, key: str) -> None:
        """Copy a file within the store, or from outside of it."""
        source = self._key_of(path)
        if source is None:
            self.objects.upload(key, Path(path))
        else:
            self.objects.copy(source, key)

    def _footer(self, table: str, key: str) -> DataFile:
        return read_footer(self.objects_of(table).spark_url(key), key)


def _is_data(key: str) -> bool:
    """Tell whether a key is of a data file, as Spark's readers do."""
    return key.endswith(".parquet") and all(part[0] not in "._" for part in key.split("/"))
