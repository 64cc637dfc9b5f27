"""Undoing foreign commits of a table, after their changes were logged as DML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from floodmark.tables.tables import UNDO, Writer, foreign_rows_error


def undo(writer: Writer, table: str, item: Mapping[str, Any]) -> None:
    """Undo the foreign commits up to the version that an entry of the epoch log names.

    Does nothing if an earlier attempt has done it. Raises E0427 if there are newer foreign commits.
    """
    store, pinned = writer.tables.store, writer.pinned.get(table)
    newest = store.open(table)
    if pinned is None or newest.version <= pinned:
        return
    before = store.open(table, pinned)
    known, present = {f.path for f in before.files}, {f.path for f in newest.files}
    commits = store.history(table, pinned)
    if known == present or any(i["metadata"].get("maintenance") == UNDO for i in commits):
        return
    if newest.version != item["undoes"]:
        raise foreign_rows_error(
            f"somebody wrote into {table} again while version {item['undoes']} was taken in",
            f"restore the table to version {pinned} and resume it; then write again",
        )
    store.commit(
        newest,
        adds=[f for f in before.files if f.path not in present],
        removes=[f for f in newest.files if f.path not in known],
        metadata={**writer.metadata, "maintenance": UNDO, "epoch": writer.epoch},
    )
