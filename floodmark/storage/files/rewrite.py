"""Rewriting a few stored rows in this process, which is faster than a Spark job.

`rewrite` does to files what `dataflow.materialize.rewritten` does to frames.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from floodmark.changelog import ADDED, EPOCH, GONE, KIND
from floodmark.limits import Limits
from floodmark.scalar.types import Kind, Schema
from floodmark.storage.files.row_codes import row_codes
from floodmark.storage.local_files import disk_errors
from floodmark.storage.plain_files import file_size, open_parquet, parquet_footer, parquet_writer
from floodmark.storage.table import DataFile

if TYPE_CHECKING:
    import pyarrow as pa

# Spark has one -0.0 and one NaN, and compares what is nested by its parts.
_COMPARED_BY_SPARK = (Kind.REAL, Kind.DOUBLE, Kind.INTERVAL, Kind.LIST, Kind.STRUCT, Kind.MAP)


def is_small(
    touched: Sequence[DataFile],
    changes: Sequence[DataFile],
    key: Schema,
    limits: Limits,
) -> bool:
    """Tell whether files are small, and their keys compare here as in Spark."""
    few = _bytes_of(touched) <= limits.rewrite_bytes
    few = few and _bytes_of(changes) <= limits.rewrite_changed_bytes
    return few and compares_alike(key)


def compares_alike(key: Schema) -> bool:
    """Tell whether equality of these keys is the same here as in Spark."""
    return all(f.type.kind not in _COMPARED_BY_SPARK for f in key)


def _bytes_of(files: Sequence[DataFile]) -> int:
    return sum(file.size for file in files)


def rewrite(
    touched: Sequence[str],
    changes: Sequence[str],
    columns: Sequence[str],
    key: Sequence[str],
    epoch: int,
    folder: str,
    limits: Limits,
) -> bool:
    """Write the rows of the touched files after the changes into `folder`, if there are any.

    `touched` and `changes` are paths. False, and nothing written, where files differ in the types
    of their columns.
    """
    changed = read_files(changes, (*columns, KIND))
    if changed is None:
        return False
    added = _stamp_epoch(_filter_kinds(changed, ADDED).select(list(columns)), epoch)
    gone = _filter_kinds(changed, GONE).select(list(key))
    return replace_rows(touched if key else (), gone, added, folder, limits)


def replace_rows(
    old: Sequence[str], gone: pa.Table, added: pa.Table, folder: str, limits: Limits
) -> bool:
    """Write the rows of files whose key is not among `gone`, and those of `added`.

    Many rows of new keys get a file of their own. Where the key has a time, the next epochs read
    and rewrite the files of the last windows alone, however long the history is.
    False, and nothing written, where files differ in the types of the columns of `added`.
    """
    if any(types_at(path, added.column_names) != _types(added) for path in old):
        return False
    large = [[path] for path in old if file_size(path) >= limits.rewrite_file_bytes]
    small = [path for path in old if [path] not in large]
    nothing = added.slice(0, 0)
    others, fresh = _split_fresh(added, gone, limits) if small else (added, nothing)
    jobs = [*((paths, nothing) for paths in large), (small, others), ([], fresh)]
    threads = min(len(jobs), os.cpu_count() or 1)
    with disk_errors(folder.split("/")[-2]), ThreadPoolExecutor(threads) as pool:
        done = [pool.submit(_write, folder, paths, gone, rows, limits) for paths, rows in jobs]
        for each in done:
            each.result()
    return True


def _split_fresh(added: pa.Table, gone: pa.Table, limits: Limits) -> tuple[pa.Table, pa.Table]:
    """Return the rows with keys that are gone, and those with new ones if they are many."""
    import pyarrow as pa

    if added.num_rows >= limits.rewrite_apart_rows:
        fresh = ~_key_matches(added, gone)
        if fresh.sum() >= limits.rewrite_apart_rows:
            return added.filter(pa.array(~fresh)), added.filter(pa.array(fresh))
    return added, added.slice(0, 0)


def _write(
    folder: str, paths: Sequence[str], gone: pa.Table, added: pa.Table, limits: Limits
) -> None:
    """Write one file: the rows of others but those whose key is gone, and the added ones."""
    write_rows(new_part(folder), _rows_that_stay(paths, gone, added, limits), limits)


def new_part(folder: str) -> str:
    """Return the path of a file in a folder that is not there yet."""
    return f"{folder}/part-00000-{secrets.token_hex(16)}.zstd.parquet"


def write_rows(path: str, parts: Iterable[pa.Table], limits: Limits) -> int:
    """Write rows into a file, in groups as large as they may be; return how many.

    There is no file where there are none. It has bounds of those columns alone whose bounds hold.
    """
    writer, count = None, 0
    for rows in _group_rows(parts, limits):
        if writer is None:
            bounds = columns_with_bounds(rows)
            writer = parquet_writer(path, rows.schema, compression="zstd", write_statistics=bounds)
        writer.write_table(rows)
        count += rows.num_rows
    if writer is not None:
        writer.close()
    return count


def _rows_that_stay(
    paths: Sequence[str], gone: pa.Table, added: pa.Table, limits: Limits
) -> Iterator[pa.Table]:
    """Yield the rows of files that stay, some at a time, and then the added rows."""
    import pyarrow as pa

    for path in paths:
        with open_parquet(path) as file:
            most = rows_at_a_time(file.metadata, limits)
            for batch in file.iter_batches(most, columns=added.column_names):
                # The fields of a file that Spark wrote may refuse NULLs.
                arrays = [batch.column(name) for name in added.column_names]
                rows = pa.Table.from_arrays(arrays, schema=added.schema)
                yield rows.filter(pa.array(~_key_matches(rows, gone)))
    yield added


def rows_at_a_time(metadata: pa.parquet.FileMetaData, limits: Limits) -> int:
    groups = range(metadata.num_row_groups)
    held = sum(int(metadata.row_group(i).total_byte_size) for i in groups)
    per_row = max(1, held // max(1, int(metadata.num_rows)))
    return max(1, min(limits.rewrite_group_rows, limits.rewrite_group_bytes // per_row))


def _group_rows(parts: Iterable[pa.Table], limits: Limits) -> Iterator[pa.Table]:
    """Yield rows in groups that are as large as they may be; none is empty."""
    import pyarrow as pa

    held: list[pa.Table] = []
    for part in parts:
        rows = part.num_rows + sum(p.num_rows for p in held)
        size = part.nbytes + _size_of(held)
        if held and (rows > limits.rewrite_group_rows or size > limits.rewrite_group_bytes):
            yield pa.concat_tables(held)
            held = []
        if part.num_rows:
            held.append(part)
    if held:
        yield pa.concat_tables(held)


def _size_of(parts: Sequence[pa.Table]) -> int:
    return sum(part.nbytes for part in parts)


def read_files(paths: Sequence[str], columns: Sequence[str]) -> pa.Table | None:
    """Return files as one table whose columns take NULLs, None where they are not alike."""
    import pyarrow as pa

    parts = []
    for path in paths:
        part = open_parquet(path).read(columns=list(columns))
        if set(part.column_names) != set(columns):
            return None
        part = part.select(list(columns))
        fields = [pa.field(f.name, f.type) for f in part.schema]
        parts.append(pa.Table.from_arrays(part.columns, schema=pa.schema(fields)))
    if not parts or any(_types(part) != _types(parts[0]) for part in parts):
        return None
    return pa.concat_tables(parts)


def columns_with_bounds(rows: pa.Table) -> list[str]:
    """Return the columns whose bounds hold: Arrow leaves NaN out, and Spark then skips its rows."""
    from pyarrow import types

    loose = types.is_floating, types.is_nested
    return [f.name for f in rows.schema if not any(test(f.type) for test in loose)]


def _types(rows: pa.Table) -> list[Any]:
    return [field.type for field in rows.schema]


def types_at(path: str, columns: Sequence[str]) -> list[Any]:
    """Return the types of a file's columns, None for one that it has not."""
    schema = parquet_footer(path).schema.to_arrow_schema()
    return [schema.field(c).type if c in schema.names else None for c in columns]


