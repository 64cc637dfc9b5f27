"""The data files of tables: stages that others write to, footers, copies of what was delivered."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

from floodmark.storage.delivered import folder_of, with_bounds
from floodmark.storage.durability import objects_of
from floodmark.storage.local_files import disk_errors
from floodmark.storage.objects import Objects
from floodmark.storage.statistics import read_footer
from floodmark.storage.table import DataFile, Handle
from floodmark.storage.warehouse import local_root, table_folder


class TableFiles:
    """The data files of the tables of a local warehouse."""

    def __init__(self, root: str | Path, durable: bool | None = False) -> None:
        self.root = local_root(root)
        self.objects = objects_of(self.root, durable)

    def folder(self, table: str) -> Path:
        """Return the absolute folder of a table."""
        return table_folder(self.root, table)

    def at(self, table: str) -> Objects:
        """Return the objects of a table."""
        key = self.key(table)
        return self.objects.below(key) if key else self.objects

    def key(self, table: str, *names: str) -> str:
        """Return the key of what lies in the folder of a table."""
        return "/".join((*self.folder(table).relative_to(self.root).parts, *names))

    def stage(self, table: str, epoch: int, attempt: int) -> str:
        """Return the absolute folder for the files of one attempt; not yet created."""
        return self.objects.spark_url(self.key(table, f"{epoch}-{attempt}"))

    def staged(self, table: str, epoch: int, attempt: int) -> tuple[DataFile, ...]:
        """Read the footers below a stage folder, by path; files without rows are left out."""
        start = f"{epoch}-{attempt}/"
        with disk_errors(table):
            keys = [k for k in self.at(table).list(start) if _is_data(k.removeprefix(start))]
            files = [self._footer(table, key) for key in keys]
        return tuple(file for file in files if file.rows > 0)

    def adopt(self, table: str, folder: str, epoch: int, attempt: int) -> tuple[DataFile, ...]:
        """Move the Parquet files of `folder` into the table's stage folder."""
        stage = Path(self.stage(table, epoch, attempt))
        with disk_errors(table):
            stage.mkdir(parents=True, exist_ok=True)
            for source in list(_parquet_files(Path(folder))):
                shutil.move(source, stage / f"adopted-{uuid.uuid4().hex}.parquet")
        return self.staged(table, epoch, attempt)

    def share(
        self, table: str, paths: Sequence[str], epoch: int, attempt: int
    ) -> tuple[DataFile, ...]:
        """Copy files of another table into the table's stage folder."""
        with disk_errors(table):
            for path in paths:
                name = f"shared-{uuid.uuid4().hex}.parquet"
                self._copy(path, self.key(table, f"{epoch}-{attempt}", name))
        return self.staged(table, epoch, attempt)

    def take(
        self, table: str, files: Sequence[tuple[str, int]], epoch: int, attempt: int
    ) -> tuple[DataFile, ...]:
        """Copy delivered files into the table's folder; see `Store.take`."""
        taken = []
        with disk_errors(table):
            for path, first in files:
                key = f"{folder_of(epoch, first)}/{attempt}-{uuid.uuid4().hex}.parquet"
                self.at(table).upload(key, Path(path))
                taken.append(with_bounds(self._footer(table, key)))
        return tuple(file for file in taken if file.rows > 0)

    def paths(self, handle: Handle, files: Sequence[DataFile] | None = None) -> list[str]:
        """Return the absolute paths of all files of the handle or of those given."""
        base = self.at(handle.table).place
        return [f"{base}/{file.path}" for file in (handle.files if files is None else files)]

    def _copy(self, path: str, key: str) -> None:
        """Copy a file within the store, or from outside of it."""
        start = f"{self.objects.place}/"
        if path.startswith(start):
            self.objects.copy(path.removeprefix(start), key)
        else:
            self.objects.upload(key, Path(path))

    def _footer(self, table: str, key: str) -> DataFile:
        return read_footer(Path(self.at(table).spark_url(key)), key)


def _is_data(key: str) -> bool:
    """Tell whether a key is of a data file, as Spark's readers do."""
    return key.endswith(".parquet") and all(part[0] not in "._" for part in key.split("/"))


def _parquet_files(folder: Path) -> Iterator[Path]:
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        for name in sorted(names):
            if name[0] not in "._" and name.endswith(".parquet"):
                yield Path(base, name)
