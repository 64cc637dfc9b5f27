"""The demo's tables on a week of real flights: equal to Spark batch, and open to other readers.

Batch is plain Spark SQL over the input tables, on the text of the pipeline files.
"""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from floodmark.api import Floodmark
from floodmark.spark.cache import cache_folder
from floodmark.spark.jars import extra_jars
from floodmark.spark.java import find_java
from floodmark.tools.equivalence import compare, compares
from tests.demo_week import queries
from tests.warehouses import Site

pytestmark = pytest.mark.spark
QUERIES = queries()
READ = ("departures", "watched_routes", "route_delays", "hourly_departures")
"""A source, a table, a view that updates and one that does not."""
CLOSING = "hourly_departures"
TUMBLE = re.compile(r"TUMBLE\((\w+), (\w+), INTERVAL '1 hour'\)")
PLAIN = """
import pickle, sys
from pathlib import Path
from pyspark.sql import SparkSession
jars, root, *names = sys.argv[1:]
confs = {
    "spark.jars": jars, "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1",
    "spark.sql.session.timeZone": "UTC", "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.host": "127.0.0.1", "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
builder = SparkSession.builder.master("local[1]").config(map=confs)
spark = builder.getOrCreate()
found = {}
for name in names:
    frame = spark.read.format("delta").load(f"{root}/public/{name}")
    found[name] = (frame.columns, [tuple(row) for row in frame.collect()])
sys.stdout.buffer.write(pickle.dumps(found))
"""


@pytest.fixture(scope="module")
def fm(week: Site) -> Iterator[Floodmark]:
    """Yield a connection to the undisturbed week."""
    with week.connect("undisturbed") as opened:
        yield opened


def batch(text: str) -> str:
    """Return a view's query as Spark says it."""
    hours = r"(SELECT *, window(\2, '1 hour').start AS window_start FROM \1)"
    return TUMBLE.sub(hours, text).replace("EMIT ON WINDOW CLOSE", "")


def folder(fm: Floodmark, name: str) -> str:
    """Return where the rows of an object lie."""
    return str(fm.root / "public" / name)


def offer(fm: Floodmark, spark: SparkSession, name: str, version: int) -> None:
    """Make the files of a version of an object's table known to Spark under its name."""
    shown = [f.name for f in fm.deployed.pipeline[name].relation.visible]
    files = DeltaTable(folder(fm, name), version=version).file_uris()
    spark.read.parquet(*files).select(*shown).createOrReplaceTempView(name)


def rows_of(table: pa.Table) -> Counter[Any]:
    """Return rows as a multiset, fractions to six places."""
    columns = [column.to_pylist() for column in table.columns]
    return Counter(tuple(map(_plain, row)) for row in zip(*columns, strict=True))


def _plain(value: Any) -> Any:
    return round(float(value), 6) if isinstance(value, float | Decimal) else value


def test_every_view_equals_its_query_in_batch_after_each_epoch(
    fm: Floodmark, spark: SparkSession
) -> None:
    log = fm.warehouse.log
    compared: Counter[str] = Counter()
    for epoch in range(2, log.head().sealed + 1):
        records = log.seal_record(epoch).objects
        versions = {n: r.versions[f"_rows/public/{n}"] for n, r in records.items()}
        for name, text in QUERIES.items():
            reads = fm.deployed.pipeline[name].reads
            if not any(records[n].touched for n in (name, *reads)):
                continue
            for source in reads:
                offer(fm, spark, source, versions[source])
            expected = spark.sql(batch(text))
            if name == CLOSING:
                mark = records["departures"].watermarks["scheduled_at"]
                expected = expected.where(
                    f"window_start + INTERVAL '1 hour' <= TIMESTAMP_NTZ '{mark}'"
                )
            shown = [f.name for f in fm.deployed.pipeline[name].relation.visible]
            stored = DeltaTable(folder(fm, name), version=versions[name]).to_pyarrow_table(
                columns=shown
            )
            found = rows_of(stored)
            assert found == rows_of(expected.toArrow()), (name, epoch)
            compared[name] += bool(found)
    assert set(compared) == set(QUERIES) and min(compared.values()) >= 2


WIDE = """
SELECT origin, hour, max(n) AS departures, max(late) AS departure_delay, max(m) AS arrivals,
       max(after) AS arrival_delay, max(temp) AS temp, max(wind_speed) AS wind_speed,
       max(visib) AS visib
FROM (
    SELECT origin, window_start AS hour, departures AS n, mean_delay AS late, NULL AS m,
           NULL AS after, NULL AS temp, NULL AS wind_speed, NULL AS visib FROM hourly_departures
    UNION ALL
    SELECT origin, CAST(date_trunc('hour', scheduled_at) AS TIMESTAMP_NTZ), NULL, NULL, count(*),
           avg(arr_delay), NULL, NULL, NULL FROM arrivals GROUP BY 1, 2
    UNION ALL
    SELECT origin, observed_at, NULL, NULL, NULL, NULL, temp, wind_speed, visib FROM weather
) GROUP BY origin, hour
"""


def test_the_wide_table_is_what_its_three_streams_have_of_each_hour(
    fm: Floodmark, spark: SparkSession
) -> None:
    sealed = fm.warehouse.log.head().sealed
    records = fm.warehouse.log.seal_record(sealed).objects
    for source in ("hourly_departures", "arrivals", "weather"):
        offer(fm, spark, source, records[source].versions[f"_rows/public/{source}"])
    found = DeltaTable(folder(fm, "airport_hours")).to_pyarrow_table(
        columns=[f.name for f in fm.deployed.pipeline["airport_hours"].relation.visible]
    )
    rows = rows_of(found)
    assert rows == rows_of(spark.sql(WIDE).toArrow())
    assert sum(None not in row for row in rows) > 100


def test_the_check_of_the_engine_agrees(fm: Floodmark) -> None:
    views = [o.key for o in fm.deployed.pipeline.writing_objects if compares(o)]
    assert {*views, CLOSING} == set(QUERIES)
    found = compare(fm, views)
    assert {key: (d.missing, d.surplus) for key, d in found.items()} == dict.fromkeys(views, (0, 0))


@pytest.mark.long
def test_delta_spark_and_deltalake_read_the_same_rows(fm: Floodmark) -> None:
    for name, (columns, rows) in read_by_delta_spark(fm.root, READ).items():
        table = DeltaTable(folder(fm, name)).to_pyarrow_table(columns=columns)
        assert {f.name for f in fm.deployed.pipeline[name].relation.visible} <= set(columns)
        assert Counter(rows) == Counter(zip(*table.to_pydict().values(), strict=True)), name
        assert rows, name


def read_by_delta_spark(root: Path, names: Sequence[str]) -> Any:
    """Read tables in a process that knows Spark and Delta and nothing of the engine."""
    java = find_java()
    jars = ",".join(map(str, extra_jars(cache_folder(), java)))
    # This process' variables would make it a client of the engine's server.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SPARK_")}
    done = subprocess.run(
        [sys.executable, "-c", PLAIN, jars, str(root), *names],
        env={**environment, "JAVA_HOME": str(java.executable.parents[1]), "TZ": "UTC"},
        capture_output=True, check=False, timeout=180,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    return pickle.loads(done.stdout)
