"""Spark itself: one batch pass, dropped or into files, and Structured Streaming into Delta."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from benchmarks.nexmark.data import SIDE_INPUT
from benchmarks.nexmark.queries import STREAMS, columns_of, query
from floodmark.spark.types import ident, spark_type

UNSAYABLE = {
    "q4": "an aggregate of an aggregate",
    "q6": "a window function",
    "q9": "a window function",
    "q15": "count(DISTINCT)",
    "q16": "count(DISTINCT)",
    "q17": "an aggregate that a Delta sink can take row by row",
    "q18": "a window function",
    "q19": "a window function",
}
"""What Structured Streaming cannot say."""
_STREAMING = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}


def offer(spark: Any, data: Path) -> None:
    """Make the files known to a session under the names of the tables."""
    for table in (*STREAMS, SIDE_INPUT):
        _files(spark.read, table).parquet(str(data / table)).createOrReplaceTempView(table)


def batch(spark: Any, name: str, data: Path, folder: Path | None = None) -> float:
    """Run a query once over all files, into Parquet files or nothing; return the seconds."""
    offer(spark, data)
    started = time.perf_counter()
    writer = spark.sql(query(name, "spark")).write
    if folder is None:
        writer.format("noop").mode("overwrite").save()
    else:
        writer.parquet(str(folder))
    return time.perf_counter() - started


def streaming(spark: Any, name: str, data: Path, folder: Path) -> float:
    """Run a query with one file of each table an epoch into a Delta table; return the seconds.

    Raises RuntimeError where Structured Streaming cannot say the query.
    """
    if name in UNSAYABLE:
        raise RuntimeError(UNSAYABLE[name])
    for key, value in _STREAMING.items():
        spark.conf.set(key, value)
    for table in STREAMS:
        reader = _files(spark.readStream, table, zoned=True).option("maxFilesPerTrigger", 1)
        rows = reader.parquet(str(data / table)).withWatermark("date_time", "4 seconds")
        rows.createOrReplaceTempView(table)
    side = _files(spark.read, SIDE_INPUT).parquet(str(data / SIDE_INPUT))
    side.createOrReplaceTempView(SIDE_INPUT)
    started = time.perf_counter()
    writer = spark.sql(query(name, "streaming")).writeStream.format("delta").outputMode("append")
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    running = writer.trigger(availableNow=True).start(str(folder / "table"))
    running.awaitTermination()
    seconds = time.perf_counter() - started
    if running.exception() is not None:
        raise RuntimeError(str(running.exception())[:500])
    return seconds


def _files(reader: Any, table: str, *, zoned: bool = False) -> Any:
    """Return a reader with the columns of a table; a watermark needs times with a zone."""
    columns = ", ".join(f"{ident(f.name)} {spark_type(f.type)}" for f in columns_of(table))
    return reader.schema(columns.replace("timestamp_ntz", "timestamp_ltz") if zoned else columns)
