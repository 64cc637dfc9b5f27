"""The rows that a statement writes: as a frame with weight and ordinal, and checked as files.

They are the input of the DML epoch: a replay reads them and does not evaluate the statement again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from floodmark.changelog import ROW_ID, WEIGHT
from floodmark.dataflow.merge.merge import DML_ORDINAL
from floodmark.errors import BindError, Span
from floodmark.plan.build.row_changes import OLD
from floodmark.query.dml.plan_dml import PlannedDml, RowsEffect, columns_of_table
from floodmark.query.query import Reader
from floodmark.scalar.types import Kind as TypeKind
from floodmark.spark.types import ident
from floodmark.storage.plain_files import open_parquet
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables.row_ids import first_row_id

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NESTED = (TypeKind.LIST, TypeKind.STRUCT, TypeKind.MAP)
_WEIGHTS = {RowsEffect.INSERT: 1, RowsEffect.UPDATE: 1, RowsEffect.DELETE: -1}


def dml_frame(
    plan: PlannedDml, target: AnalysedObject, reader: Reader, start: int, *, counted: bool = False
) -> DataFrame:
    """Return the rows to write: the table's columns, weight and ordinal from `start` on.

    Columns of FROM that RETURNING reads go along. Where keys move, all old rows come first. The
    ordinals of `counted` rows are 0, 1, 2, … already, and nothing brings them together to count.
    """
    rows = reader.frame(plan.node)
    have = set(plan.node.names)
    at = DML_ORDINAL if DML_ORDINAL in have else f"monotonically_increasing_id() AS {DML_ORDINAL}"
    own = [_own(f.name, have) for f in target.relation.columns]
    extra = [] if plan.returning is None else [ident(name) for name, _ in plan.returning.passed]
    if plan.effect is RowsEffect.MOVE:
        frame = _split_moves(rows.selectExpr("*", at), own, extra)
    else:
        weight = f"CAST({_WEIGHTS[plan.effect]} AS INT) AS {WEIGHT}"
        frame = rows.selectExpr(*own, *extra, weight, at, "0 AS __part")
    at = DML_ORDINAL if counted else f"__part, {DML_ORDINAL}"
    return number_rows(frame, target, start, extra, at, counted=counted)


def number_rows(
    frame: DataFrame,
    target: AnalysedObject,
    start: int,
    extra: Sequence[str] = (),
    at: str = DML_ORDINAL,
    *,
    counted: bool = False,
) -> DataFrame:
    """Return rows with weight as they are logged: in the order `at`, new ones with a row id.

    `counted` rows have their number in `at`.
    """
    number = at if counted else f"CAST(row_number() OVER (ORDER BY {at}) - 1 AS BIGINT)"
    frame = frame.selectExpr("*", f"{number} AS __number")
    names = []
    for f in target.relation.columns:
        if f.name == ROW_ID:
            fresh = f"{first_row_id(0)}L | (__number + {start}L)"
            names.append(f"coalesce({ROW_ID}, {fresh}) AS {ROW_ID}")
        else:
            names.append(ident(f.name))
    return frame.selectExpr(*names, *extra, WEIGHT, f"__number + {start}L AS {DML_ORDINAL}")


def _own(name: str, have: set[str]) -> str:
    """Return a column of the table; hidden ones of a new row are not known yet."""
    if name in have:
        return ident(name)
    return f"CAST(NULL AS {'BIGINT' if name == ROW_ID else 'STRING'}) AS {name}"


def _split_moves(rows: DataFrame, own: Sequence[str], extra: Sequence[str]) -> DataFrame:
    """Return the old rows as deletes and the new ones as inserts, of one evaluation."""
    ends = [*extra, DML_ORDINAL]
    old = ", ".join(f"{OLD}{i} AS {name}" for i, name in enumerate(own))
    sides = (f"struct({old}, CAST(-1 AS INT) AS {WEIGHT}, 0 AS __part)",
             f"struct({', '.join(own)}, CAST(1 AS INT) AS {WEIGHT}, 1 AS __part)")  # fmt: skip
    both = rows.selectExpr(*ends, f"explode(array({', '.join(sides)})) AS __side")
    return both.selectExpr(*(f"__side.{name}" for name in (*own, WEIGHT, "__part")), *ends)


def count_nested_nulls(paths: Sequence[str], target: AnalysedObject) -> dict[str, int]:
    """Count the NULLs of NOT NULL columns of which files have no statistics: nested ones."""
    columns = columns_of_table(target)
    nested = [c.name for c in columns if c.not_null and c.type.kind in _NESTED]
    if not nested:
        return {}
    counts = dict.fromkeys(nested, 0)
    for path in paths:
        for batch in open_parquet(path).iter_batches(columns=nested):
            for name in nested:
                counts[name] += batch.column(name).null_count
    return counts


def check_rows(nulls: Mapping[str, int], target: AnalysedObject, span: Span | None = None) -> None:
    """Raise E0235 for a NULL in a NOT NULL column; `nulls` counts NULLs per column."""
    for column in columns_of_table(target):
        if column.not_null and nulls.get(column.name):
            raise BindError(
                "E0235",
                f'null value in column "{column.name}" of relation "{target.name}" violates '
                "not-null constraint",
                span=span,
                hint="give a value, or a DEFAULT in the table",
            )
