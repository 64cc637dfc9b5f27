"""Aggregate with retractions: partial sums of the changes, merged into the state of their groups.

The epoch's *transitions* have one row per touched group: its key, its old and its new accumulators.
A side without the group is NULL. They are written once and read back twice: for the state, and for
the changes `-old, +new`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from floodmark.changelog import ERROR, KIND, WEIGHT
from floodmark.dataflow.context import Changes, EpochContext, Input
from floodmark.dataflow.groups import accumulators as acc, distinct_values
from floodmark.dataflow.groups.shared_state import binding_texts
from floodmark.dataflow.groups.transitions import (
    drop_refused,
    parts_of,
    transition_schema,
    transitions,
)
from floodmark.dataflow.row_errors import raise_text
from floodmark.dataflow.state.groups import AggregateState
from floodmark.scalar.functions.model import RowErrorCode
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.types import INT, Field, Kind
from floodmark.spark.rows import Rows, error_column, error_of
from floodmark.spark.types import ident, spark_type
from floodmark.stream.operators.accumulator_columns import (
    NEW,
    OLD,
    ROWS,
    GroupingNode,
    group_fields,
    ties_of,
)
from floodmark.stream.operators.aggregate import StreamAggregate
from floodmark.stream.operators.grouping import StreamGrouping
from floodmark.stream.properties.aggregate_calls import overflows
from floodmark.tables.bounds import FileFilter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def delta(op: StreamAggregate, inputs: Sequence[Input], ctx: EpochContext) -> Rows | None:
    """Return the changes of the groups that the input's changes touch."""
    (below,) = inputs
    node = op.node
    parts = parts_of(node, op.keeps, ctx.now)
    settled = accept_changes(op, below, ctx)
    if settled is None:
        if node.group or not ctx.inputs.fills:
            return None
        settled = _nothing(node, ctx)
    widened = distinct_values.add_crossings(op, below, settled, ctx)
    own = ctx.stages.own_state(op)
    if own is not None:
        merged = transitions(node, below, settled, parts, own, ctx, widened)
        carried = tuple(f.name for f in acc.state_schema((), parts))
        return changes(node, merged, parts, fills=ctx.inputs.fills, carried=carried)
    state = state_of(op, ctx, parts)
    merged = transitions(node, below, settled, parts, state, ctx, widened)
    read_back = state.keep(merged, transition_schema(node, parts))
    return changes(node, read_back, parts, fills=ctx.inputs.fills)


def group_rows(
    op: StreamAggregate,
    own: Changes,
    ctx: EpochContext,
    keeps: FileFilter | None,
    *,
    after: bool,
) -> DataFrame | None:
    """Return the rows of the groups in the state table, before or after the epoch.

    There is always one without group columns. `keeps` chooses among the files. The state is of
    after the epoch once the operator's `own` changes are known.
    """
    from pyspark.sql import functions as F

    changed = own.rows if after else None
    if after and ctx.inputs.fills:
        return None if changed is None else _initial_rows(op, own, changed)
    node = op.node
    parts = parts_of(node, op.keeps, ctx.now)
    groups = state_of(op, ctx, parts).groups(keeps, after=after)
    if not node.group:
        one = ctx.inputs.spark.range(1).selectExpr()
        nulls = (
            f"CAST(NULL AS {spark_type(f.type)}) AS {ident(f.name)}"
            for f in acc.state_schema((), parts)
        )
        groups = one.selectExpr(*nulls) if groups is None else one.join(groups, F.lit(True), "left")
    if groups is None:
        return None
    named = groups.selectExpr("*", *binding_texts(parts, ""))
    there = _there(parts, "", always=not node.group)
    return (named.where(there) if there else named).selectExpr(*_values(node, parts, ""))


def _initial_rows(op: StreamAggregate, own: Changes, rows: Rows) -> DataFrame:
    """Return the rows of an aggregate in its first epoch: all its changes are rows that come.

    What is refused among them is put aside where its changes are read.
    """
    names = [ident(c) for c in op.names]
    if rows.failing:
        return rows.frame.where(f"{ERROR} IS NULL").selectExpr(*names)
    frame = own.materialize()
    assert frame is not None
    return frame.selectExpr(*names)


