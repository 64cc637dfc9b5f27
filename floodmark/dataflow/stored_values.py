"""What operators evaluate once: stored by the input's stream key, taken back as it was given out.

A fresh row takes the place of what is stored for its key; an old row finds there what it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from floodmark.dataflow.context import EpochContext, Input
from floodmark.dataflow.materialize import cancel
from floodmark.dataflow.state.leaving_rows import ExpiredRows, ReplacedRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def replaced_rows(below: Input, changes: DataFrame, ctx: EpochContext) -> ReplacedRows:
    """Return the keys whose rows leave the state with the changes of an input."""
    key, lie = below.operator.stream_key, below.bounds
    return ReplacedRows(changes, key, ctx.inputs.few, {c: lie[c] for c in key if c in lie})


def consolidate(below: Input) -> DataFrame | None:
    """Return the changes of an input, with no old row that its new one equals.

    A change of columns that a projection drops is none: nothing is evaluated again for it.
    """
    rows, settled = below.rows, below.materialize()
    if rows is None or settled is None:
        return None
    if rows.inserts or (rows.consolidated and not rows.narrowed):
        return settled
    return cancel(settled, below.operator.node.schema, below.operator.stream_key)


def expired_values(below: Input, cleaned_by: str | None, ctx: EpochContext) -> ExpiredRows | None:
    """Return below what nothing that is stored for an input's row changes any more."""
    if cleaned_by is None:
        return None
    reached = ctx.inputs.watermark(below.operator, cleaned_by, before=False)
    return None if reached is None else ExpiredRows(cleaned_by, reached)
