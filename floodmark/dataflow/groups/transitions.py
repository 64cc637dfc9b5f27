"""Transitions of groups: one row per group that changes touch, its old and new accumulators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from floodmark.changelog import WEIGHT
from floodmark.dataflow.context import EpochContext, Input, keys_to_read
from floodmark.dataflow.groups import accumulators as acc, panes
from floodmark.dataflow.groups.shared_state import share_columns
from floodmark.dataflow.key_sets import ALL_KEYS, KeySets, key_sets
from floodmark.dataflow.row_errors import raise_text
from floodmark.dataflow.state.groups import AggregateState, GroupKeys, WrittenKeys
from floodmark.dataflow.state.own import OwnGroups
from floodmark.scalar.types import Field, Schema
from floodmark.spark import keyed
from floodmark.spark.rows import never_negative
from floodmark.spark.types import ident, spark_type
from floodmark.storage.files.key_search import FileColumn
from floodmark.stream.operators.accumulator_columns import (
    NEW,
    OLD,
    ROWS,
    GroupingNode,
    accumulator_names,
    group_fields,
    ties_of,
    value_columns,
)
from floodmark.stream.properties.bounds import Bounds
from floodmark.stream.properties.strategy import KeepGroups, Upkeep

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

StoredGroups = AggregateState | OwnGroups
"""Groups at rest, in a state table or in the object's own table."""


def parts_of(node: GroupingNode, keeps: KeepGroups, now: int) -> list[acc.Accumulation]:
    """Return the columns and texts by which each aggregate of the node is kept."""
    ties, values = ties_of(node), value_columns(keeps.distinct)
    kept = zip(node.aggregates, keeps.upkeeps, strict=True)
    parts = (
        acc.accumulate(name, i, call, upkeep, now, ties, values=values.get(i))
        for i, ((name, call), upkeep) in enumerate(kept)
    )
    return share_columns(parts, accumulator_names(node, keeps, acc.printer(now)))


def transition_schema(node: GroupingNode, parts: list[acc.Accumulation]) -> Schema:
    """Return the columns of the transitions."""
    state = acc.state_schema((), parts)
    sides = [Field(prefix + f.name, f.type) for prefix in (OLD, NEW) for f in state]
    return (*group_fields(node), *sides)


def transitions(
    node: GroupingNode,
    below: Input,
    changes: DataFrame,
    parts: list[acc.Accumulation],
    state: StoredGroups,
    ctx: EpochContext,
    widened: DataFrame | None = None,
) -> DataFrame:
    """Return one row per touched group with its old and new accumulators, and stored old values.

    `widened` are the changes with what comes and goes of the values of DISTINCT.
    """
    scoped = [p for p in parts if p.upkeep is Upkeep.SCOPE]
    if scoped and widened is None and _is_whole_input(below, ctx):
        added, scoped = parts, []
    else:
        added = [p for p in parts if p.upkeep is not Upkeep.SCOPE]
    paned = _rows_of_panes(node, below, added, ctx) if widened is None else None
    if paned is not None:
        partial = panes.add_up(node, paned, added, lambda by, rows: partial_of(by, rows, added))
    else:
        partial = partial_of(node.group, changes if widened is None else widened, added)
    within = {name: below.bounds[name] for name in node.group if name in below.bounds}
    if scoped:
        rows = below.rows_after(within, _keys_of_groups(node, below, changes))
        accept = None if rows is None else drop_refused(node, rows, ctx.now)
        partial = _with_scope(node, partial, scoped, accept, ctx.inputs.few)

    def places() -> Mapping[str, Sequence[FileColumn]]:
        return ctx.key_files(below, node.group)

    return merge_stored(node, partial, changes, parts, state, within, ctx, places)


def _keys_of_groups(node: GroupingNode, below: Input, changes: DataFrame) -> KeySets:
    """Return the keys of the touched groups, by which an input is read that is computed."""

    def look() -> KeySets:
        return key_sets(changes, ((c, c) for c in node.group))

    if below.operator.is_scanned:
        return ALL_KEYS
    return keys_to_read(below, {c: [(below, c)] for c in node.group}, look)


def merge_stored(
    node: GroupingNode,
    partial: DataFrame,
    changes: DataFrame,
    parts: list[acc.Accumulation],
    state: StoredGroups,
    within: Bounds,
    ctx: EpochContext,
    written: WrittenKeys = dict,
) -> DataFrame:
    """Return the touched groups: their changes beside their stored accumulators, and both merged.

    The keys of the touched groups lie within the bounds; see `GroupKeys`.
    """
    rows = (partial if _has_many(ctx) else changes).selectExpr(*map(ident, node.group))
    stored = state.find_groups(GroupKeys(rows, node.group, within, written))
    values = tuple(node.field(name) for name, _ in node.aggregates) if state.values else ()
    merged = _join(node, partial, stored, parts, values)
    sides = _sides(node, parts, values, stored is not None)
    return merged.selectExpr(*map(ident, node.group), *sides)


