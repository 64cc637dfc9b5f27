"""Files of statements' rows, as logs have them: relative to the warehouse, so that it can move.

Records of format 0 have absolute paths. Those below an engine's folder are read below this one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

from floodmark.storage.local_files import flush
from floodmark.storage.warehouse import ENGINE


class _Entry(TypedDict):
    """What every entry has."""

    table: str
    paths: Sequence[str]
    rows: int


Rows = Annotated[Mapping[str, Any], _Entry]
Entries = Sequence[Rows]
"""Rows of statements as an epoch has them: `paths` are files."""


def to_log(root: Path, entries: Entries) -> list[dict[str, Any]]:
    """Return entries with the paths below a root relative to it.

    >>> to_log(Path("/w"), [{"paths": ["/w/_floodmark/dml/t-1/a.parquet", "/x/b.parquet"]}])
    [{'paths': ['_floodmark/dml/t-1/a.parquet', '/x/b.parquet']}]
    """
    start = f"{root}/"
    return [{**e, "paths": [p.removeprefix(start) for p in e["paths"]]} for e in entries]


def from_log(root: Path, entries: Entries) -> list[dict[str, Any]]:
    """Return entries with absolute paths: below the root, wherever that was when they were logged.

    >>> from_log(Path("/new"), [{"paths": ["_floodmark/dml/a", "/old/_floodmark/dml/b"]}])
    [{'paths': ['/new/_floodmark/dml/a', '/new/_floodmark/dml/b']}]
    """
    return [{**e, "paths": [_found(root, path) for path in e["paths"]]} for e in entries]


def flush_rows(entries: Entries) -> None:
    """Wait until the rows of statements are on the disk, before a record names them."""
    paths = [Path(path) for entry in entries for path in entry["paths"]]
    for path in (*paths, *sorted({place for p in paths for place in p.parents[:3]})):
        flush(path)


def _found(root: Path, path: str) -> str:
    _, engine, inner = path.rpartition(f"/{ENGINE}/")
    return f"{root}/{ENGINE}/{inner}" if engine else str(root / path)
