"""Aggregate with retractions: partial sums of the changes, merged into the state of their groups.

The epoch's *transitions* (one row per touched group: key, old and new accumulators, NULL rows on
a side where the group is not there) are written once and read back: for the state, and for the
changes `-old, +new`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from floodmark.analysis.state import rereadable
from floodmark.catalog.types import INT, Field, Schema
from floodmark.changelog import KIND, WEIGHT, ChangelogMode
from floodmark.plan import nodes as n
from floodmark.runtime.operators import accumulators as acc
from floodmark.runtime.operators import keyed
from floodmark.runtime.operators.project import raised
from floodmark.runtime.operators.rows import Rows, error_column
from floodmark.spark.types import quoted, spark_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from floodmark.analysis.analyse import AnalysedPlan
    from floodmark.runtime.bounds import Bounds
    from floodmark.runtime.evaluation import Inputs, Stages

OLD, NEW = "__old_", "__new_"
Grouping = n.Aggregate | n.CloseAggregate


class Stored(Protocol):
    """Groups at rest."""

    def stored(self, keys: DataFrame, key: tuple[str, ...], within: Bounds) -> DataFrame | None:
        """Return the stored groups as of the epoch before; None when there are none.

        Groups that are not among `keys`, all of which lie within the bounds, may be left out.
        """


class StateFiles(Stored, Protocol):
    """The state table of one aggregate in one epoch."""

    def keep(self, transitions: DataFrame, schema: Schema, key: tuple[str, ...]) -> DataFrame:
        """Write the transitions, bring the state up to date, return them read back."""

    def release(
        self, transitions: DataFrame | None, schema: Schema, key: tuple[str, ...], closed: str
    ) -> DataFrame | None:
        """Bring the state up to date without the groups that `closed` selects; return those."""


class Surroundings(Protocol):
    """What an aggregate needs of the evaluation it is part of."""

    @property
    def now(self) -> int:
        """Return the epoch's time in microseconds."""

    @property
    def plan(self) -> AnalysedPlan:
        """Return the analysed plan."""

    @property
    def inputs(self) -> Inputs:
        """Return what the plan's scans read."""

    @property
    def stages(self) -> Stages:
        """Return where operators keep things."""

    def name(self, node: n.Node) -> str:
        """Return the node's name in the plan."""

    def delta(self, node: n.Node) -> Rows | None:
        """Return the changes of a node."""

    def bounds(self, node: n.Node) -> Bounds:
        """Return where the values of a node's changes lie."""

    def after(self, node: n.Node, within: Bounds) -> DataFrame | None:
        """Return the rows of a re-readable node after the epoch, at least those within bounds."""

    def own_state(self, node: n.Node) -> Stored | None:
        """Return the node's groups at rest, where they live in the object's own table."""


def delta(node: n.Aggregate, around: Surroundings) -> Rows | None:
    """Return the changes of the groups that the input's changes touch."""
    parts = parts_of(node, around.plan[node.input].mode, around.now)
    settled = settled_input(node, around)
    if settled is None:
        if node.group or not around.inputs.fills:
            return None
        settled = _nothing(node, around)
    own = around.own_state(node)
    if own is not None:
        merged = transitions(node, settled, parts, own, around)
        carried = tuple(f.name for f in acc.state_schema((), parts))
        return changes(node, merged, parts, fills=around.inputs.fills, carried=carried)
    state = state_of(node, around, parts)
    merged = transitions(node, settled, parts, state, around)
    read_back = state.keep(merged, transition_schema(node, parts), node.group)
    return changes(node, read_back, parts, fills=around.inputs.fills)


def state_of(node: Grouping, around: Surroundings, parts: list[acc.Kept]) -> StateFiles:
    """Return the node's state table."""
    schema = acc.state_schema(group_fields(node), parts)
    return around.stages.aggregate_state(f"{around.name(node)}_aggregate", schema)


