"""Publishing: the table that other programs read follows the rows of an object.

It is a Delta log of its own over the same files, with the columns that its users know. The engine
reads no rows from it, except those that another program has written into a TABLE. A commit records
which version of the rows it shows, so that what others have committed since is told from it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from floodmark.catalog.objects import ObjectKind
from floodmark.scalar.types import Schema
from floodmark.storage.table import SHOWN, DataFile, Handle, Store, refuse_schema
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables import layout
from floodmark.tables.tables import PUBLISH, foreign_rows_error, own_commit

KEY = "floodmark.key"
"""The property of a published table that has the names of its key's columns."""


@dataclass(frozen=True)
class ForeignCommits:
    """What other programs have done to a published table since its `own` version.

    `rows` are those that it showed then, with all columns, and `shown` is the table as it is now.
    """

    rows: Handle
    shown: Handle
    own: int
    changes_data: bool


def publication_schema(obj: AnalysedObject) -> Schema:
    """Return the columns of a published table.

    Rows that are seen during a period alone cannot be told from others without its bounds.
    """
    return (*obj.relation.visible, *obj.period)


def publication_properties(obj: AnalysedObject) -> Mapping[str, str]:
    """Return what a published table says beside its columns: those of its key, as a JSON list."""
    known = obj.relation.primary_key or obj.relation.stream_key
    visible = {field.name for field in obj.relation.visible}
    return {KEY: json.dumps(known)} if known and visible.issuperset(known) else {}


def takes_in(obj: AnalysedObject) -> bool:
    """Tell whether other programs may write into the published table of an object."""
    return obj.kind is ObjectKind.TABLE and not obj.relation.external


def foreign_commits(store: Store, obj: AnalysedObject) -> ForeignCommits | None:
    """Return what other programs have committed to a published table; None where they have not.

    Of a table that is as it was left, this looks for one file name and reads nothing.
    """
    shown = _open(store, obj)
    return None if shown is None else _find_foreign(store, obj, shown)


def _open(store: Store, obj: AnalysedObject) -> Handle | None:
    table = layout.publication_table(obj)
    return store.open(table) if store.exists(table) else None


def _find_foreign(store: Store, obj: AnalysedObject, shown: Handle) -> ForeignCommits | None:
    """Return what others have committed up to a version of the published table."""
    rows = store.open(layout.current_table(obj), shown.transaction(SHOWN))
    if _paths(shown.files) == _paths(rows.files):
        return None
    foreign = list(takewhile(_is_foreign, _commit_chain(store, shown)))
    if not foreign:
        return None
    changes = any(info["data_change"] for info in foreign)
    return ForeignCommits(rows, shown, shown.version - len(foreign), changes)


def publish(
    store: Store, obj: AnalysedObject, rows: Handle, epoch: int, taken: int | None = None
) -> bool:
    """Let the published table of an object show a version of its rows; do nothing where it does.

    What others have written into a TABLE stays until an epoch has taken it in: `taken` is the
    version of the published table that this one has. Raises E0427 where they have written again
    since. Returns False where data that another program has written had to go.
    """
    # One version is looked at and committed on: who writes in between makes the commit fail.
    shown = _open(store, obj)
    foreign = None if shown is None else _find_foreign(store, obj, shown)
    if foreign is not None and foreign.changes_data and takes_in(obj):
        if taken is None or foreign.own >= taken:
            return True
        if foreign.shown.version != taken:
            raise foreign_rows_error(
                f"somebody wrote into {foreign.shown.table} again while its version {taken} "
                "was taken in",
                f"restore the table to version {foreign.own} and resume it; then write again",
            )
    _commit(store, obj, rows, epoch, shown, foreign)
    return foreign is None or not foreign.changes_data or takes_in(obj)


def _commit(
    store: Store,
    obj: AnalysedObject,
    rows: Handle,
    epoch: int,
    earlier: Handle | None,
    foreign: ForeignCommits | None,
) -> None:
    table, schema = layout.publication_table(obj), publication_schema(obj)
    properties = publication_properties(obj)
    shown = earlier or store.create(table, schema, properties=properties)
    last = shown.transaction(SHOWN)
    if last is None and shown.files and not _has_own_commits(store, table):
        refuse_schema(table)
    adds = [f for f in rows.files if f.path not in _paths(shown.files)]
    removes = [f for f in shown.files if f.path not in _paths(rows.files)]
    altered = earlier is not None and shown.schema != schema
    if last == rows.version and not (adds or removes or altered):
        return
    moved = last is None or last < rows.version
    history: Iterable[Mapping[str, Any]] = (
        store.history(rows.table, last) if moved and last is not None else ()
    )
    changed = last is None or (foreign is not None and foreign.changes_data)
    store.mirror(table, rows, adds)
    store.commit(
        shown,
        adds=[_of_columns(file, schema) for file in adds],
        removes=removes,
        app=SHOWN if moved else None,
        epoch=rows.version if moved else None,
        metadata={"maintenance": PUBLISH, "epoch": epoch},
        data_change=changed or any(info["data_change"] for info in history),
        schema=schema if altered else None,
        properties=properties if altered else None,
    )


def _of_columns(file: DataFile, schema: Schema) -> DataFile:
    """Return a file with the bounds of some columns."""
    low, high, nulls = (
        {f.name: known[f.name] for f in schema if f.name in known}
        for known in (file.low, file.high, file.nulls)
    )
    return replace(file, low=low, high=high, nulls=nulls)


def _commit_chain(store: Store, handle: Handle) -> Iterator[Mapping[str, Any]]:
    """Yield the commits up to a version, the newest first."""
    return (info for info in store.commits(handle.table) if info["version"] <= handle.version)


def _is_foreign(info: Mapping[str, Any]) -> bool:
    return not own_commit(info["metadata"]) and info["version"] > 0


def _has_own_commits(store: Store, table: str) -> bool:
    """Tell whether the engine has written a table, perhaps a former version: it is its own."""
    return any(own_commit(info["metadata"]) for info in store.commits(table))


def _paths(files: Iterable[DataFile]) -> set[str]:
    return {file.path for file in files}
