"""Which small files to merge: by size tier, so that every row is rewritten a few times only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from floodmark.limits import Limits
from floodmark.storage.table import DataFile


def plan_compaction(
    files: Sequence[DataFile],
    limits: Limits,
    tiers: int = 12,
) -> list[list[DataFile]]:
    """Return groups of files, each to be rewritten as one; files in no group stay.

    A group has at least `compact_fewest` files of one tier and at most `compact_bytes`, in the
    order of the table, so that rows clustered at write stay clustered. Tier t (from the largest,
    0) holds files of about `compact_bytes` / `compact_fewest`^(t+1); the last tier takes all that
    are smaller.
    """
    by_tier: dict[int, list[DataFile]] = defaultdict(list)
    for file in files:
        tier = _tier(file.size, limits, tiers)
        if tier is not None:
            by_tier[tier].append(file)
    return [
        group
        for tier in sorted(by_tier)
        for group in _groups(by_tier[tier], limits.compact_bytes)
        if len(group) >= limits.compact_fewest
    ]


def _tier(size: int, limits: Limits, tiers: int) -> int | None:
    """Return the tier of a file, or None when it is as large as files get."""
    if size * 2 > limits.compact_bytes:
        return None
    tier = 0
    bound = limits.compact_bytes // limits.compact_fewest
    while tier < tiers - 1 and size < bound:
        tier += 1
        bound //= limits.compact_fewest
    return tier


def _groups(files: Sequence[DataFile], target_bytes: int) -> list[list[DataFile]]:
    groups: list[list[DataFile]] = [[]]
    total = 0
    for file in files:
        if total + file.size > target_bytes and groups[-1]:
            groups.append([])
            total = 0
        groups[-1].append(file)
        total += file.size
    return groups
