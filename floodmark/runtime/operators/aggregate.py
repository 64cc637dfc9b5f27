"""Aggregate with retractions: partial sums of the changes, merged into the state of their groups.

The epoch's *transitions* (one row per touched group: key, old and new accumulators, NULL rows on
a side where the group is not there) are written once and read back: for the state, and for the
changes `-old, +new`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from floodmark.catalog.types import Field, Schema
from floodmark.changelog import WEIGHT, ChangelogMode
from floodmark.plan import nodes as n
from floodmark.runtime.operators import accumulators as acc
from floodmark.runtime.operators.rows import Rows, error_column
from floodmark.spark.types import quoted, spark_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OLD, NEW = "__old_", "__new_"
Grouping = n.Aggregate | n.CloseAggregate


class GroupState(Protocol):
    """The state table of one aggregate in one epoch."""

    def old(self, keys: DataFrame | None) -> DataFrame | None:
        """Return the stored groups (those of `keys` only, where given); None when empty."""

    def scope(self, keys: DataFrame) -> DataFrame | None:
        """Return the input's rows after the epoch whose group is among `keys`."""

    def keep(self, transitions: DataFrame) -> DataFrame:
        """Write the transitions, bring the state up to date, return them read back."""


def parts_of(node: Grouping, mode: ChangelogMode, now: int) -> list[acc.Kept]:
    """Return how each aggregate of the node is kept."""
    return [acc.kept(name, i, call, mode, now) for i, (name, call) in enumerate(node.aggregates)]


def group_fields(node: Grouping) -> Schema:
    """Return the group columns."""
    return tuple(node.input.field(name) for name in node.group)


def transition_schema(node: Grouping, parts: list[acc.Kept]) -> Schema:
    """Return the columns of the transitions."""
    state = acc.state_schema((), parts)
    sides = [Field(prefix + f.name, f.type) for prefix in (OLD, NEW) for f in state]
    return (*group_fields(node), *sides)


def checked(node: Grouping, rows: Rows, now: int) -> Rows:
    """Return the input's changes, those with a failing argument marked for the dead letters."""
    compiled = [
        (name, c) for name, call in node.aggregates for c in acc.errors_of(call, now)
    ]
    names = list(node.input.names)
    error = error_column(compiled, names, rows.failing)
    if error is None:
        return rows
    frame = rows.frame.selectExpr(*(quoted(c) for c in names), WEIGHT, error)
    return Rows(frame, failing=True)


def transitions(
    node: Grouping, changes: DataFrame, parts: list[acc.Kept], state: GroupState
) -> DataFrame:
    """Return one row per touched group with its old and new accumulators."""
    partial = _partial(node, changes, parts)
    scoped = [p for p in parts if p.strategy is acc.Strategy.SCOPE]
    if scoped:
        partial = _with_scope(node, partial, scoped, state)
    old = state.old(partial.selectExpr(*map(quoted, node.group)) if node.group else None)
    merged = _joined(node, partial, old, parts)
    return merged.selectExpr(*map(quoted, node.group), *_sides(node, parts, old is not None))


def _partial(node: Grouping, changes: DataFrame, parts: list[acc.Kept]) -> DataFrame:
    from pyspark.sql import functions as F

    aggregates = [F.expr(f"CAST(sum({WEIGHT}) AS BIGINT)").alias(NEW + acc.ROWS)]
    for part in parts:
        if part.strategy is not acc.Strategy.SCOPE:
            aggregates += [
                F.expr(text).alias(NEW + f.name)
                for f, text in zip(part.columns, part.partial, strict=True)
            ]
    return changes.groupBy(*map(quoted, node.group)).agg(*aggregates)


def _with_scope(
    node: Grouping, partial: DataFrame, scoped: list[acc.Kept], state: GroupState
) -> DataFrame:
    """Add the values that are recomputed from the touched groups' input."""
    from pyspark.sql import functions as F

    keys = partial.selectExpr(*map(quoted, node.group))
    rows = state.scope(keys)
    if rows is None:
        nulls = [
            f"CAST(NULL AS {spark_type(f.type)}) AS {quoted(NEW + f.name)}"
            for p in scoped
            for f in p.columns
        ]
        return partial.selectExpr("*", *nulls)
    values = [
        F.expr(text).alias(NEW + f.name)
        for p in scoped
        for f, text in zip(p.columns, p.partial, strict=True)
    ]
    recomputed = rows.groupBy(*map(quoted, node.group)).agg(*values)
    if not node.group:
        return partial.crossJoin(recomputed)
    right = recomputed.alias("r")
    condition = F.expr(acc.null_safe(node.group, "l.", "r."))
    names = [quoted(NEW + f.name) for p in scoped for f in p.columns]
    joined = partial.alias("l").join(right, condition, "left")
    return joined.selectExpr("l.*", *(f"r.{name}" for name in names))


