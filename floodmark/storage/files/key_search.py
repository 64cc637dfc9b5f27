"""The rows of files that have one of some keys: the columns that have them are their own index.

Statistics tell little of keys that lie in all files. To look through one column here takes some 40
ms a million rows. The other columns are read of those groups of rows alone that have a key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from floodmark.limits import Limits
from floodmark.storage.plain_files import open_parquet, parquet_writer

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet as pq


@dataclass(frozen=True)
class FileColumn:
    """A column of files, given by their paths."""

    name: str
    paths: tuple[str, ...]


def distinct_values(columns: Sequence[FileColumn]) -> pa.Array | None:
    """Return each value of some columns once, NULL too; None where their types differ."""
    import pyarrow as pa
    from pyarrow import compute as pc

    tables = [open_parquet(path).read(columns=[c.name]) for c in columns for path in c.paths]
    if not tables or any(table.num_columns != 1 for table in tables):
        return None
    values = [table.column(0) for table in tables]
    if any(part.type != values[0].type for part in values):
        return None
    return pc.unique(pa.chunked_array([chunk for part in values for chunk in part.chunks]))


def holds_any(path: str, keys: Mapping[str, pa.Array], limits: Limits) -> bool:
    """Tell whether a file may hold a row with one of the keys in each column; NULL equals NULL.

    True where the file has no such column, or one of another type.
    """
    with open_parquet(path) as file:
        if not _has_columns(file.schema_arrow, keys):
            return True
        groups = range(file.metadata.num_row_groups)
        return any(_any(mask) for group in groups for mask in _masks(file, group, keys, limits))


def copy_rows(
    paths: Sequence[str],
    names: Sequence[str],
    keys: Mapping[str, pa.Array],
    target: str,
    limits: Limits,
) -> int | None:
    """Write the rows of files that have one of the keys in each column; return how many.

    `names` are the columns that are written, `target` is the path of their file; there is none
    where no row is found. None where files differ in the types of their columns, or from the keys,
    and where more than one in `search_share` of the first rows would be written.
    """
    import pyarrow as pa

    if not paths or not _are_alike(paths, names, keys):
        return None
    if _share_of_first(paths[0], keys, limits) * limits.search_share > 1:
        return None
    written, writer = 0, None
    parts = (part for path in paths for part in _matching_rows(path, names, keys, limits))
    for rows in _batches(parts, limits.search_held_bytes):
        table = pa.Table.from_batches(rows)
        if writer is None:
            writer = parquet_writer(target, table.schema, compression="zstd")
        writer.write_table(table)
        written += table.num_rows
    if writer is not None:
        writer.close()
    return written


def _share_of_first(path: str, keys: Mapping[str, pa.Array], limits: Limits) -> float:
    """Return which share of the first rows of a file has keys."""
    from pyarrow import compute as pc

    with open_parquet(path) as file:
        mask = next(_masks(file, 0, keys, limits), None) if file.metadata.num_row_groups else None
    return 0.0 if mask is None else float(pc.mean(mask).as_py() or 0)


def _are_alike(paths: Sequence[str], names: Sequence[str], keys: Mapping[str, pa.Array]) -> bool:
    first = None
    for path in paths:
        with open_parquet(path) as file:
            schema = file.schema_arrow
        if not _has_columns(schema, keys) or any(name not in schema.names for name in names):
            return False
        types = [schema.field(name).type for name in names]
        if first is not None and types != first:
            return False
        first = types
    return True


def _has_columns(schema: pa.Schema, keys: Mapping[str, pa.Array]) -> bool:
    return all(c in schema.names and schema.field(c).type == v.type for c, v in keys.items())


def _matching_rows(
    path: str, names: Sequence[str], keys: Mapping[str, pa.Array], limits: Limits
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file with keys; none is empty, their fields take NULLs."""
    import pyarrow as pa

    with open_parquet(path) as file:
        coded = _dictionary_columns(file.metadata, file.schema_arrow)
    # Few different texts are read as what they are in the file: numbers into a dictionary.
    with open_parquet(path, coded) as file:
        for group in range(file.metadata.num_row_groups):
            masks = list(_masks(file, group, keys, limits))
            if not any(map(_any, masks)):
                continue
            mask, start = pa.chunked_array(masks), 0
            for piece in file.iter_batches(
                limits.search_piece, row_groups=[group], columns=list(names)
            ):
                chosen = mask.slice(start, piece.num_rows).combine_chunks()
                start += piece.num_rows
                rows = piece.filter(chosen)
                if rows.num_rows:
                    columns = [_plain(rows.column(name)) for name in names]
                    yield pa.RecordBatch.from_arrays(columns, list(names))


def _masks(
    file: pq.ParquetFile, group: int, keys: Mapping[str, pa.Array], limits: Limits
) -> Iterator[pa.Array]:
    """Yield which rows of a group of a file have a key in each column, some rows at a time."""
    from pyarrow import compute as pc

    for piece in file.iter_batches(limits.search_piece, row_groups=[group], columns=list(keys)):
        mask = None
        for column, values in keys.items():
            met = pc.is_in(_plain(piece.column(column)), value_set=values)
            mask = met if mask is None else pc.and_(mask, met)
        yield mask


def _any(mask: pa.Array) -> bool:
    from pyarrow import compute as pc

    return bool(pc.any(mask).as_py())


def _plain(column: pa.Array) -> pa.Array:
    import pyarrow as pa

    return column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column


def _dictionary_columns(metadata: pq.FileMetaData, schema: pa.Schema) -> list[str]:
    """Return the columns of texts that are kept as numbers into dictionaries alone."""
    from pyarrow import types

    texts = {f.name for f in schema if types.is_string(f.type)}
    chunks = [
        metadata.row_group(group).column(i)
        for group in range(metadata.num_row_groups)
        for i in range(metadata.num_columns)
    ]
    plain = {c.path_in_schema for c in chunks if "PLAIN" in c.encodings}
    return sorted(texts - plain)


def _batches(parts: Iterator[pa.RecordBatch], most: int) -> Iterator[list[pa.RecordBatch]]:
    """Yield rows in groups that are as large as they may be; none is empty."""
    held: list[pa.RecordBatch] = []
    size = 0
    for part in parts:
        held.append(part)
        size += part.nbytes
        if size > most:
            yield held
            held, size = [], 0
    if held:
        yield held
