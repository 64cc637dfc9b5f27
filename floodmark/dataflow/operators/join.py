"""Joins.

Inner: ΔL ⋈ R_old ∪ L_new ⋈ ΔR. Left: ΔL ⟕ R_old ∪ L_new ⋈ ΔR, and of the rows of L_new with a key
that ΔR touches those without a match in R_new, padded, less those without one in R_old. Semi and
anti join: of these rows those that are there with R_new, less those with R_old. The right join is
the left join with the sides exchanged; the full join is computed for the touched keys
(`full_join`). A side that did not change is not read for itself. Keys compare as SQL says: NULL
equals nothing. A pair that the residual condition refuses is a dead letter and counts as a match:
its row is not padded, and an anti join does not keep it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from floodmark.changelog import ERROR, WEIGHT
from floodmark.dataflow.context import EpochContext, Input
from floodmark.dataflow.join_sides import JoinSides
from floodmark.dataflow.row_errors import raise_text
from floodmark.plan import nodes as n
from floodmark.spark.columns import WEIGHT_FIELD
from floodmark.spark.expressions import CompiledExpr, compile as compile_expr
from floodmark.spark.keyed import hint_broadcast
from floodmark.spark.rows import ERROR_TYPE, Rows, empty, error_struct, negate, set_weight
from floodmark.spark.types import ident, spark_type
from floodmark.stream.operators.join import StreamJoin
from floodmark.stream.properties.strategy import RecomputeMatches

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


LEFT, RIGHT = "__has_left", "__has_right"
"""BOOLEAN: the side of a joined row is a row, not padding."""
_SIDE = "__side"
"""INT: 1 for rows after the epoch, -1 for rows before it."""
_HOW = {
    n.JoinKind.INNER: "inner",
    n.JoinKind.LEFT: "left",
    n.JoinKind.RIGHT: "right",
    n.JoinKind.FULL: "full",
    n.JoinKind.SEMI: "left_semi",
    n.JoinKind.ANTI: "left_anti",
}
_ONLY_MATCHES_OF_LEFT = ("inner", "right", "left_semi")
_ONLY_MATCHES_OF_RIGHT = ("inner", "left", "left_semi", "left_anti")


def delta(op: StreamJoin, inputs: Sequence[Input], ctx: EpochContext) -> Rows | None:
    """Return the changes of a join that is not full."""
    left, right = inputs
    sides = JoinSides(op, left, right, ctx)
    changes = _initial(sides, ctx.now) if ctx.inputs.fills else _delta(sides, ctx)
    sides.keep()
    return changes


def _delta(sides: JoinSides, ctx: EpochContext) -> Rows | None:
    node, kept, other, now = sides.node, sides.kept, sides.other, ctx.now
    matches = sides.matches
    mine, theirs = sides.delta(kept), sides.delta(other)
    parts: list[DataFrame | None] = []
    if mine is not None:
        parts.append(_join_kept_side(node, mine, sides.old(other, kept), now))
    if theirs is not None:
        after = sides.new(kept, other)
        if matches is None:
            parts.append(_join(node, after, theirs, now))
        elif after is not None:
            parts += _recompute_matches(sides, matches, after, theirs, ctx)
    present = [part for part in parts if part is not None]
    if not present:
        return None
    failing = failing_residual(node, now) is not None
    frame = reduce(lambda a, b: a.unionAll(b), present)
    return Rows(frame, failing=failing, inserts=_inserts(matches, kept.rows, other.rows))


def _recompute_matches(
    sides: JoinSides,
    matches: RecomputeMatches,
    after: DataFrame,
    theirs: DataFrame,
    ctx: EpochContext,
) -> list[DataFrame | None]:
    """Return what the other side's changes do to the kept rows that have their keys.

    Pairs come and go with the changes themselves. Which rows are padded, or are there at all, is
    compared before and after.
    """
    node, other, now = sides.node, sides.other, ctx.now
    touched = _touching(node, matches, after, theirs, now, few=ctx.inputs.few)
    pairs: list[DataFrame | None] = []
    if matches.pads:
        whole = sides.reads_whole(sides.kept, other)
        written = _write_touched(sides, touched, ctx) if whole else touched
        if written is None:
            return []
        touched = written
        left, right = (touched, theirs) if matches.kept == "left" else (theirs, touched)
        pairs.append(_pairs(node, left, right, "inner", now))
    new, old = sides.new(other, other), sides.old(other, other)
    if node.only_existence:
        weighted = set_weight(touched)
        before = _join_kept_side(node, weighted, old, now)
        parts = (
            _join_kept_side(node, weighted, new, now),
            None if before is None else negate(before),
        )
        return [*pairs, *parts]
    tagged = [
        rows.selectExpr("*", f"{weight} AS {_SIDE}")
        for rows, weight in ((new, 1), (old, -1))
        if rows is not None
    ]
    if not tagged:  # no row has had a match, or has one now
        return pairs
    names = [ident(c) for c in sides.kept.operator.names]
    both = touched.selectExpr(*names, f"explode(array(1, -1)) AS {WEIGHT}")
    matched = reduce(lambda a, b: a.unionAll(b), tagged)
    return [*pairs, _compare_matches(node, matches, both, matched, now)]


def _write_touched(sides: JoinSides, touched: DataFrame, ctx: EpochContext) -> DataFrame | None:
    """Return rows that are read twice, and few of many, from files; None when there are none."""
    columns = (*sides.kept.operator.node.schema, WEIGHT_FIELD)
    name = f"{sides.op.identifier}_touched"
    written = ctx.stages.settle(name, Rows(set_weight(touched)), columns)
    return None if written is None else written.drop(WEIGHT)


def _compare_matches(
    node: n.Join, matches: RecomputeMatches, kept: DataFrame, others: DataFrame, now: int
) -> DataFrame | None:
    """Return the kept rows whose weight says after or before, as far as they are padded or there.

    The other side's rows have that in `__side`.
    """
    apart = f"{WEIGHT} = {_SIDE}"
    if not matches.pads:
        return semi_or_anti_join(node, kept, others, now, apart)
    alone = kept.join(others, _condition(condition_of(node, now, apart)), "left_anti")
    columns = (
        [*map(ident, node.left.names), *nulls(node.right)]
        if matches.kept == "left"
        else [*nulls(node.left), *map(ident, node.right.names)]
    )
    return alone.selectExpr(*columns, WEIGHT, *_no_error(failing_residual(node, now)))


def _initial(sides: JoinSides, now: int) -> Rows | None:
    """Return the rows of a join that had none."""
    node, come, mine = sides.node, sides.kept.rows, sides.delta(sides.kept)
    theirs = sides.new(sides.other, sides.kept)
    frame = None if mine is None else _join_kept_side(node, mine, theirs, now)
    if come is None or frame is None:
        return None
    failing = failing_residual(node, now) is not None
    return Rows(frame, failing=failing, inserts=come.inserts)


def _inserts(matches: RecomputeMatches | None, kept: Rows | None, other: Rows | None) -> bool:
    """Tell whether the join only gains rows: its inputs do, and nothing is taken back for them."""
    grows = all(side is None or side.inserts for side in (kept, other))
    return grows and (matches is None or other is None)


def batch(
    node: n.Pairing, left: DataFrame, right: DataFrame, now: int, *, strict: bool = False
) -> DataFrame:
    """Return the joined rows, for any kind of join.

    A pair that ON refuses is left out; `strict` raises for it.
    """
    how = _HOW[node.kind]
    left, right = matchable(node, left, right, how)
    semi, anti = node.kind is n.JoinKind.SEMI, node.kind is n.JoinKind.ANTI
    text = _holds(node, now) if semi else condition_of(node, now)
    if not text:
        return left.crossJoin(right) if how == "inner" else left.join(right, _condition(""), how)
    condition = _condition(text)
    failing = failing_residual(node, now)
    names = [ident(c) for c in node.names]
    if failing is None or ((semi or anti) and not strict):
        return left.join(right, condition, how).selectExpr(*names)
    assert failing.error is not None
    # Spark does not move what is not deterministic below the join, to rows without a match.
    refuses = f"({failing.error}) IS NOT NULL AND spark_partition_id() >= 0"
    stop = f"CASE WHEN {refuses} THEN {raise_text(failing.error, failing.message)} ELSE FALSE END"
    if semi or anti:
        kept = left.join(right, condition, how).selectExpr(*names)
        stopping = left.join(right, _condition(_refuses(node, failing)), "inner").where(stop)
        return kept.unionAll(stopping.selectExpr(*names))
    joined = add_flag(left, LEFT).join(add_flag(right, RIGHT), condition, how)
    refused = f"coalesce({LEFT} AND {RIGHT} AND ({failing.error}) IS NOT NULL, FALSE)"
    accepted = f"CASE WHEN {refused} THEN {stop} ELSE TRUE END" if strict else f"NOT {refused}"
    return joined.where(accepted).selectExpr(*names)


def with_padding_side(
    node: n.Join, frames: Sequence[DataFrame | None], spark: SparkSession
) -> list[DataFrame | None]:
    """Return the sides, no rows in the place of one that is not there yet but may be empty."""
    left, right = frames
    if left is None and right is not None and node.kind.pads_left:
        left = empty(spark, node.left)
    if right is None and left is not None and node.keeps_unmatched:
        right = empty(spark, node.right)
    return [left, right]


def matchable(
    node: n.Pairing, left: DataFrame, right: DataFrame, how: str
) -> tuple[DataFrame, DataFrame]:
    """Return both sides without the rows that match nothing and are not kept either.

    Their key is NULL. Spark would carry them to the join, all of them to one task.
    """
    if how in _ONLY_MATCHES_OF_LEFT:
        left = _with_key(left, node.left, [a for a, _ in node.equi])
    if how in _ONLY_MATCHES_OF_RIGHT:
        right = _with_key(right, node.right, [b for _, b in node.equi])
    return left, right


def _with_key(rows: DataFrame, of: n.Node, key: Sequence[str]) -> DataFrame:
    nullable = dict.fromkeys(ident(c) for c in key if of.field(c).nullable)
    return rows.where(" AND ".join(f"{c} IS NOT NULL" for c in nullable)) if nullable else rows


def condition_of(node: n.Pairing, now: int, *more: str) -> str:
    """Return the text that is TRUE for a match: ON is TRUE, or has no value; empty for all."""
    parts = [*_equal(node), *more]
    if node.residual is not None:
        compiled = compile_expr(node.residual, now)
        refused = "" if compiled.error is None else f"({compiled.error}) IS NOT NULL OR "
        parts.append(f"({refused}({compiled.value}))")
    return " AND ".join(parts)


def _holds(node: n.Pairing, now: int, *more: str) -> str:
    """Return the text that is TRUE for a pair if ON is; NULL for one that ON refuses."""
    parts = [*_equal(node), *more]
    if node.residual is not None:
        parts.append(f"({compile_expr(node.residual, now).value})")
    return " AND ".join(parts)


def _equal(node: n.Pairing) -> list[str]:
    return [f"{ident(a)} = {ident(b)}" for a, b in node.equi]


def failing_residual(node: n.Pairing, now: int) -> CompiledExpr | None:
    """Return the residual condition if it can refuse a pair."""
    if node.residual is None:
        return None
    compiled = compile_expr(node.residual, now)
    return None if compiled.error is None else compiled


def add_flag(frame: DataFrame, name: str) -> DataFrame:
    """Return the rows with a column that is TRUE."""
    return frame.selectExpr("*", f"true AS {name}")


def pair_error(node: n.Pairing, failing: CompiledExpr, *real: str) -> str:
    """Return the text of `__error` of a joined row; padding (`real` is not TRUE) has no error."""
    assert failing.error is not None and node.residual is not None
    label = node.residual.span.text if node.residual.span is not None else ""
    columns = [*node.left.names, *node.right.names]
    struct = error_struct(failing.error, label or "ON", columns, failing.message)
    tests = " AND ".join([*real, f"({failing.error}) IS NOT NULL"])
    return f"CASE WHEN {tests} THEN {struct} END AS {ERROR}"


def _join_kept_side(
    node: n.Join, kept: DataFrame, other: DataFrame | None, now: int
) -> DataFrame | None:
    """Return what the join makes of weighted rows of the side that it keeps; None for nothing."""
    match node.kind:
        case n.JoinKind.SEMI | n.JoinKind.ANTI:
            return semi_or_anti_join(node, kept, other, now)
        case n.JoinKind.RIGHT:
            return _right_join(node, kept, other, now)
        case _:
            return inner_or_left_join(node, kept, other, now)


def semi_or_anti_join(
    node: n.Join, left: DataFrame, right: DataFrame | None, now: int, *more: str
) -> DataFrame | None:
    """Return the left rows that a semi or anti join keeps, and the pairs that ON refuses.

    `more` are texts that are TRUE for rows that meet, besides ON.
    """
    if right is not None and node.only_existence:
        right = right.limit(1).selectExpr(*nulls(node.right))
    anti, failing = node.kind is n.JoinKind.ANTI, failing_residual(node, now)
    columns = [*map(ident, node.names), WEIGHT]
    if right is None:
        return left.selectExpr(*columns, *_no_error(failing)) if anti else None
    left, right = matchable(node, left, right, _HOW[node.kind])
    test = condition_of(node, now, *more) if anti else _holds(node, now, *more)
    kept = left.join(right, _condition(test), _HOW[node.kind])
    kept = kept.selectExpr(*columns, *_no_error(failing))
    if failing is None:
        return kept
    refused = left.join(right, _condition(_refuses(node, failing, *more)), "inner")
    return kept.unionAll(refused.selectExpr(*columns, pair_error(node, failing)))


def _refuses(node: n.Pairing, failing: CompiledExpr, *more: str) -> str:
    """Return the text that is TRUE for a pair that ON refuses."""
    return " AND ".join([*_equal(node), *more, f"({failing.error}) IS NOT NULL"])


def _condition(text: str) -> Column:
    """Return the condition of a join; without a text all pairs meet."""
    from pyspark.sql import functions as F

    return F.expr(text) if text else F.lit(True)


def inner_or_left_join(
    node: n.Pairing, left: DataFrame, right: DataFrame | None, now: int
) -> DataFrame | None:
    """Join left changes, which carry the weight, with right rows; None where there are no pairs."""
    if right is not None:
        how = "inner" if node.kind is n.JoinKind.INNER else "left"
        return _pairs(node, left, right, how, now)
    if node.kind is n.JoinKind.INNER:
        return None
    failing = failing_residual(node, now)
    columns = [*map(ident, node.left.names), *nulls(node.right), WEIGHT]
    return left.selectExpr(*columns, *_no_error(failing))


def _right_join(node: n.Join, right: DataFrame, left: DataFrame | None, now: int) -> DataFrame:
    """Right join: join right changes, which carry the weight, with left rows."""
    if left is not None:
        return _pairs(node, left, right, "right", now)
    columns = [*nulls(node.left), *map(ident, node.right.names), WEIGHT]
    return right.selectExpr(*columns, *_no_error(failing_residual(node, now)))


def nulls(node: n.Node, prefix: str = "") -> list[str]:
    """Return the texts of a node's columns, all NULL, with something before their names."""
    return [f"CAST(NULL AS {spark_type(f.type)}) AS {ident(prefix + f.name)}" for f in node.schema]


