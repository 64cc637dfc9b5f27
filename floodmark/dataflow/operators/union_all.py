"""Union all: the rows of all inputs, each with the ordinal of its input."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from floodmark.changelog import ERROR, WEIGHT
from floodmark.plan import nodes as n
from floodmark.spark.rows import ERROR_TYPE, Rows
from floodmark.spark.types import ident

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def delta(node: n.UnionAll, inputs: list[Rows | None]) -> Rows | None:
    """Return the changes of all inputs."""
    present = [(i, rows) for i, rows in enumerate(inputs) if rows is not None]
    if not present:
        return None
    failing = any(rows.failing for _, rows in present)
    frames = [_branch(node, i, rows, failing) for i, rows in present]
    consolidated = all(rows.consolidated for _, rows in present)
    inserts = all(rows.inserts for _, rows in present)
    frame = reduce(lambda a, b: a.unionAll(b), frames)
    return Rows(frame, failing, consolidated, inserts=inserts)


def _branch(node: n.UnionAll, ordinal: int, rows: Rows, failing: bool) -> DataFrame:
    columns = [ident(name) for name in node.branches[0].names]
    columns += [f"CAST({ordinal} AS BIGINT) AS {ident(node.ordinal)}", WEIGHT]
    if failing:
        columns.append(ERROR if rows.failing else f"CAST(NULL AS {ERROR_TYPE}) AS {ERROR}")
    return rows.frame.selectExpr(*columns)


def batch(node: n.UnionAll, frames: list[DataFrame]) -> DataFrame:
    """Return the rows of all inputs."""
    tagged = (
        frame.selectExpr(
            *(ident(name) for name in node.branches[0].names),
            f"CAST({i} AS BIGINT) AS {ident(node.ordinal)}",
        )
        for i, frame in enumerate(frames)
    )
    return reduce(lambda a, b: a.unionAll(b), tagged)
