"""Filter: keeps the rows for which the predicate is TRUE."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from floodmark.changelog import ERROR, WEIGHT
from floodmark.dataflow.operators.project import raising
from floodmark.plan import nodes as n
from floodmark.scalar.functions.volatile import RowSeed
from floodmark.spark.expressions import compile as compile_expr
from floodmark.spark.rows import Rows, error_column
from floodmark.spark.types import ident

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def delta(node: n.Filter, rows: Rows, now: int, seed: RowSeed | None = None) -> Rows:
    """Return the changes that pass, and those on their way to the dead letters."""
    compiled = compile_expr(node.predicate, now, seed)
    passes = f"{WEIGHT} < 0 OR ({compiled.value})" if rows.replacing else compiled.value
    if compiled.error is None and not rows.failing:
        return replace(rows, frame=rows.frame.where(passes), kinded=False, carried=())
    label = node.predicate.span.text if node.predicate.span is not None else "WHERE"
    error = error_column([(label, compiled)], rows.letter_columns(node.names), failing=rows.failing)
    assert error is not None
    columns = [ident(name) for name in node.names]
    frame = rows.frame.selectExpr(*columns, WEIGHT, error, f"({passes}) AS __passes")
    kept = frame.where(f"__passes OR {ERROR} IS NOT NULL").drop("__passes")
    return replace(rows, frame=kept, failing=True, consolidated=False, kinded=False, carried=())


def batch(node: n.Filter, frame: DataFrame, now: int, *, strict: bool = False) -> DataFrame:
    """Return the rows that pass; `strict` raises for a row that the predicate refuses."""
    compiled = compile_expr(node.predicate, now)
    return frame.where(raising(compiled) if strict else compiled.value)
