"""Files of statements' rows, as logs have them: relative to the warehouse, so that it can move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypedDict

from floodmark.storage.objects.contract import Objects
from floodmark.storage.warehouse import ENGINE


class _EveryEntry(TypedDict):
    table: str
    paths: Sequence[str]
    rows: int


class RowsEntry(_EveryEntry, total=False):
    """Rows of a statement from the number `start` on; those of other programs undo a version."""

    start: int
    undoes: int


EntryRows = Annotated[Mapping[str, Any], RowsEntry]
Entries = Sequence[EntryRows]
"""Rows of statements as an epoch has them: `paths` are files."""


def to_log(place: str, entries: Entries) -> list[dict[str, Any]]:
    """Return entries with the paths below a place relative to it.

    >>> to_log("/w", [{"paths": ["/w/_floodmark/dml/t-1/a.parquet", "/x/b.parquet"]}])
    [{'paths': ['_floodmark/dml/t-1/a.parquet', '/x/b.parquet']}]
    """
    start = f"{place}/"
    return [{**e, "paths": [p.removeprefix(start) for p in e["paths"]]} for e in entries]


def from_log(place: str, entries: Entries) -> list[dict[str, Any]]:
    """Return entries with absolute paths: relative ones are below the place.

    >>> from_log("/w", [{"paths": ["_floodmark/dml/t-1/a.parquet", "/x/b.parquet"]}])
    [{'paths': ['/w/_floodmark/dml/t-1/a.parquet', '/x/b.parquet']}]
    """
    return [{**e, "paths": [_absolute(place, path) for path in e["paths"]]} for e in entries]


def flush_rows(objects: Objects, entries: Entries) -> None:
    """Wait until the rows of statements are on the disk, before a record names them."""
    start = f"{objects.place}/{ENGINE}/"
    paths = [path.removeprefix(start) for entry in entries for path in entry["paths"]]
    objects.sub_objects(ENGINE).flush(paths)


def _absolute(place: str, path: str) -> str:
    return path if path.startswith("/") else f"{place}/{path}"
