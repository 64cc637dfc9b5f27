"""Lookup join: what the right side has for a left row when that comes, at the epoch's cut.

Changes of the right side change nothing that was looked up. A left row that comes is looked up
once. One that goes takes back the pairs that were stored for it; or, where the object's own table
has them, travels as its key (`Rows.replacing`) up to the root; or, where the right side promises
never to change, is looked up again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from floodmark.changelog import EPOCH, ERROR, WEIGHT
from floodmark.connectors.lookup_rows import keys_of
from floodmark.dataflow.operators import dispatch
from floodmark.dataflow.operators.context import EpochContext
from floodmark.dataflow.operators.join import failing_residual, padded_or_joined
from floodmark.dataflow.operators.stored_values import consolidated, gone, over
from floodmark.plan import nodes as n
from floodmark.scalar.types import BIGINT, Field, Schema
from floodmark.spark import keyed
from floodmark.spark.rows import ERROR_FIELD, ERROR_TYPE, Rows, epoch_expr
from floodmark.spark.types import ident, spark_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_NO_ERROR = f"CAST(NULL AS {ERROR_TYPE}) AS {ERROR}"


def delta(node: n.LookupJoin, rows: Rows | None, ctx: EpochContext) -> Rows | None:
    """Return the changes of the join."""
    frame = consolidated(node.left, rows, ctx)
    if rows is None or frame is None:
        return None
    known = ctx.plan[node]
    if node.stored and known.state:
        return _from_state(node, frame, ctx, inserts=rows.inserts)
    if rows.inserts or ctx.plan[node.left].append_only:
        found = _looked_up(node, frame, ctx, before=False)
        return None if found is None else _rows(node, found, ctx, inserts=rows.inserts)
    if known.own_table:
        return _keys_and_new_rows(node, rows, frame, ctx)
    assert node.static and not rows.replacing, node
    return _looked_up_again(node, frame, ctx)


def _rows(
    node: n.LookupJoin, frame: DataFrame, ctx: EpochContext, *, inserts: bool = False
) -> Rows:
    return Rows(frame, failing=_may_fail(node, ctx), inserts=inserts)


def _may_fail(node: n.LookupJoin, ctx: EpochContext) -> bool:
    return failing_residual(node, ctx.now) is not None


def _looked_up(
    node: n.LookupJoin, left: DataFrame, ctx: EpochContext, *, before: bool
) -> DataFrame | None:
    """Return the pairs of left rows, and their padding; None where there are none."""
    if node.external is not None:
        return padded_or_joined(node, left, _fetched(node, node.external, left, ctx), ctx.now)
    lie = ctx.bounds(node.left)
    within = {b: lie[a] for a, b in node.equi if a in lie}
    read = ctx.before if before else ctx.after
    right = read(node.right, within)
    if right is not None and node.kind is n.JoinKind.LEFT and ctx.inputs.few:
        right = _asked_for(node, left, right)
    return padded_or_joined(node, left, right, ctx.now)


def _fetched(
    node: n.LookupJoin, scan: n.Scan, left: DataFrame, ctx: EpochContext
) -> DataFrame | None:
    """Ask what is kept elsewhere for the left rows' keys; stored pairs keep the answer, too."""
    assert node.asked is not None
    kept = not node.stored or not ctx.plan[node].state
    name = f"{ctx.name(node)}_fetched"
    rows = ctx.stages.fetched(name, ctx.inputs.lookup(scan), scan.columns, kept=kept)
    asked = [a for a, _ in node.equi]
    found = rows.of(lambda: keys_of(left, asked), node.asked)
    return None if found is None else right_of(node, found, ctx.inputs.spark, ctx.now)


def right_of(node: n.LookupJoin, fetched: DataFrame, spark: SparkSession, now: int) -> DataFrame:
    """Return the right side's rows from fetched ones."""

    def rows(below: n.Node) -> DataFrame:
        if isinstance(below, n.Scan):
            return fetched.selectExpr(*map(ident, below.names))
        return dispatch.batch(below, [rows(child) for child in below.inputs], spark, now)

    return rows(node.right)


def _asked_for(node: n.LookupJoin, left: DataFrame, right: DataFrame) -> DataFrame:
    """Return the right rows of the left rows' keys.

    Spark cannot broadcast the preserved side of an outer join: it would shuffle the whole right.
    """
    from pyspark.sql import functions as F

    names = [(a, b, f"__k{i}") for i, (a, b) in enumerate(node.equi)]
    keys = left.selectExpr(*(f"{ident(a)} AS {k}" for a, _, k in names)).distinct()
    condition = " AND ".join(f"{ident(b)} = {k}" for _, b, k in names)
    return right.join(F.broadcast(keys), F.expr(condition), "left_semi")