def _filter_kinds(changes: pa.Table, kinds: Sequence[str]) -> pa.Table:
    import pyarrow as pa
    from pyarrow import compute as pc

    return changes.filter(pc.is_in(changes.column(KIND), value_set=pa.array(kinds)))


def _stamp_epoch(rows: pa.Table, epoch: int) -> pa.Table:
    import pyarrow as pa

    stamp = pa.repeat(pa.scalar(epoch, pa.int64()), rows.num_rows)
    return rows.append_column(pa.field(EPOCH, pa.int64()), stamp)


def _key_matches(rows: pa.Table, others: pa.Table) -> Any:
    """Return, per row, whether its key is that of another; the others have the key's columns.

    NULL equals NULL.
    """
    import numpy as np
    from pyarrow import compute as pc

    matches = np.ones(rows.num_rows, dtype=bool)
    for name in others.column_names:
        values = others.column(name).combine_chunks()
        matches &= pc.is_in(rows.column(name), value_set=values).to_numpy()
    if others.num_columns > 1 and matches.any():
        # Each value is among the others' values; whether one row has them all is dearer to ask.
        matches[matches] = _equal(rows.filter(matches), others)
    return matches


def _equal(rows: pa.Table, others: pa.Table) -> Any:
    """Return, per row, whether another has the same values in all its columns."""
    import numpy as np
    import pyarrow as pa

    both = pa.concat_tables([rows.select(others.column_names), others])
    codes, _ = row_codes([c.combine_chunks() for c in both.columns], both.num_rows)
    return np.isin(codes[: rows.num_rows], codes[rows.num_rows :])
