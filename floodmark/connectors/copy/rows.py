"""The rows of a file that COPY reads, as columns of their types, some at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from floodmark.connectors.copy.csv import csv_pieces
from floodmark.connectors.copy.file import CopyFile, check_names, out_of_reach
from floodmark.connectors.copy.json_lines import json_pieces
from floodmark.connectors.copy.values import NoValue, TypesByName, cast_values
from floodmark.spark.user_functions import arrow_type

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet as pq


def pieces(
    file: CopyFile, types: TypesByName, columns: Sequence[str], given: set[str]
) -> Iterator[pa.Table]:
    """Yield what a file has for a table whose writable columns have these types.

    `columns` are those that the statement names; without any, a CSV file with a header, and the
    other formats, name them. Those of the file are in `given` at the end, and before the first
    piece unless it is JSON; further columns of a piece are NULL. Raises E0424 and E0425.
    """
    try:
        match file.format:
            case "csv":
                yield from csv_pieces(file, types, columns, given)
            case "json":
                yield from json_pieces(file, types, columns, given)
            case _:
                yield from _parquet(file, types, columns, given)
    except OSError as error:
        raise out_of_reach(file.path, error, file.span) from None


def read_rows(file: CopyFile, types: TypesByName, columns: Sequence[str]) -> pa.Table:
    """Return all rows of a small file, its columns in the order of the types."""
    import pyarrow as pa

    given: set[str] = set()
    found = list(pieces(file, types, columns, given))
    names = [name for name in types if name in given]
    empty = pa.schema([(name, arrow_type(types[name])) for name in names]).empty_table()
    return pa.concat_tables([empty, *(piece.select(names) for piece in found)])


def _parquet(
    file: CopyFile, types: TypesByName, columns: Sequence[str], given: set[str]
) -> Iterator[pa.Table]:
    import pyarrow as pa
    from pyarrow import parquet as pq

    try:
        parquet = pq.ParquetFile(file.path)
    except pa.ArrowInvalid as error:
        file.wrong(1, f"no Parquet file: {error}")
    with parquet:
        have = parquet.schema_arrow.names
        names = list(columns) or have
        check_names(file, names, types, 1)
        missing = [name for name in names if name not in have]
        if missing:
            file.wrong(1, f'the file has no column "{missing[0]}"')
        given.update(names)
        row = 1
        for batch in _batches(file, parquet, names):
            yield _convert_batch(file, batch, names, types, row)
            row += batch.num_rows


def _batches(
    file: CopyFile, parquet: pq.ParquetFile, names: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    row = 1
    batches = parquet.iter_batches(file.limits.copy_piece, columns=list(names))
    while True:
        try:
            batch = next(batches, None)
        except (pa.ArrowException, OSError) as error:
            file.wrong(row, f"the file is damaged: {error}")
        if batch is None:
            return
        yield batch
        row += batch.num_rows


def _convert_batch(
    file: CopyFile, batch: pa.RecordBatch, names: Sequence[str], types: TypesByName, row: int
) -> pa.Table:
    import pyarrow as pa

    out = []
    for name in names:
        try:
            out.append(cast_values(batch.column(name), types[name]))
        except NoValue as problem:
            file.wrong(row + problem.place, f'column "{name}": {problem.why}')
    return pa.table(out, list(names))
