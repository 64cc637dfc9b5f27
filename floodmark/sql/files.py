"""Text of SQL files."""

from __future__ import annotations

from pathlib import Path

from floodmark.errors import Span, SqlSyntaxError


def read_sql(path: Path) -> str:
    """Return the text of a SQL file; E0131 where it is not UTF-8, OSError where it cannot be read.

    A mark of the byte order, which some editors write, is no part of it.
    """
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        known = data.decode("utf-8", errors="replace")
        start = len(data[: error.start].decode("utf-8", errors="replace"))
        raise SqlSyntaxError(
            "E0131",
            f"the file is not UTF-8: byte {data[error.start]:#04x}",
            span=Span.at(known, start, start + 1, str(path)),
            hint="save it as UTF-8",
        ) from None
