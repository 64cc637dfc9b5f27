"""The keys that an epoch changed, read from the files it has written, to prune what they touch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
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

    Their ranges are compared, and of up to `exact_keys` changes the keys, too, which are read. Key
    columns of nested types exclude no file.
    """
    nested = {f.name for f in handle.schema if f.type.kind in _NESTED}
    columns = [column for column in key if column not in nested]
    if not handle.files or not columns:
        return handle.files
    candidates = prune(handle, None, _ranges(written, columns))
    if sum(file.rows for file in written) > limits.exact_keys:
        return candidates
    touched: set[str] = set()
    for keys in _keys(paths, columns, limits.keys_at_once) if candidates else ():
        rest = tuple(file for file in candidates if file.path not in touched)
        if not rest:
            break
        touched.update(file.path for file in prune(replace(handle, files=rest), keys))
    return tuple(file for file in candidates if file.path in touched)


def _keys(
    paths: Sequence[str], columns: Sequence[str], most: int
) -> Iterator[dict[str, list[Any]]]:
    """Yield the keys of files, some at a time: few are in all files that have any of them."""
    for path in paths:
        part = read_parquet(path, columns)
        for start in range(0, part.num_rows, most):
            some = part.slice(start, most)
            yield {column: some.column(column).to_pylist() for column in columns}


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
