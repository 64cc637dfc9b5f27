"""Project: computes columns, row by row; a row that an expression refuses becomes a dead letter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from floodmark.dataflow.context import EpochContext, Input
from floodmark.dataflow.row_errors import raising
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import ColumnRef, columns_of
from floodmark.scalar.functions.volatile import RowSeed
from floodmark.spark.expressions import CompiledExpr, compile as compile_expr
from floodmark.spark.rows import Rows, error_column
from floodmark.spark.types import ident
from floodmark.stream.operators.project import StreamProject

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def _compile(
    node: n.Project, now: int, seed: RowSeed | None = None
) -> list[tuple[str, CompiledExpr]]:
    return [(name, compile_expr(expr, now, seed)) for name, expr in node.columns]


def label(node: n.Project | n.MaterializeProject, name: str) -> str:
    """Return what an error calls a column: the text of its expression, else its name."""
    span = next((e.span for c, e in node.columns if c == name), None)
    return span.text if span is not None and span.text else name


def delta(op: StreamProject, inputs: Sequence[Input], ctx: EpochContext) -> Rows | None:
    """Return the projected changes."""
    (below,) = inputs
    node, rows = op.node, below.rows
    if rows is None:
        return None
    compiled = _compile(node, ctx.now, ctx.seed(below.operator))
    labelled = [(label(node, name), c) for name, c in compiled]
    error = error_column(labelled, rows.letter_columns(node.input.names), failing=rows.failing)
    columns = [f"{c.value} AS {ident(name)}" for name, c in compiled]
    extra = rows.marks + ([error] if error is not None else [])
    alike, whole = all(isinstance(e, ColumnRef) for _, e in node.columns), node.renames
    frame = rows.frame.selectExpr(*columns, *extra)
    return replace(
        rows,
        frame=frame,
        failing=error is not None,
        consolidated=rows.consolidated and alike,
        narrowed=rows.narrowed or not whole,
        has_kinds=rows.has_kinds and whole,
        extra_columns=rows.extra_columns if whole else (),
        unknown=unknown(node, rows),
    )


def unknown(node: n.Project | n.MaterializeProject, rows: Rows) -> frozenset[str]:
    """Return the columns that old rows do not have, because they read such columns."""
    return frozenset(name for name, expr in node.columns if columns_of(expr) & rows.unknown)


def batch(node: n.Project, frame: DataFrame, now: int, *, strict: bool = False) -> DataFrame:
    """Return the projected rows without those that an expression refuses; `strict` raises."""
    compiled = _compile(node, now)
    if strict:
        return frame.selectExpr(*(f"{raising(c)} AS {ident(name)}" for name, c in compiled))
    errors = [c.error for _, c in compiled if c.error is not None]
    if errors:
        frame = frame.where(" AND ".join(f"({e}) IS NULL" for e in errors))
    return frame.selectExpr(*(f"{c.value} AS {ident(name)}" for name, c in compiled))
