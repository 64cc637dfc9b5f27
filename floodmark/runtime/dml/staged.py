"""Rows that a statement brings along, where Spark reads them: many go by files, not by a message.

The engine's folder of a warehouse is one that the server sees, wherever it runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from floodmark.catalog.types import Schema
from floodmark.spark.types import nullable_ddl

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

FEW = 5_000
"""So many rows are sent as they are."""
_FILE_ROWS = 250_000
_FEW_BYTES = 2**20


def staged(rows: pa.Table, schema: Schema, spark: SparkSession, folder: Path) -> DataFrame:
    """Return rows as a frame; many are written to `folder` first, which has to outlive the frame.

    Spark has them in any order.
    """
    from pyarrow import parquet as pq

    if rows.num_rows <= FEW and rows.nbytes <= _FEW_BYTES:
        return spark.createDataFrame(rows, schema=nullable_ddl(schema))
    folder.mkdir(parents=True)
    for i, start in enumerate(range(0, rows.num_rows, _FILE_ROWS)):
        pq.write_table(rows.slice(start, _FILE_ROWS), folder / f"{i:06}.parquet")
    return spark.read.schema(nullable_ddl(schema)).parquet(str(folder))
