"""Owned columns: what the operation of a sink that owns columns makes of a key's row."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from floodmark.changelog import RowKind
from floodmark.reference.rows import Row

RowOwners = frozenset[str] | None
"""The owners that hold a row; None where it is held as a whole."""


def apply_owner(
    kind: RowKind,
    row: Row,
    owner: str,
    stored: tuple[Row | None, RowOwners],
    owners: Mapping[str, Collection[str]],
    *,
    keeps: bool,
) -> tuple[Row | None, RowOwners]:
    """Return what stands after an owner's operation, before generated columns, and who holds it.

    `owners` has the columns of each; an owner `keeps` what is there where it brings NULL.
    """
    old, held = stored
    mine = owners[owner]
    if kind is RowKind.DELETE:
        left = None if held is None else held - {owner}
        if old is None or left == frozenset():
            return None, None
        return {**old, **dict.fromkeys(mine)}, left
    if old is None:
        others = {c for name, columns in owners.items() if name != owner for c in columns}
        return {**row, **dict.fromkeys(others)}, frozenset((owner,))
    given = {c: row[c] for c in mine if not (keeps and row[c] is None)}
    return {**old, **given}, None if held is None else held | {owner}
