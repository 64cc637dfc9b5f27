"""CASE and what is like it. Each branch is computed for the rows alone that it is for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from floodmark.spark.in_process.comparisons import compare
from floodmark.spark.in_process.evaluation import Family, both, evaluate, is_true
from floodmark.spark.in_process.frame import LazyFrame, UnsupportedQuery
from floodmark.spark.in_process.sorting import has_extremes
from floodmark.spark.in_process.types import cast, common_type, repeat_constant

if TYPE_CHECKING:
    from floodmark.spark.in_process.evaluation import Compute
    from floodmark.spark.in_process.frame import Values

FAMILY = Family()


@FAMILY.computes(exp.Case)
def _case(node: exp.Case, frame: LazyFrame) -> Values:
    test = evaluate if node.this is None else _equality(node.this)
    branches = [(partial(test, each.this), each.args["true"]) for each in node.args["ifs"]]
    return _choose(branches, node.args.get("default"), frame)


@FAMILY.computes(exp.If)
def _if(node: exp.If, frame: LazyFrame) -> Values:
    return _choose(
        [(partial(evaluate, node.this), node.args["true"])], node.args.get("false"), frame
    )


def _equality(operand: exp.Expression) -> Compute:
    """Return the condition of `CASE operand WHEN value`."""

    def compute(value: exp.Expression, frame: LazyFrame) -> Values:
        return compare("equal", evaluate(operand, frame), evaluate(value, frame))

    return compute


def _choose(
    branches: Sequence[tuple[Callable[[LazyFrame], Values], exp.Expression]],
    otherwise: exp.Expression | None,
    frame: LazyFrame,
) -> Values:
    """Return the value of each row's first branch that holds, computed for the rows it is for."""
    import numpy as np
    import pyarrow as pa

    rows = np.arange(frame.rows)
    chosen: list[tuple[Any, exp.Expression]] = []
    for condition, value in branches:
        left = frame if len(rows) == frame.rows else frame.take(pa.array(rows))
        holds = np.asarray(repeat_constant(is_true(condition(left)), left.rows))
        chosen.append((rows[holds], value))
        rows = rows[~holds]
    chosen.append((rows, otherwise if otherwise is not None else exp.Null()))
    results = [evaluate(value, _part(frame, places)) for places, value in chosen]
    target = common_type([r.type for r in results])
    if pa.types.is_null(target):
        return pa.nulls(frame.rows)
    parts = [
        repeat_constant(cast(result, target), len(places))
        for result, (places, _) in zip(results, chosen, strict=True)
    ]
    for part in parts:
        if len(part) == frame.rows:
            return part
    order = np.empty(frame.rows, dtype=np.int64)
    order[np.concatenate([places for places, _ in chosen])] = np.arange(frame.rows)
    return pa.concat_arrays(parts).take(pa.array(order))


def _part(frame: LazyFrame, places: Any) -> LazyFrame:
    import pyarrow as pa

    return frame if len(places) == frame.rows else frame.take(pa.array(places, pa.int64()))


@FAMILY.computes(exp.Coalesce)
def _coalesce(node: exp.Coalesce, frame: LazyFrame) -> Values:
    from pyarrow import compute as pc

    values = [evaluate(each, frame) for each in (node.this, *node.expressions)]
    target = common_type([v.type for v in values])
    return pc.coalesce(*(cast(v, target) for v in values))


@FAMILY.computes(exp.Nullif)
def _null_if(node: exp.Nullif, frame: LazyFrame) -> Values:
    import pyarrow as pa
    from pyarrow import compute as pc

    values, other = both(node, frame)
    equal = is_true(compare("equal", values, other))
    return pc.if_else(equal, pa.scalar(None, values.type), values)


def _extreme(how: str) -> Callable[[Any, LazyFrame], Values]:
    def compute(node: exp.Func, frame: LazyFrame) -> Values:
        from pyarrow import compute as pc

        values = [evaluate(each, frame) for each in (node.this, *node.expressions)]
        target = common_type([v.type for v in values])
        if not has_extremes(target):
            raise UnsupportedQuery(f"{how} of {target}")
        return getattr(pc, how)(*(cast(v, target) for v in values))

    return compute


FAMILY.computes(exp.Least)(_extreme("min_element_wise"))
FAMILY.computes(exp.Greatest)(_extreme("max_element_wise"))