def _keys_and_new_rows(node: n.LookupJoin, rows: Rows, frame: DataFrame, ctx: EpochContext) -> Rows:
    found = _looked_up(node, frame.where(f"{WEIGHT} > 0"), ctx, before=False)
    old = _empty_handed(node, frame.where(f"{WEIGHT} < 0"), ctx)
    both = old if found is None else old.unionAll(found)
    assert not _may_fail(node, ctx)
    return Rows(both, replacing=True, unknown=rows.unknown | frozenset(node.right.names))


def _empty_handed(node: n.LookupJoin, left: DataFrame, ctx: EpochContext) -> DataFrame:
    """Return left rows with NULL in the right columns."""
    padding = [f"CAST(NULL AS {spark_type(f.type)}) AS {ident(f.name)}" for f in node.right.schema]
    error = [_NO_ERROR] if _may_fail(node, ctx) else []
    return left.selectExpr(*map(ident, node.left.names), *padding, WEIGHT, *error)


def _looked_up_again(node: n.LookupJoin, frame: DataFrame, ctx: EpochContext) -> Rows | None:
    """Look old rows up as they were, before the epoch: a table may be filled while it is read."""
    if all(ctx.inputs.bounds(scan) is None for scan in n.scans(node.right)):
        found = _looked_up(node, frame, ctx, before=False)
        return None if found is None else _rows(node, found, ctx)
    new = _looked_up(node, frame.where(f"{WEIGHT} > 0"), ctx, before=False)
    old = _looked_up(node, frame.where(f"{WEIGHT} < 0"), ctx, before=True)
    parts = [part for part in (new, old) if part is not None]
    if not parts:
        return None
    return _rows(node, parts[0] if len(parts) == 1 else parts[0].unionAll(parts[1]), ctx)


def _from_state(
    node: n.LookupJoin, frame: DataFrame, ctx: EpochContext, *, inserts: bool
) -> Rows | None:
    """Store the pairs of new rows by the left side's key; old rows take theirs back."""
    table = ctx.plan[node].state[0]
    schema = _schema(node, table.key, table.cleaned_by)
    state = ctx.stages.stored_values(table.name, schema)
    new, old = frame.where(f"{WEIGHT} > 0"), frame.where(f"{WEIGHT} < 0")

    def fresh() -> DataFrame:
        found = _looked_up(node, new, ctx, before=False)
        if found is None:
            found = _empty_handed(node, new.where("FALSE"), ctx)
        names = [ident(f.name) for f in schema if f.name not in (ERROR, EPOCH)]
        error = ERROR if _may_fail(node, ctx) else _NO_ERROR
        return found.selectExpr(*names, error, epoch_expr(state.epoch))

    leaving = gone(node.left, frame, ctx)
    before = None if ctx.inputs.fills else state.before(leaving.within)
    stored = state.keep(fresh, leaving, over(node.left, table.cleaned_by, ctx))
    sides = ((new, stored), (old, before))
    parts = [_taken(node, rows, kept, ctx) for rows, kept in sides if kept is not None]
    if not parts:
        return None
    both = parts[0] if len(parts) == 1 else parts[0].unionAll(parts[1])
    return _rows(node, both, ctx, inserts=inserts)


def _taken(node: n.LookupJoin, left: DataFrame, stored: DataFrame, ctx: EpochContext) -> DataFrame:
    """Return the pairs that are stored for left rows."""
    rights = [ident(c) for c in node.right.names]
    error = [ERROR] if _may_fail(node, ctx) else []
    key = ctx.plan[node.left].stream_key
    paired = keyed.inner_join(left, stored, key, [*rights, *error])
    return paired.selectExpr(*map(ident, node.names), WEIGHT, *error)


def _schema(node: n.LookupJoin, key: tuple[str, ...], cleaned_by: str | None) -> Schema:
    carried = [node.left.field(c) for c in key]
    if cleaned_by is not None and cleaned_by not in key:
        carried.append(node.left.field(cleaned_by))
    rights = [Field(f.name, f.type) for f in node.right.schema]
    return (*carried, *rights, ERROR_FIELD, Field(EPOCH, BIGINT, nullable=False))
