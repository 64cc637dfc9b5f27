"""What is recomputed of a window is all that a change concerns: compared with whole partitions."""

from __future__ import annotations

import random
from collections import Counter
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from floodmark.dataflow.operators import over_window
from floodmark.dataflow.partitions import affected_frames, frames
from floodmark.dataflow.partitions.recompute_partitions import AFTER
from floodmark.plan import nodes as n
from floodmark.stream.properties.reach import reach_of
from tests.program_reference import compile_sql

pytestmark = pytest.mark.spark
PARTITIONS = 300
TYPES = "k INT, g INT, a INT, m DECIMAL(10,2), x DOUBLE, ts TIMESTAMP_NTZ, d DATE"
TABLE = (
    "CREATE TABLE t (k INT PRIMARY KEY, g INT, a INT, m NUMERIC(10, 2), x DOUBLE PRECISION, "
    "ts TIMESTAMP, d DATE); CREATE MATERIALIZED VIEW v AS SELECT *, "
)
WINDOWS = {
    "lag and lead": ("a", "lag(k, 2) OVER w AS p, lead(a) OVER w AS q"),
    "rows": ("a DESC", "sum(k) OVER (w ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS p"),
    "rows ahead": ("x", "sum(k) OVER (w ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) AS p"),
    "groups": ("a", "sum(k) OVER (w GROUPS BETWEEN 1 PRECEDING AND 2 FOLLOWING EXCLUDE TIES)"),
    "groups and rows": ("m DESC", "sum(k) OVER (w GROUPS CURRENT ROW) AS p, lag(k) OVER w AS q"),
    "integers": ("a", "sum(k) OVER (w RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS p"),
    "integers back": ("a DESC", "sum(k) OVER (w RANGE 2 PRECEDING) AS p"),
    "decimals": ("m", "sum(k) OVER (w RANGE BETWEEN 0.25 FOLLOWING AND 1.5 FOLLOWING) AS p"),
    "doubles": ("x", "sum(k) OVER (w RANGE BETWEEN 0.5 PRECEDING AND 0.5 FOLLOWING) AS p"),
    "doubles back": ("x DESC", "sum(k) OVER (w RANGE 0.5 PRECEDING) AS p"),
    "times": ("ts", "sum(k) OVER (w RANGE BETWEEN '1 minute' PRECEDING AND '30 s' FOLLOWING)"),
    "months": (
        "d DESC",
        "sum(k) OVER (w RANGE BETWEEN '1 month' PRECEDING AND '2 months' FOLLOWING)",
    ),
}
"""By name the order of a window and what is computed over it."""


def window_of(name: str) -> n.OverWindow:
    """Return the node of a window."""
    order, calls = WINDOWS[name]
    plan = compile_sql(f"{TABLE}{calls} FROM t WINDOW w AS (PARTITION BY g ORDER BY {order})")[
        "v"
    ].plan
    assert plan is not None
    (found,) = (node for node in plan.nodes if isinstance(node, n.OverWindow))
    return found


def some_row(draw: random.Random, k: int, g: int) -> tuple[Any, ...]:
    """Return a row with values that are close to each other, or NULL."""
    double = draw.choice([0.0, -0.0, 0.5, 1.0, 2.5, float("nan"), float("inf"), float("-inf")])
    values = (
        draw.randint(-3, 6),
        Decimal(draw.randint(-8, 16)) / 4,
        double,
        datetime(2024, 1, 1) + timedelta(seconds=draw.randint(0, 20) * 15),
        date(2024, 1, 1) + timedelta(days=draw.choice([0, 28, 29, 30, 31, 58, 59, 60, 89, 90])),
    )
    return (k, g, *(None if draw.random() < 0.15 else v for v in values))


def partition(draw: random.Random, g: int) -> list[tuple[Any, ...]]:
    """Return one partition's rows before, after and where something changed: tagged so."""
    before = {k: some_row(draw, k, g) for k in range(draw.randint(0, 12))}
    after = dict(before)
    for k in draw.choices(range(14), k=draw.choice([0, 1, 1, 2, 4])):
        after.pop(k, None)
        if draw.random() < 0.6:
            after[k] = some_row(draw, k, g)
    places = [
        side[k]
        for k in range(14)
        for side in (before, after)
        if k in side and before.get(k) is not after.get(k)
    ]
    tagged = ((before.values(), False), (after.values(), True), (places, None))
    return [(*row, tag) for rows, tag in tagged for row in rows]


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    draw = random.Random(7)
    made = [row for g in range(PARTITIONS) for row in partition(draw, g)]
    return spark.createDataFrame(made, f"{TYPES}, {AFTER} BOOLEAN")


def changes(done: DataFrame) -> Counter[tuple[str, ...]]:
    """Return how often more a row is there after than before."""
    found: Counter[tuple[str, ...]] = Counter()
    for row in done.toArrow().to_pylist():
        sign = 1 if row.pop(AFTER) else -1
        row["x"] = None if row["x"] is None else row["x"] + 0.0
        found[tuple(map(str, row.values()))] += sign
    return Counter({row: count for row, count in found.items() if count})


@pytest.mark.parametrize("name", WINDOWS)
def test_touched_rows_are_all_that_change(name: str, rows: DataFrame) -> None:
    node = window_of(name)
    reach = reach_of(node)
    assert reach is not None
    sides = rows.where(f"{AFTER} IS NOT NULL")
    whole = over_window.batch(node, sides, 0, ("k",), (AFTER,))
    tagged = rows.select(*node.input.names, AFTER)
    narrow = affected_frames.rows_of(node, tagged, reach, frames.total_order(node, ("k",)))
    found = over_window.batch(node, narrow, 0, ("k",), (AFTER,), (affected_frames.TOUCHED_MARK,))
    kept = found.where(affected_frames.TOUCHED_MARK).drop(affected_frames.TOUCHED_MARK)
    assert changes(kept) == changes(whole)
    assert narrow.count() < sides.count()