def _joined(
    node: Grouping, partial: DataFrame, old: DataFrame | None, parts: list[acc.Kept]
) -> DataFrame:
    from pyspark.sql import functions as F

    if old is None:
        return partial
    names = [f.name for f in acc.state_schema((), parts)]
    renamed = old.selectExpr(
        *(f"{quoted(c)} AS {quoted('__g_' + c)}" for c in node.group),
        *(f"{quoted(c)} AS {quoted(OLD + c)}" for c in names),
    )
    keys = " AND ".join(f"{quoted(c)} <=> {quoted('__g_' + c)}" for c in node.group)
    return partial.join(renamed, F.expr(keys or "TRUE"), "left")


def _sides(node: Grouping, parts: list[acc.Kept], has_old: bool) -> list[str]:
    """Return the texts of the old and the new side of a transition."""
    out: list[str] = []
    schema = acc.state_schema((), parts)
    for field in schema:
        name = quoted(OLD + field.name)
        out.append(name if has_old else f"CAST(NULL AS {spark_type(field.type)}) AS {name}")
    rows = acc.Kept("", acc.Strategy.ADDED, schema[:1], (), ("coalesce({old}, 0L) + {new}",), "")
    count = _merged(rows, 0, has_old)
    out.append(f"nullif({count}, 0L) AS {quoted(NEW + acc.ROWS)}")
    for part in parts:
        for i, field in enumerate(part.columns):
            out.append(f"{_merged(part, i, has_old)} AS {quoted(NEW + field.name)}")
    return out


def _merged(part: acc.Kept, i: int, has_old: bool) -> str:
    field = part.columns[i]
    old = quoted(OLD + field.name) if has_old else f"CAST(NULL AS {spark_type(field.type)})"
    return part.merge[i].format(old=old, new=quoted(NEW + field.name))


def changes(node: Grouping, read_back: DataFrame, parts: list[acc.Kept], *, always: bool) -> Rows:
    """Return `-old, +new` of the groups whose visible values differ.

    With `always` (no group columns) a side without rows still has the values of an empty group.
    """
    old = _output(node, parts, OLD, always)
    new = _output(node, parts, NEW, always)
    pairs = read_back.selectExpr(f"{old} AS o", f"{new} AS n").where("NOT (o <=> n)")
    columns = [f"e.r.{quoted(name)}" for name in node.names]
    signed = (
        f"explode(filter(array(struct(-1 AS {WEIGHT}, o AS r), struct(1 AS {WEIGHT}, n AS r)), "
        "x -> x.r IS NOT NULL)) AS e"
    )
    frame = pairs.selectExpr(signed).selectExpr(*columns, f"e.{WEIGHT}")
    return Rows(frame, consolidated=True)


def _output(node: Grouping, parts: list[acc.Kept], prefix: str, always: bool) -> str:
    """Return the text of one side's output row as a struct, NULL where the group is absent."""
    fields = [f"{quoted(c)} AS {quoted(c)}" for c in node.group]
    for part, (name, call) in zip(parts, node.aggregates, strict=True):
        value = part.finish.replace("{p}", prefix)
        fields.append(f"CAST({value} AS {spark_type(call.type)}) AS {quoted(name)}")
    row = f"struct({', '.join(fields)})"
    if always:
        return row
    return f"CASE WHEN {quoted(prefix + acc.ROWS)} IS NOT NULL THEN {row} END"


def batch(node: Grouping, frame: DataFrame, now: int) -> DataFrame:
    """Return one row per group."""
    from pyspark.sql import functions as F

    if not node.aggregates:
        return frame.select(*map(quoted, node.group)).distinct()
    calls = [F.expr(acc.batch_text(call, now)).alias(name) for name, call in node.aggregates]
    grouped = frame.groupBy(*map(quoted, node.group)).agg(*calls)
    casts = [
        f"CAST({quoted(name)} AS {spark_type(call.type)}) AS {quoted(name)}"
        for name, call in node.aggregates
    ]
    return grouped.selectExpr(*map(quoted, node.group), *casts)

