"""A sink's folder of files: `<sink>-<epoch>-<part>.<format>`, each put in place whole.

The parts of an epoch are put in place from the last to the first: once part 00000 is there, all of
the epoch is. A second try writes the same names with the same rows.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from floodmark.analysis.outside import Outside
from floodmark.connectors.copied import CopyFile
from floodmark.connectors.copied_out import lines
from floodmark.errors import DataError
from floodmark.runtime import failpoints
from floodmark.runtime.outward.identity import Identity, check_writable, reaching
from floodmark.runtime.outward.outgoing import Outgoing
from floodmark.storage.local_files import flush, replace_file

if TYPE_CHECKING:
    import pyarrow as pa

MARK = "_sink.json"
"""Says whose folder it is, and from which epoch on files have the rows of the present query."""


@dataclass(frozen=True)
class FilesSender:
    """Writes the files of one sink."""

    outside: Outside
    identity: Identity

    @property
    def folder(self) -> Path:
        """Return the folder."""
        return self.outside.path

    def check(self) -> None:
        """Raise E0741 for a folder that cannot be written to, E0742 for that of another sink."""
        with reaching(self.identity.name, self.folder):
            check_writable(self.identity.name, self.folder)
            self._check_owner()

    def _check_owner(self) -> None:
        try:
            found = json.loads((self.folder / MARK).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return
        mine = {"sink": self.identity.name, "warehouse": self.identity.warehouse}
        if any(found.get(name) != value for name, value in mine.items()):
            raise DataError(
                "E0742",
                f"the folder {self.folder} is that of the sink {found.get('sink')} of another "
                "warehouse or name",
                hint=f"choose another path; or remove its files and {MARK}",
            )

    def send(
        self, epoch: int, outgoing: Outgoing, *, begins: bool, record: str | None = None
    ) -> int:
        """Write the files of an epoch; one without rows has none."""
        with reaching(self.identity.name, self.folder):
            if begins:
                self._begin(epoch)
            try:
                rows, parts = self._written(epoch, outgoing)
            except Exception:
                self._clear(epoch)
                raise
            failpoints.reach("outside_written")
            for part, temporary in reversed(parts):
                temporary.replace(part)
                failpoints.reach("outside_part_in_place")
            if parts:
                flush(self.folder)
            failpoints.reach("outside_in_place")
        return rows

    def _begin(self, epoch: int) -> None:
        """Claim the folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._check_owner()
        mark = {
            "sink": self.identity.name,
            "warehouse": self.identity.warehouse,
            "begins": epoch,
            "type": str(self.outside.type),
            "format": self.outside.encode,
        }
        replace_file(self.folder / MARK, json.dumps(mark) + "\n", durable=True)

    def _written(self, epoch: int, outgoing: Outgoing) -> tuple[int, list[tuple[Path, Path]]]:
        """Write the parts of an epoch under temporary names; return their names, too."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._clear(epoch)
        total, parts = 0, list[tuple[Path, Path]]()
        for number, rows in enumerate(_parts(outgoing.rows(self.outside), self._most)):
            name = f"{self.identity.file_name}-{epoch:010}-{number:05}.{self.outside.encode}"
            temporary = self.folder / f".{name}.{secrets.token_hex(4)}.tmp"
            total += self._write(temporary, rows)
            parts.append((self.folder / name, temporary))
        return total, parts

    def _clear(self, epoch: int) -> None:
        """Remove what a try of an epoch has left."""
        for left in self.folder.glob(f".{self.identity.file_name}-{epoch:010}-*.tmp"):
            left.unlink(missing_ok=True)

    @property
    def _most(self) -> int:
        return self.outside.rows_per_file

    def _write(self, path: Path, rows: Iterator[pa.Table]) -> int:
        from pyarrow import parquet as pq

        total = 0
        file = CopyFile(path, self.outside.encode, self.outside.header, self.outside.delimiter)
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
                    writer.writelines(lines(headed, self.outside.written, part))
                total += part.num_rows
        flush(path)
        return total


def _headless(file: CopyFile) -> CopyFile:
    return CopyFile(file.path, file.format, False, file.delimiter)


def _parts(rows: Iterator[pa.Table], most: int) -> Iterator[Iterator[pa.Table]]:
    """Yield rows in parts of so many; each has to be read before the next one."""
    held: list[pa.Table] = []

    def part() -> Iterator[pa.Table]:
        left = most
        while left and (found := held.pop() if held else next(rows, None)) is not None:
            if found.num_rows > left:
                held.append(found.slice(left))
                found = found.slice(0, left)
            left -= found.num_rows
            yield found

    while held or (first := next(rows, None)) is not None:
        if not held:
            held.append(first)
        yield part()
