"""The keys that an epoch changed, read from the files it has written, to prune what they touch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from floodmark.storage.pruning import prune
from floodmark.storage.table import DataFile, Handle

_EXACT_UP_TO = 100_000


def touched_files(
    handle: Handle, written: Sequence[DataFile], paths: Sequence[str], key: tuple[str, ...]
) -> tuple[DataFile, ...]:
    """Return the files of a table that can hold a changed key.

    Up to 100,000 changes their keys are read and compared exactly, beyond it as ranges.
    """
    if not handle.files or not key:
        return handle.files
    if sum(file.rows for file in written) > _EXACT_UP_TO:
        return prune(handle, None, _ranges(written, key))
    from pyarrow import parquet as pq

    parts = [pq.read_table(path, columns=list(key)) for path in paths]
    rows = list({row for part in parts for row in _rows(part, key)})
    keys = {column: [row[i] for row in rows] for i, column in enumerate(key)}
    return prune(handle, keys, None)


def _rows(part: Any, key: tuple[str, ...]) -> list[tuple[Any, ...]]:
    columns = [part.column(name).to_pylist() for name in key]
    return list(zip(*columns, strict=True))


def _ranges(written: Sequence[DataFile], key: tuple[str, ...]) -> dict[str, tuple[Any, Any]]:
    """Return the range of each key column that statistics bound and that is never NULL."""
    out: dict[str, tuple[Any, Any]] = {}
    for column in key:
        lows: list[Any] = [file.low.get(column) for file in written]
        highs: list[Any] = [file.high.get(column) for file in written]
        nulls = sum(file.nulls.get(column, 1) for file in written)
        if None not in lows and None not in highs and not nulls:
            out[column] = (min(lows), max(highs))
    return out
