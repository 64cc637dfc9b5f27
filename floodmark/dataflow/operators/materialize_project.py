"""MaterializeProject: volatile columns are evaluated once per change and stored by stream key.

The new row of a change is evaluated and stored; an old row takes what was stored for its key and
computes the other columns again. A row that a stored column refuses is stored with its error, so
that its dead letter is taken back with it. Where the object's own table holds key and columns
there is no state: old rows travel as their keys (`Rows.replacing`) up to the root. Over rows that
are only added nothing is taken back: the state holds the rows of one epoch, for the case that it is
interrupted after something has used them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from floodmark.changelog import EPOCH, ERROR, WEIGHT
from floodmark.dataflow.context import EpochContext, Input
from floodmark.dataflow.operators.project import label, unknown
from floodmark.dataflow.stored_values import consolidate, expired_values, replaced_rows
from floodmark.plan import nodes as n
from floodmark.scalar.functions.volatile import RowSeed
from floodmark.scalar.types import BIGINT, Field, Schema
from floodmark.spark import keyed
from floodmark.spark.expressions import CompiledExpr, compile as compile_expr
from floodmark.spark.rows import ERROR_FIELD, ERROR_TYPE, Rows, epoch_expr, error_column
from floodmark.spark.types import ident, spark_type
from floodmark.stream.operators.materialize_project import StreamMaterializeProject

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_STORED = "__stored_"
_CHANGED = "__changed_in"


def delta(op: StreamMaterializeProject, inputs: Sequence[Input], ctx: EpochContext) -> Rows | None:
    """Return the changes of the projection."""
    (below,) = inputs
    rows, frame = below.rows, consolidate(below)
    if rows is None or frame is None:
        return None
    if below.operator.append_only:
        return _evaluate_once(op, below, frame, ctx)
    if op.own_table:
        return _keys_and_new_rows(op, below, rows, frame, ctx)
    return _from_state(op, below, frame, ctx)


def _evaluate_once(
    op: StreamMaterializeProject, below: Input, frame: DataFrame, ctx: EpochContext
) -> Rows | None:
    """Return rows that are only added as they were evaluated first, whenever the epoch goes on."""
    node = op.node
    schema = (*node.schema, ERROR_FIELD, Field(EPOCH, BIGINT, nullable=False))
    state = ctx.stages.value_table(op.values.name, schema)

    def fresh() -> DataFrame:
        seeded, seed = _seed(below, frame, ctx)
        compiled = {name: compile_expr(e, ctx.now, seed) for name, e in node.columns}
        error = error_column(_label_all(node, compiled), list(node.input.names))
        values = [f"{c.value} AS {ident(name)}" for name, c in compiled.items()]
        rows = seeded.selectExpr(*values, error or f"CAST(NULL AS {ERROR_TYPE}) AS {ERROR}")
        return rows.selectExpr(*map(ident, node.names), ERROR, epoch_expr(state.epoch))

    stored = state.replace_all(fresh)
    if stored is None:
        return None
    names = [ident(name) for name in node.names]
    rows = stored.selectExpr(*names, f"CAST(1 AS INT) AS {WEIGHT}", ERROR)
    return Rows(rows, failing=True, inserts=True)


def _keys_and_new_rows(
    op: StreamMaterializeProject,
    below: Input,
    rows: Rows,
    frame: DataFrame,
    ctx: EpochContext,
) -> Rows:
    node = op.node
    seeded, seed = _seed(below, frame, ctx)
    compiled = {name: compile_expr(e, ctx.now, seed) for name, e in node.columns}
    columns = [
        f"CASE WHEN {WEIGHT} > 0 THEN {c.value} END AS {ident(name)}"
        if name in node.stored
        else f"{c.value} AS {ident(name)}"
        for name, c in compiled.items()
    ]
    error = error_column(_label_all(node, compiled), rows.letter_columns(node.input.names))
    extra = [WEIGHT, *([error] if error is not None else [])]
    frame = seeded.selectExpr(*columns, *extra)
    missing = unknown(node, rows) | frozenset(node.stored)
    return Rows(frame, failing=error is not None, replacing=True, unknown=missing)


def _from_state(
    op: StreamMaterializeProject, below: Input, frame: DataFrame, ctx: EpochContext
) -> Rows:
    node, table = op.node, op.values
    schema = _schema(node, table.key, table.cleaned_by)
    state = ctx.stages.value_table(table.name, schema)
    new, old = frame.where(f"{WEIGHT} > 0"), frame.where(f"{WEIGHT} < 0")

    def fresh() -> DataFrame:
        seeded, seed = _seed(below, new, ctx)
        compiled = {
            name: compile_expr(e, ctx.now, seed) for name, e in node.columns if name in node.stored
        }
        error = error_column(_label_all(node, compiled), list(node.input.names))
        carried = [ident(f.name) for f in schema if f.name in node.input.names]
        values = [f"{c.value} AS {ident(_STORED + name)}" for name, c in compiled.items()]
        missing = f"CAST(NULL AS {ERROR_TYPE}) AS {ERROR}"
        rows = seeded.selectExpr(*carried, *values, error or missing)
        return rows.selectExpr(*carried, *(ident(_STORED + c) for c in node.stored), ERROR,
                               epoch_expr(state.epoch))  # fmt: skip

    leaving = replaced_rows(below, frame, ctx)
    before = None if ctx.inputs.fills else state.rows_before(leaving.within)
    stored = state.keep(fresh, leaving, expired_values(below, table.cleaned_by, ctx))
    parts = [_join(node, new, stored, table.key, ctx)]
    if before is not None:
        parts.append(_join(node, old, before, table.key, ctx))
    frame = parts[0] if len(parts) == 1 else parts[0].unionAll(parts[1])
    return Rows(frame, failing=True)


def _join(
    node: n.MaterializeProject,
    rows: DataFrame,
    stored: DataFrame | None,
    key: tuple[str, ...],
    ctx: EpochContext,
) -> DataFrame:
    """Return the output rows of input rows, with the values that are stored for them."""
    names = [ident(_STORED + name) for name in node.stored]
    if stored is None:
        types = {name: expr.type for name, expr in node.columns}
        nulls = [
            f"CAST(NULL AS {spark_type(types[c])}) AS {ident(_STORED + c)}" for c in node.stored
        ]
        beside = rows.selectExpr("*", *nulls, f"CAST(NULL AS {ERROR_TYPE}) AS {ERROR}")
    else:
        beside = keyed.left_join(rows, stored, key, [*names, ERROR])
    computed = {
        name: compile_expr(e, ctx.now) for name, e in node.columns if name not in node.stored
    }
    columns = [
        f"{ident(_STORED + name)} AS {ident(name)}"
        if name in node.stored
        else f"{computed[name].value} AS {ident(name)}"
        for name, _ in node.columns
    ]
    error = error_column(_label_all(node, computed), list(node.input.names), failing=True)
    assert error is not None
    return beside.selectExpr(*columns, WEIGHT, error)


def _schema(node: n.MaterializeProject, key: tuple[str, ...], cleaned_by: str | None) -> Schema:
    carried = [node.input.field(c) for c in key]
    if cleaned_by is not None and cleaned_by not in key:
        carried.append(node.input.field(cleaned_by))
    types = {name: expr.type for name, expr in node.columns}
    values = [Field(_STORED + name, types[name]) for name in node.stored]
    return (*carried, *values, ERROR_FIELD, Field(EPOCH, BIGINT, nullable=False))


def _seed(below: Input, frame: DataFrame, ctx: EpochContext) -> tuple[DataFrame, RowSeed]:
    """Return the rows with the epoch in which they change, and what identifies them with it."""
    seed = ctx.seed(below.operator, epoch=_CHANGED)
    return frame.selectExpr("*", epoch_expr(ctx.inputs.epoch, _CHANGED)), seed


def _label_all(
    node: n.MaterializeProject, compiled: dict[str, CompiledExpr]
) -> list[tuple[str, CompiledExpr]]:
    return [(label(node, name), c) for name, c in compiled.items()]