def _has_many(ctx: EpochContext) -> bool:
    """Tell whether the changes are so many, or may be, that each key is to be asked for once."""
    rows = ctx.inputs.rows
    return rows is None or rows > ctx.inputs.limits.distinct_rows


def _is_whole_input(below: Input, ctx: EpochContext) -> bool:
    """Tell whether the changes of the input are all of its rows, which nobody has to arrange."""
    if not ctx.inputs.fills or not below.operator.has_arrangement:
        return False
    return below.rows is not None and below.rows.inserts


def _rows_of_panes(
    node: GroupingNode, below: Input, parts: list[acc.Accumulation], ctx: EpochContext
) -> DataFrame | None:
    """Return the changes below hopping windows, where the groups are added up by their panes."""
    if not panes.pay(node, parts, ctx.inputs.limits, many=_has_many(ctx)):
        return None
    (timed,) = below.inputs
    fails = any(c.error for _, call in node.aggregates for c in acc.errors_of(call, ctx.now))
    rows = timed.rows
    return None if rows is None or rows.failing or fails else rows.frame


def partial_of(
    group: Sequence[str], changes: DataFrame, parts: list[acc.Accumulation]
) -> DataFrame:
    """Return the partial accumulators of the changes, per group."""
    from pyspark.sql import functions as F

    aggregates = [F.expr(f"CAST(sum({WEIGHT}) AS BIGINT)").alias(NEW + ROWS)]
    for part in parts:
        aggregates += [
            F.expr(text).alias(NEW + f.name)
            for f, text in zip(part.columns, part.partial, strict=True)
        ]
    return changes.groupBy(*map(ident, group)).agg(*aggregates)


def _with_scope(
    node: GroupingNode,
    partial: DataFrame,
    scoped: list[acc.Accumulation],
    rows: DataFrame | None,
    few: bool,
) -> DataFrame:
    """Add the values that are recomputed from the touched groups' input."""
    from pyspark.sql import functions as F

    if rows is None:
        nulls = [
            f"CAST(NULL AS {spark_type(f.type)}) AS {ident(NEW + f.name)}"
            for p in scoped
            for f in p.columns
        ]
        return partial.selectExpr("*", *nulls)
    values = [
        F.expr(text).alias(NEW + f.name)
        for p in scoped
        for f, text in zip(p.columns, p.partial, strict=True)
    ]
    if node.group:
        rows = keyed.semi_join(rows, partial, node.group, few=few)
    recomputed = rows.groupBy(*map(ident, node.group)).agg(*values)
    if not node.group:
        return partial.crossJoin(recomputed)
    right = recomputed.alias("r")
    condition = F.expr(acc.null_safe(node.group, "l.", "r."))
    names = [ident(NEW + f.name) for p in scoped for f in p.columns]
    joined = partial.alias("l").join(right, condition, "left")
    return joined.selectExpr("l.*", *(f"r.{name}" for name in names))


def _join(
    node: GroupingNode,
    partial: DataFrame,
    old: DataFrame | None,
    parts: list[acc.Accumulation],
    values: Schema,
) -> DataFrame:
    if old is None:
        return partial
    names = [f.name for f in (*acc.state_schema((), parts), *values)]
    return keyed.left_join(
        partial, old, node.group, [f"{ident(c)} AS {ident(OLD + c)}" for c in names]
    )


def _sides(
    node: GroupingNode, parts: list[acc.Accumulation], values: Schema, has_old: bool
) -> list[str]:
    """Return the texts of the old and the new side of a transition."""
    out: list[str] = []
    schema = acc.state_schema((), parts)
    for field in (*schema, *values):
        name = ident(OLD + field.name)
        out.append(name if has_old else f"CAST(NULL AS {spark_type(field.type)}) AS {name}")
    rows = acc.Accumulation(
        "", Upkeep.ADDED, schema[:1], (), ("coalesce({old}, 0L) + coalesce({new}, 0L)",), ""
    )
    count = _merge_text(rows, 0, has_old)
    there = never_negative(count, f"nullif({count}, 0L)")
    out.append(f"{there} AS {ident(NEW + ROWS)}")
    for part in parts:
        for i, field in enumerate(part.columns):
            out.append(f"{_merge_text(part, i, has_old)} AS {ident(NEW + field.name)}")
    return out


def _merge_text(part: acc.Accumulation, i: int, has_old: bool) -> str:
    field = part.columns[i]
    old = ident(OLD + field.name) if has_old else f"CAST(NULL AS {spark_type(field.type)})"
    return part.merge[i].format(old=old, new=ident(NEW + field.name))


def drop_refused(
    node: GroupingNode, frame: DataFrame, now: int, *, strict: bool = False
) -> DataFrame:
    """Return the rows that no argument or FILTER refuses; `strict` raises for one that does."""
    compiled = [c for _, call in node.aggregates for c in acc.errors_of(call, now)]
    for error, message in {c.error: c.message for c in compiled if c.error is not None}.items():
        if strict:
            stop = raise_text(error, message)
            frame = frame.where(f"CASE WHEN ({error}) IS NOT NULL THEN {stop} ELSE TRUE END")
        else:
            frame = frame.where(f"({error}) IS NULL")
    return frame
