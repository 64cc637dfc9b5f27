"""Check without Spark that keys in files are unique; a Spark job would shuffle them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from floodmark.limits import Limits
from floodmark.scalar.types import Schema
from floodmark.storage.files.rewrite import compares_alike
from floodmark.storage.plain_files import open_parquet

if TYPE_CHECKING:
    import pyarrow as pa


def each_once(
    paths: Sequence[str], columns: Schema, key: Sequence[str], limits: Limits
) -> bool | None:
    """Tell whether the keys of the files are unique; None if only Spark can tell.

    Ascending keys are checked for any number of rows.
    """
    import pyarrow as pa

    names = list(key)
    if not compares_alike(tuple(f for f in columns if f.name in names)):
        return None
    held: list[pa.Table] = []
    size, last, ascending = 0, None, True
    for rows in _pieces(paths, names):
        if last is not None and rows.schema.types != last.schema.types:
            return None
        ascending = ascending and _ascends(rows if last is None else pa.concat_tables([last, rows]))
        last = rows.slice(rows.num_rows - 1)
        size += rows.nbytes
        if size <= limits.unique_bytes:
            held.append(rows)
        elif not ascending:
            return None
        else:
            held.clear()
    if ascending:
        return True
    together = pa.concat_tables(held)
    # One thread takes half the processor time of many.
    groups = together.group_by(names, use_threads=False).aggregate([])
    return bool(groups.num_rows == together.num_rows)


def _pieces(paths: Sequence[str], names: list[str]) -> Iterator[pa.Table]:
    """Yield the keys of files, some rows at a time; none is empty."""
    import pyarrow as pa

    for path in paths:
        with open_parquet(path) as file:
            for batch in file.iter_batches(columns=names):
                if batch.num_rows:
                    yield pa.table([batch.column(name) for name in names], names)


def _ascends(rows: pa.Table) -> bool:
    """Tell whether each row's key is greater than the one before it; NULL is greater than none."""
    from pyarrow import compute as pc

    count = rows.num_rows - 1
    greater = None
    for column in reversed(rows.columns):
        before, after = column.slice(0, count), column.slice(1)
        more = pc.greater(after, before)
        if greater is not None:
            more = pc.or_(more, pc.and_(pc.equal(after, before), greater))
        greater = more
    return bool(pc.all(greater, skip_nulls=False).as_py())
