"""Changelogs as values: from two states to the rows between them, and back."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from floodmark.changelog import RowKind
from floodmark.reference.rows import (
    Bag,
    Frozen,
    Row,
    ascending,
    bag,
    difference,
    freeze,
    key_of,
    sort_rows,
    thaw,
)

Change = tuple[RowKind, Row]


def changes_between(new: Iterable[Row], old: Iterable[Row], key: Sequence[str]) -> list[Change]:
    """Return the consolidated changelog that leads from the old rows to the new ones."""
    return consolidate(difference(new, old), key)


def consolidate(changes: Bag, key: Sequence[str]) -> list[Change]:
    """Return a signed multiset as a changelog ordered by key.

    An old and a new row of one key become `-U +U`. Asserts that a key has at most one of each:
    anything else means that `key` is no stream key.
    """
    olds: dict[tuple[Any, ...], list[Frozen]] = defaultdict(list)
    news: dict[tuple[Any, ...], list[Frozen]] = defaultdict(list)
    heads: dict[tuple[Any, ...], Row] = {}
    for frozen, count in changes.items():
        row = thaw(frozen)
        identity = key_of(row, key)
        heads.setdefault(identity, {name: row[name] for name in key})
        (news if count > 0 else olds)[identity] += [frozen] * abs(count)
    out: list[Change] = []
    for head in sort_rows(heads.values(), ascending(key)):
        identity = key_of(head, key)
        out += _pair(olds[identity], news[identity], identity)
    return out


def _pair(old: list[Frozen], new: list[Frozen], identity: tuple[Any, ...]) -> list[Change]:
    assert len(old) <= 1 and len(new) <= 1, f"key {identity} is not unique: {old} -> {new}"
    update = bool(old and new)
    before = RowKind.UPDATE_BEFORE if update else RowKind.DELETE
    after = RowKind.UPDATE_AFTER if update else RowKind.INSERT
    return [*((before, thaw(row)) for row in old), *((after, thaw(row)) for row in new)]


def weigh(changes: Iterable[Change]) -> Bag:
    """Return a changelog as a signed multiset."""
    out: Bag = Counter()
    for kind, row in changes:
        out[freeze(row)] += kind.weight
    return Counter({row: count for row, count in out.items() if count})


def apply(rows: Iterable[Row], changes: Iterable[Change]) -> list[Row]:
    """Return the rows after the changes; asserts that every retracted row was there."""
    out = bag(rows)
    for frozen, count in weigh(changes).items():
        out[frozen] += count
        assert out[frozen] >= 0, f"a row that is not there is retracted: {thaw(frozen)}"
    return [thaw(frozen) for frozen in out.elements()]
