"""Values: a constant relation; it changes only when it is created."""

from __future__ import annotations

from typing import TYPE_CHECKING

from floodmark.plan import nodes as n
from floodmark.spark.expressions import compile as compile_expr
from floodmark.spark.types import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def batch(node: n.Values, spark: SparkSession, now: int) -> DataFrame:
    """Return the rows."""
    compiled = [[compile_expr(e, now) for e in row] for row in node.rows]
    columns = [quoted(name) for name in node.names]
    aliases = [f"s.c{i} AS {c}" for i, c in enumerate(columns)]
    structs = ", ".join(
        "struct(" + ", ".join(f"{c.value} AS c{i}" for i, c in enumerate(row)) + ")"
        for row in compiled
    )
    frame = spark.range(1).selectExpr(f"explode(array({structs})) AS s")
    return frame.selectExpr(*aliases)
