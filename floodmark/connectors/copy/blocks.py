"""A text file that COPY reads, some records at a time: what is held of it has a bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from floodmark.connectors.copy.file import CopyFile

_MARK = b"\xef\xbb\xbf"
"""What some programs write before the first line of UTF-8."""


@dataclass(frozen=True)
class Block:
    """Whole records of a file, and the line in which the first of them begins, from 1 on."""

    line: int
    data: bytes

    def text(self, file: CopyFile) -> str:
        """Return the records as text; E0425 for a line that is no UTF-8."""
        try:
            return self.data.decode()
        except UnicodeDecodeError as error:
            line = self.line + self.data.count(b"\n", 0, error.start)
            file.wrong(line, "this is no UTF-8", "convert the file")


def blocks(file: CopyFile, *, quoted: bool) -> Iterator[Block]:
    """Yield a file in blocks of about as many bytes; in `quoted` texts a record has several lines.

    Raises `OSError`, and E0425 for a record that has no end.
    """
    line, rest = 1, b""
    with file.path.open("rb") as lines:
        while read := lines.read(file.limits.copy_block_bytes):
            if line == 1 and not rest:
                read = read.removeprefix(_MARK)
            data = rest + read
            end = _end_of_records(data, quoted=quoted)
            if end:
                yield Block(line, data[:end])
                line += data.count(b"\n", 0, end)
            rest = data[end:]
            if len(rest) > file.limits.copy_record_bytes:
                size_ = f"{file.limits.copy_record_bytes >> 20} MiB"
                file.wrong(
                    line, f"a record of more than {size_}", "a quote may lack its other half"
                )
    if rest:
        yield Block(line, rest)


def _end_of_records(data: bytes, *, quoted: bool) -> int:
    """Return where the last whole record ends, 0 where there is none: no quote is open there."""
    end = data.rfind(b"\n") + 1
    is_open = quoted and data.count(b'"', 0, end) % 2 == 1
    while is_open and end:
        before = data.rfind(b"\n", 0, end - 1) + 1
        is_open = (data.count(b'"', before, end) % 2 == 1) != is_open
        end = before
    return end
