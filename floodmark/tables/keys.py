"""The keys that an epoch changed, read from the files it has written, to prune what they touch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from floodmark.limits import Limits
from floodmark.scalar.types import Kind
from floodmark.storage.files.pruning import prune
from floodmark.storage.plain_files import read_parquet
from floodmark.storage.table import DataFile, Handle

# Statistics say nothing of these, and Arrow gives values of them that cannot be in a set.
_NESTED = (Kind.INTERVAL, Kind.LIST, Kind.STRUCT, Kind.MAP)


def files_with_keys(
    handle: Handle,
    written: Sequence[DataFile],
    paths: Sequence[str],
    key: tuple[str, ...],
    limits: Limits,
) -> tuple[DataFile, ...]:
    """Return the files of a table that can hold a changed key.

    Up to `exact_keys` changes their keys are read and compared exactly, beyond it as ranges. Key
    columns of nested types exclude no file.
    """
    nested = {f.name for f in handle.schema if f.type.kind in _NESTED}
    columns = [column for column in key if column not in nested]
    if not handle.files or not columns:
        return handle.files
    if sum(file.rows for file in written) > limits.exact_keys:
        return prune(handle, None, _ranges(written, columns))
    parts = [read_parquet(path, columns) for path in paths]
    rows = list({row for part in parts for row in _rows(part, columns)})
    keys = {column: [row[i] for row in rows] for i, column in enumerate(columns)}
    return prune(handle, keys, None)


def _rows(part: Any, key: Sequence[str]) -> list[tuple[Any, ...]]:
    columns = [part.column(name).to_pylist() for name in key]
    return list(zip(*columns, strict=True))


def _ranges(written: Sequence[DataFile], key: Sequence[str]) -> dict[str, tuple[Any, Any]]:
    """Return the range of each key column that statistics bound and that is never NULL."""
    out: dict[str, tuple[Any, Any]] = {}
    for column in key:
        lows: list[Any] = [file.low.get(column) for file in written]
        highs: list[Any] = [file.high.get(column) for file in written]
        nulls = sum(file.nulls.get(column, 1) for file in written)
        if None not in lows and None not in highs and not nulls:
            out[column] = (min(lows), max(highs))
    return out
