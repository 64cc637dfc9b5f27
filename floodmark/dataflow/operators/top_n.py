"""Top-N: the first rows of a query's result, or of each group, in their order.

Ties are broken by the input's stream key. Over rows that are only added, the first ones are among
those of before and the new ones: nothing else is read. Otherwise another row takes the place of
one that goes, and the touched groups are computed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from floodmark.changelog import WEIGHT, is_hidden
from floodmark.dataflow.context import EpochContext, Input
from floodmark.dataflow.partitions import recompute_partitions
from floodmark.dataflow.partitions.recompute_partitions import AFTER
from floodmark.dataflow.state_cleaning import expired_rows
from floodmark.plan import nodes as n
from floodmark.scalar.types import INT, Field
from floodmark.spark import keyed
from floodmark.spark.rows import Rows
from floodmark.spark.sorting import sort_key, sort_text
from floodmark.spark.types import ident
from floodmark.stream.operators.top_n import StreamTopN

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


Key = tuple[str, ...]
_PLACE, _RANK = "__place", "__rank"
_MOST = 2**31 - 1
"""The last number that Spark gives: it counts rows in 32 bits, so no limit beyond is reached."""
_OLD, _NOW = "__old_number", "__new_number"
"""BIGINT: what a row among the first ones has as its number, 0 without one; NULL for others."""


def order_of(node: n.TopN, key: Key) -> list[n.SortKey]:
    """Return the asked keys (without any: the visible columns), then the stream key."""
    shown = (f for f in node.input.schema if f.type.is_orderable and not is_hidden(f.name))
    free = () if node.order else (f.name for f in shown)
    asked = {k.column for k in node.order}
    rest = (c for c in (*free, *key) if c not in asked and c not in node.group)
    return [*node.order, *map(n.SortKey, dict.fromkeys(rest))]


def delta(op: StreamTopN, inputs: Sequence[Input], ctx: EpochContext) -> Rows | None:
    """Return the changes of the first rows."""
    (below,) = inputs
    node, key = op.node, below.operator.stream_key
    if op.keeps_first:
        return _from_first(op, below, ctx)
    own = ctx.stages.own_rows(op)
    if own is not None:
        return recompute_partitions.delta_from_own(
            op, below, lambda f: batch(node, f, key), own, ctx
        )

    def compute(tagged: list[DataFrame]) -> DataFrame:
        return batch(node, tagged[0], key, (AFTER,))

    return recompute_partitions.delta(op, [below], compute, ctx)


def batch(node: n.TopN, frame: DataFrame, key: Key, apart: Key = ()) -> DataFrame:
    """Return the first rows; without groups in order. `apart` divides the rows further."""
    if not (node.group or apart or node.with_ties or node.number is not None):
        return _sort(node, frame, key)
    ranked = frame.selectExpr("*", *_places(node, order_of(node, key), (*node.group, *apart)))
    numbered = [] if node.number is None else [f"{_number(node)} AS {ident(node.number)}"]
    names = map(ident, (*node.input.names, *apart))
    chosen = ranked.where(_is_first(node))
    chosen = chosen if node.group or apart else chosen.orderBy(_PLACE)
    return chosen.selectExpr(*names, *numbered)


def _sort(node: n.TopN, frame: DataFrame, key: Key) -> DataFrame:
    whole = node.limit is None and not node.offset
    keys = [_column(node, k) for k in (node.order if whole else order_of(node, key))]
    ordered = frame.orderBy(*keys) if keys else frame
    if node.offset > _MOST:
        return ordered.where("FALSE")
    ordered = ordered.offset(node.offset) if node.offset else ordered
    return ordered if node.limit is None or node.limit > _MOST else ordered.limit(node.limit)


def _column(node: n.TopN, key: n.SortKey) -> Column:
    from pyspark.sql import functions as F

    column = F.expr(sort_text(key.column, node.input.field(key.column).type))
    if key.descending:
        return column.desc_nulls_first() if key.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if key.nulls_first else column.asc_nulls_last()


def _places(node: n.TopN, total: list[n.SortKey], by: Key) -> list[str]:
    """Return the columns that say where a row stands in its group."""
    partition = f"PARTITION BY {', '.join(map(ident, by))} " if by else ""
    out = [f"row_number() OVER ({partition}ORDER BY {_order(node, total)}) AS {_PLACE}"]
    if node.with_ties:
        ranked = (
            f"rank() OVER ({partition}ORDER BY {_order(node, node.order)})" if node.order else "1"
        )
        out.append(f"{ranked} AS {_RANK}")
    return out


def _order(node: n.TopN, keys: Sequence[n.SortKey]) -> str:
    texts = (
        sort_key(sort_text(k.column, node.input.field(k.column).type), k.descending, k.nulls_first)
        for k in keys
    )
    return ", ".join(texts) or "CAST(NULL AS INT)"


def _is_first(node: n.TopN) -> str:
    """Return the condition under which a row's place is among the first."""
    if node.offset > _MOST:
        return "FALSE"
    end = None if node.limit is None else node.offset + node.limit
    if end is None or end > _MOST:
        return f"{_PLACE} > {node.offset}"
    within = f"{_RANK if node.with_ties and node.limit else _PLACE} <= {end}"
    return f"{_PLACE} > {node.offset} AND {within}" if node.offset else within


