"""Rows of a statement's constants, given to Spark: many are passed as files, not in a message.

The engine's folder of a warehouse is one that the server sees, wherever it runs. Nothing here holds
more than a few pieces of the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING

from floodmark.limits import Limits
from floodmark.scalar.types import Schema
from floodmark.spark.types import nullable_ddl
from floodmark.storage.files.rewrite import columns_with_bounds
from floodmark.storage.local_files import disk_errors
from floodmark.storage.plain_files import parquet_writer

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet as pq
    from pyspark.sql import DataFrame, SparkSession


def stage_rows(
    pieces: Iterable[pa.Table], schema: Schema, spark: SparkSession, folder: str, limits: Limits
) -> DataFrame:
    """Return rows as a frame; many are written to `folder` first, which has to outlive the frame.

    Columns that are in no piece are NULL. Spark has the rows in any order.
    """
    import pyarrow as pa

    waiting, held = iter(pieces), list[pa.Table]()
    for piece in waiting:
        held.append(piece)
        rows, size = sum(p.num_rows for p in held), sum(p.nbytes for p in held)
        if rows > limits.staged_rows or size > limits.staged_bytes:
            write_pieces(_chain_pieces(held, waiting), folder, limits.staged_file_rows)
            return spark.read.schema(nullable_ddl(schema)).parquet(folder)
    if not any(piece.num_rows for piece in held):
        return spark.createDataFrame([], schema=nullable_ddl(schema))
    rows = pa.concat_tables(held).select([f.name for f in schema])
    return spark.createDataFrame(rows, schema=nullable_ddl(schema))


def _chain_pieces(held: list[pa.Table], others: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Yield the pieces that are held, and let go of each, then the others."""
    while held:
        yield held.pop(0)
    yield from others


def write_pieces(pieces: Iterable[pa.Table], folder: str, file_rows: int) -> int:
    """Write the rows of pieces, which have the same columns, as files; return how many there are.

    The next piece is made while one is written.
    """
    rows = 0
    with disk_errors(folder.rpartition("/")[2]), closing(_Files(folder, file_rows)) as files:
        for piece in _ahead(iter(pieces)):
            files.write(piece)
            rows += piece.num_rows
    return rows


def _ahead(pieces: Iterator[pa.Table]) -> Iterator[pa.Table]:
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, pieces, None)
        while (piece := coming.result()) is not None:
            coming = pool.submit(next, pieces, None)
            yield piece


class _Files:
    """Parquet files of a folder, each of so many rows at most; their names are in order."""

    def __init__(self, folder: str, most: int) -> None:
        self._folder = folder
        self._most = most
        self._writer: pq.ParquetWriter | None = None
        self._number = self._room = 0

    def write(self, rows: pa.Table) -> None:
        """Write rows behind those before."""
        while rows.num_rows:
            if not self._room:
                self._begin(rows)
            assert self._writer is not None
            self._writer.write_table(rows.slice(0, self._room))
            written = min(self._room, rows.num_rows)
            self._room, rows = self._room - written, rows.slice(written)

    def _begin(self, rows: pa.Table) -> None:
        self.close()
        self._writer = parquet_writer(
            f"{self._folder}/{self._number:06}.parquet",
            rows.schema,
            compression="zstd",
            compression_level=1,
            write_statistics=columns_with_bounds(rows),
            store_decimal_as_integer=True,
        )
        self._number, self._room = self._number + 1, self._most

    def close(self) -> None:
        """Finish the file that is open."""
        if self._writer is not None:
            self._writer.close()
        self._writer, self._room = None, 0
