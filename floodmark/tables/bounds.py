"""Bounds of column values, derived from file statistics up to a node's output.

The bounds of an epoch's changes say which groups and keys it can touch; the bounds that one file
gives a subplan say whether the file matters for them. So the cost of an epoch whose keys are close
in time or order does not grow with the history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from floodmark.storage.table import DataFile
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.properties.bounds import Bounds

FileFilter = Callable[[DataFile], bool]
"""Tells whether a file can hold rows that matter."""


def file_bounds(files: Sequence[DataFile], names: Sequence[str]) -> Bounds | None:
    """Return the bounds of columns over all rows of some files, None when there are none."""
    if not files:
        return None
    out = {}
    for name in names:
        lows: list[Any] = [file.low.get(name) for file in files]
        highs: list[Any] = [file.high.get(name) for file in files]
        known = None not in lows and None not in highs
        if known and not any(file.nulls.get(name, 1) for file in files):
            out[name] = (min(lows), max(highs))
    return out


def columns_without_null(files: Sequence[DataFile], names: Iterable[str]) -> frozenset[str]:
    """Return the columns that are NULL in no row of some files, as far as these tell."""
    return frozenset(name for name in names if all(file.nulls.get(name) == 0 for file in files))


def keeper(op: StreamOperator[Any], wanted: Bounds) -> FileFilter:
    """Return the test whether a file of what row-local operators read can give rows within bounds.

    `op` is a scan, or an aggregate whose groups are read, or the last of a row-local chain above.
    """

    def keeps(file: DataFile) -> bool:
        bounds = _operator_bounds(op, file)
        return all(
            bounds[name][0] <= high and low <= bounds[name][1]
            for name, (low, high) in wanted.items()
            if name in bounds
        )

    return keeps


def _operator_bounds(op: StreamOperator[Any], file: DataFile) -> Bounds:
    """Return the bounds of an operator's rows over one file of what its chain reads."""
    if op.is_row_local:
        return op.change_bounds([_operator_bounds(op.input, file)]) or {}
    return file_bounds((file,), op.names) or {}
