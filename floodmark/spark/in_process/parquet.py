"""Parquet files, as a query of Spark reads and writes them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from floodmark.limits import LIMITS
from floodmark.spark.in_process.frame import LazyColumn, LazyFrame, UnsupportedQuery
from floodmark.spark.in_process.types import schema_of
from floodmark.storage.files.rewrite import new_part, write_rows
from floodmark.storage.local_files import disk_errors
from floodmark.storage.plain_files import open_parquet

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet as pq

_METADATA, _ROW_INDEX = "_metadata", "row_index"
_REBASED = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
"""What files say whose old dates are of another calendar."""


def scan(paths: Sequence[str], schema: str, options: Mapping[str, str]) -> LazyFrame:
    """Return the rows of files; a column is read when it is asked for."""
    if not schema or set(options) - {"basePath", "basepath"}:
        raise UnsupportedQuery("files without a schema, or with options")
    base = next(iter(options.values()), None)
    files = [_File(path, base) for path in paths]
    rows = sum(file.rows for file in files)
    columns = [
        LazyColumn(name, _read_column, files, name, type_) for name, type_ in schema_of(schema)
    ]
    index = LazyColumn(_ROW_INDEX, _places, files, qualifier=_METADATA, hidden=True)
    return LazyFrame(rows, [*columns, index])


def _read_column(files: Sequence[_File], name: str, type_: pa.DataType) -> pa.Array:
    return _concat([file.column(name, type_) for file in files])


def _places(files: Sequence[_File]) -> pa.Array:
    return _concat([file.places() for file in files])


class _File:
    def __init__(self, path: str, base: str | None) -> None:
        self._file: pq.ParquetFile = open_parquet(path)
        said = self._file.metadata.metadata or {}
        if any(key in said for key in _REBASED):
            raise UnsupportedQuery("old dates")
        self.rows = int(self._file.metadata.num_rows)
        self._schema = self._file.schema_arrow
        self._folders = _folders(path, base)

    def column(self, name: str, type_: pa.DataType) -> pa.Array:
        import pyarrow as pa

        if name in self._schema.names:
            values = self._file.read(columns=[name]).column(name).combine_chunks()
            if not _alike(values.type, type_):
                raise UnsupportedQuery(f"a file with {values.type} for {type_}")
            # What is left to differ are names of items, and whether there may be NULL.
            return values.cast(type_)
        if any(other.lower() == name.lower() for other in self._schema.names):
            raise UnsupportedQuery(f"a file with {name} in other letters")
        if name in self._folders:
            return pa.repeat(pa.scalar(int(self._folders[name]), type_), self.rows)
        return pa.nulls(self.rows, type_)

    def places(self) -> pa.Array:
        import numpy as np
        import pyarrow as pa

        return pa.array(np.arange(self.rows, dtype=np.int64))


def _folders(path: str, base: str | None) -> dict[str, str]:
    """Return what the folders between the base and a file say of its rows: `name=value`."""
    if base is None:
        return {}
    inner = os.path.relpath(os.path.dirname(path), base).split("/")
    return dict(part.split("=", 1) for part in inner if "=" in part)


def _alike(one: pa.DataType, other: pa.DataType) -> bool:
    """Tell whether types are the same but for the names of what is in lists."""
    import pyarrow as pa

    if pa.types.is_list(one) and pa.types.is_list(other):
        return _alike(one.value_type, other.value_type)
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        ours, theirs = list(one), list(other)
        return [f.name for f in ours] == [f.name for f in theirs] and all(
            _alike(a.type, b.type) for a, b in zip(ours, theirs, strict=True)
        )
    return bool(one == other)


def _concat(parts: Sequence[pa.Array]) -> pa.Array:
    import pyarrow as pa

    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)


def parts_of(frame: LazyFrame, by: str | None) -> dict[str, pa.Table]:
    """Return the rows of a frame by the folder that they belong into: one of each value of `by`."""
    import pyarrow as pa
    from pyarrow import compute as pc

    columns = frame.visible
    names = [c.name for c in columns]
    if len(set(names)) != len(names):
        raise UnsupportedQuery("two columns of one name")
    values = {c.name: c.values for c in columns}
    if any(pa.types.is_null(v.type) for v in values.values()):
        raise UnsupportedQuery("a column without a type")
    if by is None:
        return {"": pa.table(values)}
    routes = values.pop(by)
    if routes.null_count:
        raise UnsupportedQuery("rows of no folder")
    rows = pa.table(values)
    found = pc.unique(routes).to_pylist()
    return {f"/{by}={route}": rows.filter(pc.equal(routes, route)) for route in found}


def write(parts: Mapping[str, pa.Table], folder: str) -> None:
    """Write rows into files of a folder, or of folders below it."""
    with disk_errors(folder.split("/")[-2]):
        for place, rows in parts.items():
            write_rows(new_part(folder + place), [rows], LIMITS)
