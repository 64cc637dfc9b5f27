"""Top-N: the first rows of a query's result, in its order; ties fall to the columns in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from floodmark.plan import nodes as n
from floodmark.spark.types import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def order_of(node: n.TopN) -> list[n.SortKey]:
    """Return the asked keys, then, where rows are cut off, every other orderable column."""
    if node.limit is None and not node.offset:
        return list(node.order)
    asked = {key.column for key in node.order}
    rest = (f for f in node.schema if f.name not in asked and f.type.is_orderable)
    return [*node.order, *(n.SortKey(f.name) for f in rest)]


def batch(node: n.TopN, frame: DataFrame) -> DataFrame:
    """Return the rows in order; groups are not available in batch yet."""
    assert not node.group
    keys = [_column(key) for key in order_of(node)]
    ordered = frame.orderBy(*keys) if keys else frame
    ordered = ordered.offset(node.offset) if node.offset else ordered
    return ordered if node.limit is None else ordered.limit(node.limit)


def _column(key: n.SortKey) -> Column:
    from pyspark.sql import functions as F

    column = F.expr(quoted(key.column))
    if key.descending:
        return column.desc_nulls_first() if key.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if key.nulls_first else column.asc_nulls_last()
