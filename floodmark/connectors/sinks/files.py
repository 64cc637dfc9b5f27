"""A sink's folder of files: `<sink>-<epoch>-<part>.<format>`, each created atomically.

The parts of an epoch are created from the last to the first: part 00000 shows that the epoch is
complete. A second attempt writes the same names with the same rows. `_sink.json` names the last
epoch and its record before its first part is created, so files of a log that is ahead of this one
are not overwritten.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from floodmark import failpoints
from floodmark.connectors.copy.file import CopyFile
from floodmark.connectors.copy.output import lines
from floodmark.connectors.sinks.identity import SinkIdentity, check_permission, reaching
from floodmark.connectors.sinks.records import Records, refuse_other_log, unknown
from floodmark.connectors.sinks.sink_batch import SinkBatch
from floodmark.errors import DataError
from floodmark.limits import Limits
from floodmark.storage.local_files import flush, make_folder, replace_file
from floodmark.storage.plain_files import read_plain
from floodmark.stream.objects.external_sink import ExternalSink

if TYPE_CHECKING:
    import pyarrow as pa

MARK = "_sink.json"
"""Says whose folder it is, from which epoch on files have the rows of the present query, and the
last epoch with files and its record."""
_EPOCH = re.compile(r"-(\d{10})-\d{5}\.\w+")


@dataclass(frozen=True)
class FilesSender:
    """Writes the files of one sink."""

    sink: ExternalSink
    identity: SinkIdentity
    limits: Limits

    @property
    def folder(self) -> Path:
        """Return the folder."""
        return self.sink.path

    def check(self) -> None:
        """Raise E0741 for a folder that cannot be written to, E0742 for that of another sink."""
        with reaching(self.identity.name, self.folder):
            check_permission(self.identity.name, self.folder)
            self._check_owner()

    def _mark(self) -> dict[str, Any]:
        """Return the content of the folder's mark; nothing where there is none."""
        try:
            mark = json.loads(read_plain(self.folder / MARK))
        except (FileNotFoundError, ValueError):
            return {}
        return mark if isinstance(mark, dict) else {}

    @property
    def _mine(self) -> dict[str, Any]:
        return {"sink": self.identity.name, "warehouse": self.identity.warehouse}

    def _check_owner(self) -> None:
        mark, mine = self._mark(), self._mine
        if mark and any(mark.get(name) != value for name, value in mine.items()):
            raise DataError(
                "E0742",
                f"the folder {self.folder} is that of the sink {mark.get('sink')} of another "
                "warehouse or name",
                hint=f"choose another path; or remove its files and {MARK}",
            )

    def send(
        self, epoch: int, outgoing: SinkBatch, *, initial: bool, records: Records = unknown
    ) -> int:
        """Write the files of an epoch; one without rows has none.

        E0745 where the folder has files of the epoch by another record, or of later epochs.
        """
        with reaching(self.identity.name, self.folder):
            self._check_log(epoch, records)
            if initial:
                self._begin(epoch, records(epoch))
            try:
                rows, parts = self._write_parts(epoch, outgoing)
            except Exception:
                self._clear(epoch)
                raise
            failpoints.reach("outside_written")
            if parts and not initial:
                self._note({**self._mark(), **self._mine}, epoch, records(epoch))
            for part, temporary in reversed(parts):
                temporary.replace(part)
                failpoints.reach("outside_part_in_place")
            if parts:
                flush(self.folder)
            failpoints.reach("outside_in_place")
        return rows

    def _check_log(self, epoch: int, records: Records) -> None:
        """Refuse files of a log that is ahead of this one; those in the way are looked for.

        Folders of former versions have no epoch in their mark: the names of files say the rest.
        """
        mark = self._mark()
        last = mark.get("epoch")
        if last is not None and last <= epoch and mark.get("record") in (None, records(last)):
            return
        first = epoch + 1 if last is None else min(epoch, last)
        number = max(self._epochs(), default=0)
        if number >= first:
            remedy = f"remove its files of the epochs from {first} on, which are written again,"
            refuse_other_log(self.identity.name, self.folder, "folder", number, epoch, remedy)

    def _epochs(self) -> Iterator[int]:
        """Yield the epochs of the files that are in place."""
        if self.folder.is_dir():
            length = len(self.identity.file_name)
            for name in os.listdir(self.folder):
                match = _EPOCH.fullmatch(name[length:])
                if match is not None and name.startswith(self.identity.file_name):
                    yield int(match[1])

    def _begin(self, epoch: int, record: str | None) -> None:
        """Claim the folder."""
        make_folder(self.folder, durable=True)
        self._check_owner()
        said = {"begins": epoch, "type": str(self.sink.type), "format": self.sink.encode}
        self._note({**self._mine, **said}, epoch, record)

    def _note(self, mark: dict[str, Any], epoch: int, record: str | None) -> None:
        """Write the mark, with the epoch that has files from now on."""
        said = {**mark, "epoch": epoch, "record": record}
        replace_file(self.folder / MARK, json.dumps(said) + "\n", durable=True)

    def _write_parts(self, epoch: int, outgoing: SinkBatch) -> tuple[int, list[tuple[Path, Path]]]:
        """Write the parts of an epoch under temporary names; return their names, too."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._clear(epoch)
        total, parts = 0, list[tuple[Path, Path]]()
        for number, rows in enumerate(_parts(outgoing.rows(self.sink), self._most)):
            name = f"{self.identity.file_name}-{epoch:010}-{number:05}.{self.sink.encode}"
            temporary = self.folder / f".{name}.{secrets.token_hex(4)}.tmp"
            total += self._write(temporary, rows)
            parts.append((self.folder / name, temporary))
        return total, parts

    def _clear(self, epoch: int) -> None:
        """Remove what a try of an epoch has left."""
        for left in self.folder.glob(f".{self.identity.file_name}-{epoch:010}-*.tmp"):
            left.unlink(missing_ok=True)
        for left in self.folder.glob(f".{MARK}.*"):
            left.unlink(missing_ok=True)

    @property
    def _most(self) -> int:
        return self.sink.rows_per_file or self.limits.sink_file_rows

    def _write(self, path: Path, rows: Iterator[pa.Table]) -> int:
        from pyarrow import parquet as pq

        total = 0
        sink = self.sink
        file = CopyFile(path, sink.encode, sink.header, sink.delimiter, limits=self.limits)
        with ExitStack() as open_:
            writer: Any = None
            for part in rows:
                if file.format == "parquet":
                    writer = writer or open_.enter_context(pq.ParquetWriter(path, part.schema))
                    writer.write_table(part)
                else:
                    writer = writer or open_.enter_context(
                        path.open("w", encoding="utf-8", newline="")
                    )
                    headed = file if not total else _headless(file)
                    writer.writelines(lines(headed, self.sink.written_columns, part))
                total += part.num_rows
        flush(path)
        return total


def _headless(file: CopyFile) -> CopyFile:
    return replace(file, header=False)


def _parts(rows: Iterator[pa.Table], most: int) -> Iterator[Iterator[pa.Table]]:
    """Yield rows in parts of so many; each has to be read before the next one."""
    held: list[pa.Table] = []

    def part() -> Iterator[pa.Table]:
        left = most
        while left and (batch := held.pop() if held else next(rows, None)) is not None:
            if batch.num_rows > left:
                held.append(batch.slice(left))
                batch = batch.slice(0, left)
            left -= batch.num_rows
            yield batch

    while held or (first := next(rows, None)) is not None:
        if not held:
            held.append(first)
        yield part()