def state_of(
    op: StreamGrouping[GroupingNode], ctx: EpochContext, parts: list[acc.Accumulation]
) -> AggregateState:
    """Return the operator's state table."""
    schema = acc.state_schema(group_fields(op.node), parts)
    return ctx.stages.aggregate_state(op.accumulators.name, schema)


def accept_changes(
    op: StreamGrouping[GroupingNode], below: Input, ctx: EpochContext
) -> DataFrame | None:
    """Return the input's changes without the rows that an argument or FILTER refuses."""
    node, rows = op.node, below.rows
    if rows is None:
        return None
    marked = mark_failing(node, rows, ctx.now)
    if not marked.failing:
        again = bool(op.distinct)
        return below.materialize() if again else marked.frame
    columns = (*node.input.schema, Field(WEIGHT, INT, nullable=False))
    return ctx.stages.settle(f"{op.identifier}_accepted", marked, columns)


def _nothing(node: GroupingNode, ctx: EpochContext) -> DataFrame:
    columns = (*node.input.schema, Field(WEIGHT, INT))
    nulls = (f"CAST(NULL AS {spark_type(f.type)}) AS {ident(f.name)}" for f in columns)
    return ctx.inputs.spark.range(0).selectExpr(*nulls)


def mark_failing(node: GroupingNode, rows: Rows, now: int) -> Rows:
    """Return the input's changes, those with a failing argument marked for the dead letters."""
    compiled = [
        (label(node, name), c) for name, call in node.aggregates for c in acc.errors_of(call, now)
    ]
    names = list(node.input.names)
    error = error_column(compiled, names, failing=rows.failing)
    if error is None:
        return rows
    frame = rows.frame.selectExpr(*(ident(c) for c in names), WEIGHT, error)
    return Rows(frame, failing=True)


def label(node: GroupingNode, name: str) -> str:
    """Return what an error calls an aggregate: its text, else its name."""
    span = next((call.span for c, call in node.aggregates if c == name), None)
    return span.text if span is not None and span.text else name


def changes(
    node: GroupingNode,
    merged: DataFrame,
    parts: list[acc.Accumulation],
    *,
    fills: bool,
    carried: tuple[str, ...] = (),
) -> Rows:
    """Return `-old, +new` of the groups whose visible values differ.

    Without group columns there is always one row, from the epoch that fills the object. With
    `carried` accumulators, groups of which only those changed come too, of kind `-S` and `+S`; the
    old values are those that the object's table has.
    """
    if fills:
        return _come(node, merged, parts, carried)
    stored = bool(carried) and bool(node.group)
    old = _output_before(node) if stored else _output(node, parts, OLD, always=not node.group)
    new = _output(node, parts, NEW, always=not node.group)
    bound = [t for side in ((NEW,) if stored else (OLD, NEW)) for t in binding_texts(parts, side)]
    if bound:
        merged = merged.selectExpr("*", *bound)
    states = [_state_struct(carried, prefix) for prefix in (OLD, NEW)]
    errors = [refusal(node, parts, prefix) for prefix in (OLD, NEW)]
    failing = errors != [None, None]
    sides = merged.selectExpr(
        f"{old} AS o", f"{new} AS n", f"{states[0]} AS p", f"{states[1]} AS q",
        *([f"{errors[0]} AS a", f"{errors[1]} AS b"] if failing else []),
    )  # fmt: skip
    same = ["o <=> n", *(["p <=> q"] if carried else []), *(["a <=> b"] if failing else [])]
    columns = [f"e.r.{ident(name)} AS {ident(name)}" for name in node.names]
    marks = [f"e.w AS {WEIGHT}", f"e.k AS {KIND}"]
    state = [f"e.s.{ident(name)} AS {ident(name)}" for name in carried]
    error = [f"e.x AS {ERROR}"] if failing else []
    frame = sides.selectExpr(_pair(" AND ".join(same), failing))
    frame = frame.selectExpr(*columns, *marks, *state, *error)
    return Rows(frame, failing=failing, consolidated=True, has_kinds=True, extra_columns=carried)