def _number(node: n.TopN) -> str:
    return f"CAST({_RANK if node.with_ties else _PLACE} AS BIGINT)"


def _from_first(op: StreamTopN, below: Input, ctx: EpochContext) -> Rows | None:
    """Return the changes over rows that are only added: from the first rows and the new ones."""
    node, key = op.node, below.operator.stream_key
    fresh = below.single_use() if ctx.inputs.fills else below.materialize()
    own = ctx.stages.own_rows(op)
    lies = below.bounds
    within = {c: lies[c] for c in node.group if c in lies}
    if own is not None:
        if fresh is None:
            return None
        stored = own.rows_before(within)
        replaced = _replace(node, stored, fresh, key, ctx.inputs.few)
        return Rows(replaced, consolidated=True, inserts=stored is None)
    held = ctx.stages.arrangement(op.first_rows.name, node.schema, expired_rows(op, 0, ctx))
    settled, stored = None, held.rows_before(within)
    if fresh is not None:
        changes = Rows(_replace(node, stored, fresh, key, ctx.inputs.few))
        columns = (*node.schema, Field(WEIGHT, INT, nullable=False))
        settled = ctx.stages.settle(f"{op.identifier}_replaced", changes, columns)
    held.rows_after(settled)
    return None if settled is None else Rows(settled, consolidated=True, inserts=stored is None)


def _replace(
    node: n.TopN, stored: DataFrame | None, fresh: DataFrame, key: Key, few: bool
) -> DataFrame:
    """Return the changes of the first rows, those that only move to another number among them."""
    names = [ident(c) for c in node.names]
    if stored is None:
        return batch(node, fresh, key, ()).selectExpr(*names, f"1 AS {WEIGHT}")
    if node.group:
        stored = keyed.semi_join(stored, fresh, node.group, few=few)
    kept = [ident(c) for c in node.input.names]
    number = "0L" if node.number is None else ident(node.number)
    old = stored.selectExpr(*kept, f"{number} AS {_OLD}")
    rows = old.unionAll(fresh.selectExpr(*kept, f"CAST(NULL AS BIGINT) AS {_OLD}"))
    ranked = rows.selectExpr("*", *_places(node, order_of(node, key), node.group))
    new = f"CASE WHEN {_is_first(node)} THEN {'0L' if node.number is None else _number(node)} END"
    differs = ranked.selectExpr(*kept, _OLD, f"{new} AS {_NOW}").where(f"NOT ({_OLD} <=> {_NOW})")
    sides = f"array(struct(-1 AS w, {_OLD} AS n), struct(1 AS w, {_NOW} AS n))"
    each = f"explode(filter({sides}, s -> s.n IS NOT NULL)) AS __side"
    numbered = [] if node.number is None else [f"__side.n AS {ident(node.number)}"]
    return differs.selectExpr(*kept, each).selectExpr(*kept, *numbered, f"__side.w AS {WEIGHT}")
