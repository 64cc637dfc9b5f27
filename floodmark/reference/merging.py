"""The rows of a source or table after an epoch: stored ones, those that came, those that end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from floodmark.changelog import RowKind
from floodmark.errors import IntakeCode
from floodmark.reference.changes import Change
from floodmark.reference.expiry import RowExpiry
from floodmark.reference.ownership import RowOwners
from floodmark.reference.pipeline import Aside, ObjectState, ReferenceObject
from floodmark.reference.rows import Row, key_of
from floodmark.reference.tables import KeyValues, merge


@dataclass(frozen=True, slots=True)
class StoredRows:
    """What is there after an epoch, when it was written, who holds it, how many rows are not."""

    rows: list[Row]
    ignored: int = 0
    expired: int = 0
    timed: int = 0
    wrote: Mapping[KeyValues, datetime] = field(default_factory=dict)
    holds: Mapping[KeyValues, RowOwners] = field(default_factory=dict)


def next_rows(
    obj: ReferenceObject,
    before: ObjectState,
    accepted: Sequence[Change],
    dead: list[Aside],
    ends: RowExpiry,
) -> StoredRows:
    """Return the rows after the epoch; `dead` takes those that are refused.

    Expired rows count as absent when new rows come, and a new row can be expired.
    """
    old, key = input_rows(obj, before), obj.input_key
    gone = [row for row in old if ends.is_absent(row)]
    present = [row for row in old if not ends.is_absent(row)]
    holds = dict(before.holds)
    rows, ignored, written = _merge(obj, present, accepted, dead, ends.now, holds)
    fresh = ends.record_writes(written)
    over = {key_of(row, key) for row in rows if key_of(row, key) in written and fresh.is_over(row)}
    kept = [row for row in rows if key_of(row, key) not in over]
    # What has ended unheard is there for what follows.
    unheard = gone if ends.drops_silently else []
    came = {key_of(row, key) for _, row in accepted}
    timed = [row for row in gone if not unheard and key_of(row, key) not in came]
    there = {key_of(row, key) for row in (*unheard, *kept)}
    wrote = {k: time for k, time in fresh.wrote.items() if k in there}
    return StoredRows([*unheard, *kept], ignored, len(over), len(timed), wrote, holds)


def input_rows(obj: ReferenceObject, state: ObjectState) -> tuple[Row, ...]:
    """Return the rows before the epoch as they came."""
    return state.rows if obj.transform is None else state.taken


def _merge(
    obj: ReferenceObject,
    present: Sequence[Row],
    accepted: Sequence[Change],
    dead: list[Aside],
    now: datetime,
    holds: dict[KeyValues, RowOwners],
) -> tuple[list[Row], int, set[KeyValues]]:
    """Return the rows after what came, how many of these were ignored, and the keys written."""
    rules, key = obj.merge, obj.input_key
    if rules is None:
        assert all(kind is RowKind.INSERT for kind, _ in accepted), obj.name
        come = list(_drop_duplicates(obj, present, accepted, dead, now))
        return [*present, *come], 0, {key_of(row, key) for row in come}
    keyed = {key_of(row, rules.primary_key): row for row in present}
    written = set[KeyValues]()
    rows, ignored, refused = merge(keyed, accepted, rules, now, written, holds)
    dead += [Aside(RowKind.INSERT, r.reason, r.row) for r in refused]
    return list(rows.values()), ignored, {key_of(rows[k], key) for k in written if k in rows}


def _drop_duplicates(
    obj: ReferenceObject,
    present: Sequence[Row],
    accepted: Sequence[Change],
    dead: list[Aside],
    now: datetime,
) -> Iterator[Row]:
    """Yield the accepted rows, of those with a promised key the first; the others are dead.

    A row that is over has left its key to others.
    """
    key, transform = obj.promised, obj.transform
    there = [row for row in present if transform is None or transform.keeps(row, now)]
    seen = {key_of(row, key) for row in there} if key else set()
    for _, row in accepted:
        if transform is not None and not transform.keeps(row, now):
            continue
        if key and key_of(row, key) in seen:
            dead.append(Aside(RowKind.INSERT, IntakeCode.KEY_TWICE.text, row))
            continue
        if key:
            seen.add(key_of(row, key))
        yield row
