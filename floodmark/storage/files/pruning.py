"""Which files of a table can hold given keys or overlap given ranges, from statistics alone."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise

from floodmark.storage.table import DataFile, Handle, Scalar

Range = tuple[Scalar | None, Scalar | None]
"""Lowest and highest value, both included; None is open."""


def prune(
    handle: Handle,
    keys: Mapping[str, Sequence[Scalar]] | None = None,
    ranges: Mapping[str, Range] | None = None,
) -> tuple[DataFile, ...]:
    """Return the files that can hold at least one key and a value in every range.

    `keys` has one list per column, all of the same length: entry i of each makes one key, which
    may hold None (a NULL matches NULL). Keys in the order of their first column are searched
    fastest; others are sorted here. No list means any key, empty lists mean none. A range never
    matches NULL. Files without statistics are kept.
    """
    files = [file for file in handle.files if _overlaps(file, ranges or {})]
    if keys is None:
        return tuple(files)
    columns = list(keys)
    rows = list(zip(*keys.values(), strict=True))
    if not columns or not rows:
        return ()
    unordered = [row for row in rows if _is_unordered(row[0])]
    rest = [row for row in rows if not _is_unordered(row[0])]
    leading = [row[0] for row in rest]
    if any(a > b for a, b in pairwise(leading)):
        rest.sort(key=lambda row: row[0])
        leading = [row[0] for row in rest]
    return tuple(f for f in files if _can_hold_any(f, columns, leading, rest, unordered))


def _can_hold_any(
    file: DataFile,
    columns: Sequence[str],
    leading: Sequence[Scalar],
    rows: Sequence[tuple[Scalar, ...]],
    unordered: Sequence[tuple[Scalar, ...]],
) -> bool:
    first = columns[0]
    low, high = file.low.get(first), file.high.get(first)
    start = 0 if low is None else bisect_left(leading, low)
    end = len(leading) if high is None else bisect_right(leading, high)
    if _is_all_null(file, first):
        end = start
    if len(columns) == 1 and start < end:
        return True
    candidates = (rows[i] for i in range(start, end))
    return any(_can_hold(file, columns, row) for row in candidates) or any(
        _can_hold(file, columns, row) for row in unordered
    )


def _can_hold(file: DataFile, columns: Sequence[str], row: Sequence[Scalar]) -> bool:
    return all(_may_equal(file, c, value) for c, value in zip(columns, row, strict=True))


def _may_equal(file: DataFile, column: str, value: Scalar) -> bool:
    if value is None:
        return file.nulls.get(column, 1) > 0
    if _is_all_null(file, column):
        return False
    low, high = file.low.get(column), file.high.get(column)
    if _is_unordered(value):
        return high is None
    return (low is None or low <= value) and (high is None or value <= high)


def _is_unordered(value: Scalar) -> bool:
    """Tell whether a value has no place between bounds: NULL, and NaN, which hides every bound."""
    return value is None or value != value


def _overlaps(file: DataFile, ranges: Mapping[str, Range]) -> bool:
    for column, (start, end) in ranges.items():
        low, high = file.low.get(column), file.high.get(column)
        if start is not None and high is not None and high < start:
            return False
        if end is not None and low is not None and low > end:
            return False
        if (start is not None or end is not None) and _is_all_null(file, column):
            return False
    return True


def _is_all_null(file: DataFile, column: str) -> bool:
    return file.rows > 0 and file.nulls.get(column) == file.rows
