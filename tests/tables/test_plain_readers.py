"""Spark, pandas, Polars and DuckDB read the declared columns of a warehouse, and nothing else."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from benchmarks.environments import python_with
from floodmark.spark.cache import cache_folder
from tests.warehouses import Site

DUCKDB = "1.5.5"
PACKAGES = (
    f"duckdb=={DUCKDB}",
    f"duckdb-extension-delta=={DUCKDB}",
    "polars==2.1.0",
    "pandas==3.1.1",
    "deltalake==1.6.6",
    "pyarrow==26.0.1",
)
SQL = (
    "CREATE TABLE t (k INT PRIMARY KEY, v INT NOT NULL, s VARCHAR)",
    "CREATE TABLE u (a INT, b VARCHAR)",
    "CREATE MATERIALIZED VIEW totals AS SELECT s, count(*) AS n, max(v) AS most FROM t GROUP BY s",
    "CREATE MATERIALIZED VIEW odd AS SELECT v + 1 AS w FROM t WHERE v > 1",
    "CREATE MATERIALIZED VIEW wide AS SELECT t.k, u.b FROM t LEFT JOIN u ON t.k = u.a",
    "CREATE MATERIALIZED VIEW first AS SELECT k, v FROM t ORDER BY v DESC, k LIMIT 2",
    "INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'b'), (4, 4, 'c')",
    "INSERT INTO u VALUES (1, 'x'), (1, 'x'), (2, 'y')",
    "UPDATE t SET v = 9 WHERE k = 2",
    "DELETE FROM t WHERE k = 4",
)
NAMES = ("t", "u", "totals", "odd", "wide", "first")

pytestmark = pytest.mark.spark


def test_others_read_the_declared_columns_of_all_kinds(site: Site, spark: SparkSession) -> None:
    site.define()
    with site.connect() as fm:
        for sql in SQL:
            fm.execute(sql)
        said = {name: fm.execute(f"SELECT * FROM {name}") for name in NAMES}
    folders = {name: site.root / "warehouse" / "public" / name for name in NAMES}
    found = _read(folders)
    for name, folder in folders.items():
        columns = [column.name for column in said[name].columns]
        rows = sorted([str(v) for v in row] for row in said[name].rows)
        assert found[name] == {reader: [columns, rows] for reader in found[name]}, name
        frame = spark.read.format("delta").load(str(folder))
        assert frame.columns == columns
        assert sorted([str(v) for v in row] for row in frame.collect()) == rows


def _read(folders: Mapping[str, Path]) -> dict[str, dict[str, list[object]]]:
    """Return what each reader finds in each table: its columns and its rows."""
    python = python_with(
        cache_folder() / f"readers-{DUCKDB}",
        "lib/*/site-packages/duckdb_extension_delta/extensions/*/delta.duckdb_extension",
        *PACKAGES,
    )
    reader = Path(__file__).with_name("plain_readers.py")
    done = subprocess.run(
        [python, reader, *folders.values()], check=True, capture_output=True, text=True
    )
    return dict(zip(folders, map(json.loads, done.stdout.splitlines()), strict=True))