def _come(
    node: GroupingNode, merged: DataFrame, parts: list[acc.Accumulation], carried: tuple[str, ...]
) -> Rows:
    """Return the rows of groups that were not there before."""
    bound = binding_texts(parts, NEW)
    row, error = _output(node, parts, NEW, always=not node.group), refusal(node, parts, NEW)
    sides = [f"{row} AS r", f"{_state_struct(carried, NEW)} AS s"]
    sides += [] if error is None else [f"{error} AS x"]
    groups = merged.selectExpr("*", *bound) if bound else merged
    there = "r IS NOT NULL" if error is None else "r IS NOT NULL OR x IS NOT NULL"
    columns = [f"r.{ident(name)} AS {ident(name)}" for name in node.names]
    columns += [f"1 AS {WEIGHT}", f"'+I' AS {KIND}"]
    columns += [f"s.{ident(name)} AS {ident(name)}" for name in carried]
    columns += [] if error is None else [f"x AS {ERROR}"]
    frame = groups.selectExpr(*sides).where(there).selectExpr(*columns)
    return Rows(
        frame,
        failing=error is not None,
        consolidated=True,
        has_kinds=True,
        extra_columns=carried,
        inserts=not carried,
    )


def _pair(same: str, failing: bool) -> str:
    """Return the text of the sides that a transition has, old and new, as rows; none of the `same`.

    A condition of its own would be moved below what it reads, and evaluate it once more.
    """
    old, new = (", a AS x", ", b AS x") if failing else ("", "")
    wanted = "x.r IS NOT NULL OR x.x IS NOT NULL" if failing else "x.r IS NOT NULL"
    return (
        f"explode(CASE WHEN NOT ({same}) THEN filter(array("
        "struct(-1 AS w, CASE WHEN n IS NULL THEN '-D' WHEN o <=> n THEN '-S' ELSE '-U' END AS k, "
        f"o AS r, p AS s{old}), "
        "struct(1 AS w, CASE WHEN o IS NULL THEN '+I' WHEN o <=> n THEN '+S' ELSE '+U' END AS k, "
        f"n AS r, q AS s{new})), x -> {wanted}) END) AS e"
    )


def _overflows(parts: list[acc.Accumulation], prefix: str) -> dict[str, str]:
    """Return, by aggregate that can be out of range, the condition under which a side's is."""
    return {
        p.name: f"({p.overflow.replace('{p}', prefix)})" for p in parts if p.overflow is not None
    }


def refusal(node: GroupingNode, parts: list[acc.Accumulation], prefix: str) -> str | None:
    """Return the text of a side's dead letter, NULL where its row is not refused."""
    beyond = _overflows(parts, prefix)
    return _letter(node, beyond) if beyond else None


def _letter(node: GroupingNode, beyond: Mapping[str, str]) -> str:
    """Return the text of the dead letter of a group where an aggregate is out of range.

    It names the first that is.
    """
    code = str(RowErrorCode.NUMBER_OUT_OF_RANGE.value)
    whens = (f"WHEN {test} THEN {quote(label(node, name))}" for name, test in beyond.items())
    letter = error_of(code, f"CASE {' '.join(whens)} END", list(node.group))
    return f"CASE WHEN {' OR '.join(beyond.values())} THEN {letter} END"


def _state_struct(carried: tuple[str, ...], prefix: str) -> str:
    fields = [f"{ident(prefix + name)} AS {ident(name)}" for name in carried]
    return f"struct({', '.join(fields or ['1 AS one'])})"


def _output(node: GroupingNode, parts: list[acc.Accumulation], prefix: str, *, always: bool) -> str:
    """Return the text of one side's output row as a struct, NULL where the group is absent."""
    row = f"struct({', '.join(_values(node, parts, prefix))})"
    there = _there(parts, prefix, always=always)
    return f"CASE WHEN {there} THEN {row} END" if there else row