def settled_input(node: Grouping, around: Surroundings) -> DataFrame | None:
    """Return the input's changes without the rows that an argument or FILTER refuses."""
    rows = around.delta(node.input)
    if rows is None:
        return None
    marked = checked(node, rows, around.now)
    if not marked.failing:
        return marked.frame
    columns = (*node.input.schema, Field(WEIGHT, INT, nullable=False))
    return around.stages.settle(f"{around.name(node)}_accepted", marked, columns)


def _nothing(node: Grouping, around: Surroundings) -> DataFrame:
    columns = (*node.input.schema, Field(WEIGHT, INT))
    nulls = (f"CAST(NULL AS {spark_type(f.type)}) AS {quoted(f.name)}" for f in columns)
    return around.inputs.spark.range(0).selectExpr(*nulls)


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
    compiled = [(name, c) for name, call in node.aggregates for c in acc.errors_of(call, now)]
    names = list(node.input.names)
    error = error_column(compiled, names, failing=rows.failing)
    if error is None:
        return rows
    frame = rows.frame.selectExpr(*(quoted(c) for c in names), WEIGHT, error)
    return Rows(frame, failing=True)


def transitions(
    node: Grouping,
    changes: DataFrame,
    parts: list[acc.Kept],
    state: Stored,
    around: Surroundings,
) -> DataFrame:
    """Return one row per touched group with its old and new accumulators."""
    partial = _partial(node, changes, parts)
    scoped = [p for p in parts if p.strategy is acc.Strategy.SCOPE]
    if scoped:
        rows = _scope(node, changes, around)
        partial = _with_scope(node, partial, scoped, rows, around.inputs.few)
    keys = changes.selectExpr(*map(quoted, node.group))
    stored = state.stored(keys, node.group, _touched_bounds(node, around))
    merged = _joined(node, partial, stored, parts)
    return merged.selectExpr(*map(quoted, node.group), *_sides(node, parts, stored is not None))


def _touched_bounds(node: Grouping, around: Surroundings) -> Bounds:
    """Return where the keys of the touched groups lie."""
    found = around.bounds(node.input)
    return {name: found[name] for name in node.group if name in found}


def _scope(node: Grouping, changes: DataFrame, around: Surroundings) -> DataFrame | None:
    """Return the input's rows after the epoch that no argument refuses."""
    if rereadable(node.input):
        rows = around.after(node.input, _touched_bounds(node, around))
    else:
        name = f"{around.name(node)}_input"
        rows = around.stages.arrangement(name, node.input.schema).after(changes)
    return None if rows is None else accepted(node, rows, around.now)


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
    node: Grouping, partial: DataFrame, scoped: list[acc.Kept], rows: DataFrame | None, few: bool
) -> DataFrame:
    """Add the values that are recomputed from the touched groups' input."""
    from pyspark.sql import functions as F

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
    if node.group:
        rows = keyed.among(rows, partial, node.group, few=few)
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
    if old is None:
        return partial
    names = [f.name for f in acc.state_schema((), parts)]
    return keyed.beside(
        partial, old, node.group, [f"{quoted(c)} AS {quoted(OLD + c)}" for c in names]
    )


def _sides(node: Grouping, parts: list[acc.Kept], has_old: bool) -> list[str]:
    """Return the texts of the old and the new side of a transition."""
    out: list[str] = []
    schema = acc.state_schema((), parts)
    for field in schema:
        name = quoted(OLD + field.name)
        out.append(name if has_old else f"CAST(NULL AS {spark_type(field.type)}) AS {name}")
    rows = acc.Kept(
        "", acc.Strategy.ADDED, schema[:1], (), ("coalesce({old}, 0L) + coalesce({new}, 0L)",), ""
    )
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