def _no_error(failing: CompiledExpr | None) -> list[str]:
    return [] if failing is None else [f"CAST(NULL AS {ERROR_TYPE}) AS {ERROR}"]


def _join(node: n.Join, left: DataFrame | None, right: DataFrame, now: int) -> DataFrame | None:
    return None if left is None else _pairs(node, left, right, "inner", now)


def _pairs(node: n.Pairing, left: DataFrame, right: DataFrame, how: str, now: int) -> DataFrame:
    """Return the node's columns, the weight that one side carries, and `__error` if ON can fail."""
    left, right = matchable(node, left, right, how)
    text = condition_of(node, now)
    failing = failing_residual(node, now)
    extra = []
    if failing is not None and how == "right":
        left, extra = add_flag(left, LEFT), [pair_error(node, failing, LEFT)]
    elif failing is not None:
        right, extra = add_flag(right, RIGHT), [pair_error(node, failing, RIGHT)]
    if text or how != "inner":
        joined = left.join(right, _condition(text), how)
    else:
        joined = left.crossJoin(right)
    return joined.selectExpr(*map(ident, node.names), WEIGHT, *extra)


def _touching(
    node: n.Join,
    matches: RecomputeMatches,
    kept: DataFrame,
    changes: DataFrame,
    now: int,
    *,
    few: bool,
) -> DataFrame:
    """Return the kept rows whose key occurs among the other side's changes."""
    from pyspark.sql import functions as F

    if not matches.pairs:
        if node.residual is not None and node.only_existence and not failing_residual(node, now):
            kept = kept.where(compile_expr(node.residual, now).value)
        some = changes.limit(1).selectExpr("TRUE AS __some")
        return kept.join(F.broadcast(some), _condition(""), "left_semi")
    side = node.left if matches.kept == "left" else node.right
    kept = _with_key(kept, side, [a for a, _ in matches.pairs])
    names = [(a, f"__k{i}", b) for i, (a, b) in enumerate(matches.pairs)]
    keys = changes.selectExpr(*(f"{ident(b)} AS {k}" for _, k, b in names))
    condition = " AND ".join(f"{ident(a)} = {k}" for a, k, _ in names)
    return kept.join(hint_broadcast(keys, few), F.expr(condition), "left_semi")
