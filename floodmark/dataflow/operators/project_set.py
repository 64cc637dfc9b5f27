"""ProjectSet: repeats each row for every element of an array, numbered from 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from floodmark.changelog import ERROR
from floodmark.dataflow.context import EpochContext, Input
from floodmark.dataflow.row_errors import raising
from floodmark.plan import nodes as n
from floodmark.spark.expressions import compile as compile_expr
from floodmark.spark.rows import Rows, error_column
from floodmark.spark.types import ident
from floodmark.stream.operators.project_set import StreamProjectSet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PLACE, _ELEMENT = "__place", "__element"


def delta(op: StreamProjectSet, inputs: Sequence[Input], ctx: EpochContext) -> Rows | None:
    """Return the changes, repeated; a row that the call refuses becomes one dead letter."""
    (below,) = inputs
    node, rows = op.node, below.rows
    if rows is None:
        return None
    compiled = compile_expr(node.call, ctx.now, ctx.seed(below.operator))
    label = node.call.span.text if node.call.span is not None else "a table function"
    names = list(node.input.names)
    error = error_column([(label, compiled)], names, failing=rows.failing)
    passed = [*map(ident, names), *replace(rows, has_kinds=False, extra_columns=()).marks]
    frame = rows.frame
    value = compiled.value
    if error is not None:
        # A refused row has no elements; it goes on as one row, with its error.
        frame = frame.selectExpr(*passed, error, f"{value} AS __set")
        passed.append(ERROR)
        value = f"CASE WHEN {ERROR} IS NULL THEN `__set` END"
    return replace(
        rows,
        frame=_explode(node, frame, value, passed, failing=error is not None),
        failing=error is not None,
        consolidated=False,
        has_kinds=False,
        extra_columns=(),
        inserts=rows.inserts,
    )


def batch(node: n.ProjectSet, frame: DataFrame, now: int, *, strict: bool = False) -> DataFrame:
    """Return the rows, repeated; `strict` raises for a row that the call refuses."""
    compiled = compile_expr(node.call, now)
    value = raising(compiled) if strict else compiled.value
    if not strict and compiled.error is not None and node.outer:
        frame = frame.where(f"({compiled.error}) IS NULL")
    return _explode(node, frame, value, [ident(name) for name in node.input.names])


def _explode(
    node: n.ProjectSet, frame: DataFrame, value: str, passed: list[str], *, failing: bool = False
) -> DataFrame:
    """Return one row per element, and one for a set without elements where that is wanted."""
    outer = node.outer or failing
    word = "posexplode_outer" if outer else "posexplode"
    frame = frame.selectExpr(*passed, f"{word}({value}) AS ({_PLACE}, {_ELEMENT})")
    if failing and not node.outer:
        frame = frame.where(f"{_PLACE} IS NOT NULL OR {ERROR} IS NOT NULL")
    fields = [f.name for f in node.call.type.element.fields] if node.call.type.element else []
    made = [f"{_ELEMENT}.{ident(f)}" for f in fields] if node.unpacks else [_ELEMENT]
    outputs = [f"{e} AS {ident(o)}" for e, o in zip(made, node.outputs, strict=True)]
    place = f"coalesce({_PLACE} + 1, 0)" if outer else f"{_PLACE} + 1"
    inputs, marks = passed[: len(node.input.names)], passed[len(node.input.names) :]
    return frame.selectExpr(
        *inputs, *outputs, f"CAST({place} AS BIGINT) AS {ident(node.ordinal)}", *marks
    )
