"""Rows by the keys of others: NULL is a key, and the hint changes no row."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from floodmark.dataflow.merge import merge
from floodmark.scalar.types import INT, VARCHAR, Field
from floodmark.spark import keyed

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("few", [True, False])
def test_rows_among_and_without_the_keys_of_others(spark: SparkSession, few: bool) -> None:
    rows = spark.createDataFrame([(1, "a"), (2, "b"), (None, "c")], "k INT, s STRING")
    others = spark.createDataFrame([(2, 9), (2, 8), (None, 7), (5, 6)], "k INT, n INT")
    parts = [
        keyed.semi_join(rows, others, ["k"], few=few).selectExpr("'in' AS side", "s"),
        keyed.anti_join(rows, others, ["k"], few=few).selectExpr("'out' AS side", "s"),
    ]
    found = parts[0].unionAll(parts[1]).collect()
    assert sorted(map(tuple, found)) == [("in", "b"), ("in", "c"), ("out", "a")]


@pytest.mark.parametrize("few", [True, False])
def test_a_large_table_is_paired_as_a_small_one(spark: SparkSession, few: bool) -> None:
    columns = (Field("k", INT), Field("s", VARCHAR))
    stored = spark.createDataFrame([(1, "a"), (2, "b"), (3, "c")], "k INT, s STRING")
    rows = [(2, "B", 1, (0, 1)), (3, "c", -1, (0, 2)), (4, "d", 1, (0, 3))]
    order = "__order STRUCT<stage: INT, ordinal: INT>"
    operations = spark.createDataFrame(rows, f"k INT, s STRING, __weight INT, {order}")
    chosen = merge.last_per_key(operations, columns, ("k",))
    found = merge.pairs(chosen, stored, columns, ("k",), small=False, few=few).collect()
    pairs = {tuple(None if side is None else side.s for side in row) for row in found}
    assert pairs == {("b", "B"), ("c", None), (None, "d")}
