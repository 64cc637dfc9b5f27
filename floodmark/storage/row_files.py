"""Files of statements' rows, as logs have them: relative to the warehouse, so that it can move.

Records of format 0 have absolute paths. Those below an engine's folder are read below this one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypedDict

from floodmark.storage.objects import Objects
from floodmark.storage.warehouse import ENGINE


class _Entry(TypedDict):
    """What every entry has."""

    table: str
    paths: Sequence[str]
    rows: int


Rows = Annotated[Mapping[str, Any], _Entry]
Entries = Sequence[Rows]
"""Rows of statements as an epoch has them: `paths` are files."""


def to_log(place: str, entries: Entries) -> list[dict[str, Any]]:
    """Return entries with the paths below a place relative to it.

    >>> to_log("/w", [{"paths": ["/w/_floodmark/dml/t-1/a.parquet", "/x/b.parquet"]}])
    [{'paths': ['_floodmark/dml/t-1/a.parquet', '/x/b.parquet']}]
    """
    start = f"{place}/"
    return [{**e, "paths": [p.removeprefix(start) for p in e["paths"]]} for e in entries]


def from_log(place: str, entries: Entries) -> list[dict[str, Any]]:
    """Return entries with absolute paths: below the place, wherever that was when they were logged.

    >>> from_log("/new", [{"paths": ["_floodmark/dml/a", "/old/_floodmark/dml/b"]}])
    [{'paths': ['/new/_floodmark/dml/a', '/new/_floodmark/dml/b']}]
    """
    return [{**e, "paths": [_found(place, path) for path in e["paths"]]} for e in entries]


def flush_rows(objects: Objects, entries: Entries) -> None:
    """Wait until the rows of statements are on the disk, before a record names them."""
    start = f"{objects.place}/{ENGINE}/"
    paths = [path.removeprefix(start) for entry in entries for path in entry["paths"]]
    objects.below(ENGINE).flush(paths)


def _found(place: str, path: str) -> str:
    _, engine, inner = path.rpartition(f"/{ENGINE}/")
    if engine:
        return f"{place}/{ENGINE}/{inner}"
    return path if path.startswith("/") else f"{place}/{path}"
