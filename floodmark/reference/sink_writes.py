"""What a sink writes to the outside of the changes of its query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from floodmark.changelog import RowKind
from floodmark.reference.changes import Change
from floodmark.reference.rows import freeze
from floodmark.stream.objects.external_sink import SinkType

_ADDED = (RowKind.INSERT, RowKind.UPDATE_AFTER)


@dataclass(frozen=True, slots=True)
class SinkWrites:
    """How a sink writes: its type, and the key of type upsert."""

    type: SinkType
    key: tuple[str, ...] = ()


def sink_changes(changes: Sequence[Change], how: SinkWrites) -> list[Change]:
    """Return the changes that a sink writes for an epoch's changes, given in stream key order.

    Append-only: rows. Upsert: the last row of each key, `+U`, or `-D` where there is none.
    """
    if how.type is SinkType.RETRACT:
        return list(changes)
    if how.type is SinkType.APPEND_ONLY:
        return [(RowKind.INSERT, row) for kind, row in changes if kind in _ADDED]
    out: dict[object, Change] = {}
    for kind, row in changes:
        key = freeze({c: row[c] for c in how.key})
        if kind in _ADDED:
            out[key] = (RowKind.UPDATE_AFTER, row)
        else:
            out.setdefault(key, (RowKind.DELETE, row))
    return list(out.values())
