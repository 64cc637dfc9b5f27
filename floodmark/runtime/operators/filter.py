"""Filter: keeps the rows for which the predicate is TRUE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from floodmark.changelog import ERROR, WEIGHT
from floodmark.plan import nodes as n
from floodmark.runtime.operators.project import raising
from floodmark.runtime.operators.rows import Rows, error_column
from floodmark.spark.expressions import compile as compile_expr
from floodmark.spark.types import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def delta(node: n.Filter, rows: Rows, now: int) -> Rows:
    """Return the changes that pass, and those on their way to the dead letters."""
    compiled = compile_expr(node.predicate, now)
    if compiled.error is None and not rows.failing:
        return Rows(
            rows.frame.where(compiled.value),
            consolidated=rows.consolidated,
            inserts=rows.inserts,
        )
    label = node.predicate.span.text if node.predicate.span is not None else "WHERE"
    error = error_column([(label, compiled)], list(node.names), rows.failing)
    assert error is not None
    columns = [quoted(name) for name in node.names]
    frame = rows.frame.selectExpr(*columns, WEIGHT, error, f"({compiled.value}) AS __passes")
    kept = frame.where(f"__passes OR {ERROR} IS NOT NULL").drop("__passes")
    return Rows(kept, failing=True, inserts=rows.inserts)


def batch(node: n.Filter, frame: DataFrame, now: int, *, strict: bool = False) -> DataFrame:
    """Return the rows that pass; `strict` raises for a row that the predicate refuses."""
    compiled = compile_expr(node.predicate, now)
    return frame.where(raising(compiled) if strict else compiled.value)