def changes(
    node: Grouping,
    merged: DataFrame,
    parts: list[acc.Kept],
    *,
    fills: bool,
    carried: tuple[str, ...] = (),
) -> Rows:
    """Return `-old, +new` of the groups whose visible values differ.

    Without group columns there is always one row, from the epoch that fills the object. With
    `carried` accumulators, groups of which only those changed come too, of kind `-S` and `+S`.
    """
    old = _output(node, parts, OLD, always=not node.group and not fills)
    new = _output(node, parts, NEW, always=not node.group)
    states = [_state_struct(carried, prefix) for prefix in (OLD, NEW)]
    sides = merged.selectExpr(
        f"{old} AS o", f"{new} AS n", f"{states[0]} AS p", f"{states[1]} AS q"
    )
    differ = "NOT (o <=> n AND p <=> q)" if carried else "NOT (o <=> n)"
    columns = [f"e.r.{quoted(name)} AS {quoted(name)}" for name in node.names]
    marks = [f"e.w AS {WEIGHT}", f"e.k AS {KIND}"]
    state = [f"e.s.{quoted(name)} AS {quoted(name)}" for name in carried]
    frame = sides.where(differ).selectExpr(_PAIR).selectExpr(*columns, *marks, *state)
    return Rows(frame, consolidated=True, kinded=True, carried=carried)


_PAIR = (
    "explode(filter(array("
    "struct(-1 AS w, CASE WHEN n IS NULL THEN '-D' WHEN o <=> n THEN '-S' ELSE '-U' END AS k, "
    "o AS r, p AS s), "
    "struct(1 AS w, CASE WHEN o IS NULL THEN '+I' WHEN o <=> n THEN '+S' ELSE '+U' END AS k, "
    "n AS r, q AS s)), x -> x.r IS NOT NULL)) AS e"
)


def _state_struct(carried: tuple[str, ...], prefix: str) -> str:
    fields = [f"{quoted(prefix + name)} AS {quoted(name)}" for name in carried]
    return f"struct({', '.join(fields or ['1 AS one'])})"


def _output(node: Grouping, parts: list[acc.Kept], prefix: str, *, always: bool) -> str:
    """Return the text of one side's output row as a struct, NULL where the group is absent."""
    fields = [f"{quoted(c)} AS {quoted(c)}" for c in node.group]
    for part, (name, call) in zip(parts, node.aggregates, strict=True):
        value = part.finish.replace("{p}", prefix)
        fields.append(f"CAST({value} AS {spark_type(call.type)}) AS {quoted(name)}")
    row = f"struct({', '.join(fields)})"
    if always:
        return row
    return f"CASE WHEN {quoted(prefix + acc.ROWS)} IS NOT NULL THEN {row} END"


def batch(node: Grouping, frame: DataFrame, now: int, *, strict: bool = False) -> DataFrame:
    """Return one row per group; rows that an argument refuses leave the whole group's input."""
    from pyspark.sql import functions as F

    if not node.aggregates:
        return frame.select(*map(quoted, node.group)).distinct()
    frame = accepted(node, frame, now, strict=strict)
    calls = [F.expr(acc.batch_text(call, now)).alias(name) for name, call in node.aggregates]
    grouped = frame.groupBy(*map(quoted, node.group)).agg(*calls)
    casts = [
        f"CAST({quoted(name)} AS {spark_type(call.type)}) AS {quoted(name)}"
        for name, call in node.aggregates
    ]
    return grouped.selectExpr(*map(quoted, node.group), *casts)


def accepted(node: Grouping, frame: DataFrame, now: int, *, strict: bool = False) -> DataFrame:
    """Return the rows that no argument or FILTER refuses; `strict` raises for one that does."""
    found = [c.error for _, call in node.aggregates for c in acc.errors_of(call, now)]
    for error in dict.fromkeys(e for e in found if e is not None):
        if strict:
            frame = frame.where(
                f"CASE WHEN ({error}) IS NOT NULL THEN {raised(error)} ELSE TRUE END"
            )
        else:
            frame = frame.where(f"({error}) IS NULL")
    return frame
