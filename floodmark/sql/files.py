"""Text of SQL files."""

from __future__ import annotations

import stat
from pathlib import Path

from floodmark.errors import Span, SqlSyntaxError


def sql_files(folder: Path) -> list[Path]:
    """Return the `*.sql` of a folder and of the folders below it, by path.

    What is hidden, as copies that editors keep are, is left out.
    """
    found = (path.relative_to(folder) for path in folder.rglob("*.sql"))
    shown = (path for path in found if not any(part.startswith(".") for part in path.parts))
    return [folder / path for path in sorted(shown)]


def read_sql(path: Path) -> str:
    """Return the text of a SQL file; E0131 where it is not UTF-8, E0150 where it cannot be read.

    A mark of the byte order, which some editors write, is no part of it. Nobody waits for a pipe.
    """
    try:
        mode = path.stat().st_mode
        data = path.read_bytes() if stat.S_ISREG(mode) else None
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    if data is None:
        raise _unreadable(path, "it is no file")
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


def _unreadable(path: Path, why: str) -> SqlSyntaxError:
    return SqlSyntaxError(
        "E0150",
        f"the SQL file {path} cannot be read: {why}",
        span=Span.at("", 0, 0, str(path)),
        hint="make it a readable file, or give it a name that does not end in .sql",
    )
