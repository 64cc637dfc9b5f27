"""Union all: the rows of all inputs, each with the ordinal of its input."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from floodmark.changelog import ERROR, WEIGHT
from floodmark.dataflow.context import EpochContext, Input
from floodmark.plan import nodes as n
from floodmark.spark.rows import ERROR_TYPE, Rows
from floodmark.spark.types import ident
from floodmark.stream.operators.union_all import StreamUnionAll

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def delta(op: StreamUnionAll, inputs: Sequence[Input], ctx: EpochContext) -> Rows | None:
    """Return the changes of all inputs."""
    changed = [(i, branch.rows) for i, branch in enumerate(inputs)]
    present = [(i, rows) for i, rows in changed if rows is not None]
    if not present:
        return None
    failing = any(rows.failing for _, rows in present)
    frames = [_branch(op.node, i, rows, failing) for i, rows in present]
    consolidated = all(rows.consolidated for _, rows in present)
    inserts = all(rows.inserts for _, rows in present)
    narrowed = any(rows.narrowed for _, rows in present)
    frame = reduce(lambda a, b: a.unionAll(b), frames)
    return Rows(frame, failing, consolidated, narrowed=narrowed, inserts=inserts)


def _branch(node: n.UnionAll, ordinal: int, rows: Rows, failing: bool) -> DataFrame:
    columns = [*_columns_of_branch(node, ordinal), WEIGHT]
    if failing:
        columns.append(ERROR if rows.failing else f"CAST(NULL AS {ERROR_TYPE}) AS {ERROR}")
    return rows.frame.selectExpr(*columns)


def batch(node: n.UnionAll, frames: Sequence[DataFrame | None]) -> DataFrame | None:
    """Return the rows of all inputs; None for those of an empty one, or of none."""
    tagged = [
        f.selectExpr(*_columns_of_branch(node, i)) for i, f in enumerate(frames) if f is not None
    ]
    return reduce(lambda a, b: a.unionAll(b), tagged) if tagged else None


def _columns_of_branch(node: n.UnionAll, ordinal: int) -> list[str]:
    columns = [ident(name) for name in node.branches[0].names]
    return [*columns, f"CAST({ordinal} AS BIGINT) AS {ident(node.ordinal)}"]