def _values(node: GroupingNode, parts: list[acc.Accumulation], prefix: str) -> list[str]:
    """Return the texts of the columns of one side's output row."""
    fields = [f"{ident(c)} AS {ident(c)}" for c in node.group]
    for part, (name, call) in zip(parts, node.aggregates, strict=True):
        value = part.finish.replace("{p}", prefix)
        fields.append(f"CAST({value} AS {spark_type(call.type)}) AS {ident(name)}")
    return fields


def _there(parts: list[acc.Accumulation], prefix: str, *, always: bool) -> str:
    """Return the text of whether a side has an output row; empty where it always has one."""
    overflow = " OR ".join(_overflows(parts, prefix).values())
    there = [] if always else [f"{ident(prefix + ROWS)} IS NOT NULL"]
    there += [f"NOT coalesce({overflow}, FALSE)"] if overflow else []
    return " AND ".join(there)


def _output_before(node: GroupingNode) -> str:
    """Return the text of the row that a group has in the object's table; NULL where it has none."""
    columns = [(ident(c), c) for c in node.group]
    columns += [(ident(OLD + name), name) for name, _ in node.aggregates]
    row = ", ".join(f"{column} AS {ident(name)}" for column, name in columns)
    return f"CASE WHEN {ident(OLD + ROWS)} IS NOT NULL THEN struct({row}) END"


def batch(node: GroupingNode, frame: DataFrame, now: int, *, strict: bool = False) -> DataFrame:
    """Return one row per group; rows that an argument refuses leave the whole group's input."""
    frame = _normalise_zeros(node, frame)
    rows = compute(node, drop_refused(node, frame, now, strict=strict), now)
    if rows.failing:
        stop = f"CASE WHEN {ERROR} IS NOT NULL THEN {raise_text(f'{ERROR}.code')} ELSE TRUE END"
        kept = rows.frame.where(stop if strict else f"{ERROR} IS NULL")
        return kept.selectExpr(*map(ident, node.names))
    return rows.frame


def _normalise_zeros(node: GroupingNode, frame: DataFrame) -> DataFrame:
    """Return the rows with 0 for -0 in the group: Spark asks conditions on groups of their rows."""
    kinds = {f.name: f.type.kind for f in node.input.schema if f.name in node.group}
    floats = {c for c, kind in kinds.items() if kind in (Kind.REAL, Kind.DOUBLE)}
    if not floats:
        return frame
    names = ((c, ident(c)) for c in frame.columns)
    return frame.selectExpr(
        *(f"{name} + CAST(0 AS FLOAT) AS {name}" if c in floats else name for c, name in names)
    )


def compute(node: GroupingNode, frame: DataFrame, now: int) -> Rows:
    """Return one row per group of accepted rows, with `__error` where a group can be refused."""
    from pyspark.sql import functions as F

    if not node.aggregates:
        return Rows(frame.select(*map(ident, node.group)).distinct())
    ties = ties_of(node)
    calls = [F.expr(acc.batch_text(call, now, ties)).alias(name) for name, call in node.aggregates]
    limited = [(name, call) for name, call in node.aggregates if overflows(call)]
    calls += [F.expr(acc.count_text(c, now)).alias(f"__n{i}") for i, (_, c) in enumerate(limited)]
    grouped = frame.groupBy(*map(ident, node.group)).agg(*calls)
    casts = [
        f"CAST({ident(name)} AS {spark_type(call.type)}) AS {ident(name)}"
        for name, call in node.aggregates
    ]
    beyond = {
        name: f"({ident(name)} IS NULL AND __n{i} > 0)" for i, (name, _) in enumerate(limited)
    }
    error = [f"{_letter(node, beyond)} AS {ERROR}"] if beyond else []
    return Rows(grouped.selectExpr(*map(ident, node.group), *casts, *error), failing=bool(beyond))
