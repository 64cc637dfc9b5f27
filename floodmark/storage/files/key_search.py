"""The rows of files that have one of some keys: the columns that have them are their own index.

Statistics tell little of keys that lie in all files. To look through one column here takes some 40
ms a million rows. The other columns are read of those groups of rows alone that have a key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from floodmark.limits import Limits
from floodmark.storage.files.rewrite import rows_at_a_time, types_at, write_rows
from floodmark.storage.plain_files import open_parquet, parquet_footer

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
    if not _are_alike([path], (), keys):
        return True
    with open_parquet(path) as file:
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
    if not paths or not _are_alike(paths, names, keys):
        return None
    if _share_of_first(paths[0], keys, limits) * limits.search_share > 1:
        return None
    parts = (part for path in paths for part in _matching_rows(path, names, keys, limits))
    return write_rows(target, parts, limits)


def _share_of_first(path: str, keys: Mapping[str, pa.Array], limits: Limits) -> float:
    """Return which share of the first rows of a file has keys."""
    from pyarrow import compute as pc

    with open_parquet(path) as file:
        mask = next(_masks(file, 0, keys, limits), None) if file.metadata.num_row_groups else None
    return 0.0 if mask is None else float(pc.mean(mask).as_py() or 0)


def _are_alike(paths: Sequence[str], names: Sequence[str], keys: Mapping[str, pa.Array]) -> bool:
    """Tell whether files have the columns, of the same types, and keys of theirs."""
    types = types_at(paths[0], [*keys, *names])
    if None in types or types[: len(keys)] != [values.type for values in keys.values()]:
        return False
    return all(types_at(path, [*keys, *names]) == types for path in paths[1:])


def _matching_rows(
    path: str, names: Sequence[str], keys: Mapping[str, pa.Array], limits: Limits
) -> Iterator[pa.Table]:
    """Yield the rows of a file with keys, some at a time; their fields take NULLs."""
    import pyarrow as pa

    # Few different texts are read as what they are in the file: numbers into a dictionary.
    with open_parquet(path, _coded_columns(path)) as file:
        most = rows_at_a_time(file.metadata, limits)
        for group in range(file.metadata.num_row_groups):
            masks = list(_masks(file, group, keys, limits))
            if not any(map(_any, masks)):
                continue
            mask, start = pa.chunked_array(masks), 0
            for piece in file.iter_batches(most, row_groups=[group], columns=list(names)):
                rows = piece.filter(mask.slice(start, piece.num_rows).combine_chunks())
                start += piece.num_rows
                yield pa.table([_plain(rows.column(name)) for name in names], list(names))


def _masks(
    file: pq.ParquetFile, group: int, keys: Mapping[str, pa.Array], limits: Limits
) -> Iterator[pa.Array]:
    """Yield which rows of a group of a file have a key in each column, some rows at a time."""
    from pyarrow import compute as pc

    for piece in file.iter_batches(
        limits.rewrite_group_rows, row_groups=[group], columns=list(keys)
    ):
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


def _coded_columns(path: str) -> list[str]:
    """Return the columns of texts that are kept as numbers into dictionaries alone."""
    from pyarrow import types

    footer = parquet_footer(path)
    texts = {f.name for f in footer.schema.to_arrow_schema() if types.is_string(f.type)}
    groups = map(footer.row_group, range(footer.num_row_groups))
    chunks = (group.column(i) for group in groups for i in range(footer.num_columns))
    return sorted(texts - {c.path_in_schema for c in chunks if "PLAIN" in c.encodings})
