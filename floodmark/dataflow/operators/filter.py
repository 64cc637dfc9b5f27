"""Filter: keeps the rows for which the predicate is TRUE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from floodmark.changelog import ERROR, WEIGHT
from floodmark.dataflow.context import EpochContext, Input
from floodmark.dataflow.row_errors import raising
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Expr
from floodmark.scalar.functions.volatile import RowSeed
from floodmark.spark.expressions import compile as compile_expr
from floodmark.spark.rows import Rows, error_column
from floodmark.spark.types import ident
from floodmark.stream.operators.filter import StreamFilter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def delta(op: StreamFilter, inputs: Sequence[Input], ctx: EpochContext) -> Rows | None:
    """Return the changes that pass, and those on their way to the dead letters."""
    (below,) = inputs
    if below.rows is None:
        return None
    seed = ctx.seed(below.operator)
    return passing(op.node.predicate, below.rows, op.names, ctx.now, seed)


def passing(
    predicate: Expr,
    rows: Rows,
    names: Sequence[str],
    now: int,
    seed: RowSeed | None = None,
) -> Rows:
    """Return the changes of these columns that pass, and those that are refused."""
    compiled = compile_expr(predicate, now, seed)
    passes = f"{WEIGHT} < 0 OR ({compiled.value})" if rows.replacing else compiled.value
    if compiled.error is None and not rows.failing:
        return replace(rows, frame=rows.frame.where(passes), has_kinds=False, extra_columns=())
    label = predicate.span.text if predicate.span is not None else "WHERE"
    error = error_column([(label, compiled)], rows.letter_columns(names), failing=rows.failing)
    assert error is not None
    columns = [ident(name) for name in names]
    frame = rows.frame.selectExpr(*columns, WEIGHT, error, f"({passes}) AS __passes")
    kept = frame.where(f"__passes OR {ERROR} IS NOT NULL").drop("__passes")
    return replace(
        rows, frame=kept, failing=True, consolidated=False, has_kinds=False, extra_columns=()
    )


def batch(node: n.Filter, frame: DataFrame, now: int, *, strict: bool = False) -> DataFrame:
    """Return the rows that pass; `strict` raises for a row that the predicate refuses."""
    compiled = compile_expr(node.predicate, now)
    return frame.where(raising(compiled) if strict else compiled.value)
