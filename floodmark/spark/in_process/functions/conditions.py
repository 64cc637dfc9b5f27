"""Conditions: comparisons, and what joins them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from floodmark.spark.in_process.comparisons import compare, equal_or_null
from floodmark.spark.in_process.evaluation import Family, both, evaluate, is_true, truth
from floodmark.spark.in_process.frame import LazyFrame, UnsupportedQuery

if TYPE_CHECKING:
    from floodmark.spark.in_process.frame import Values

FAMILY = Family()


@FAMILY.computes(exp.And)
def _and(node: exp.And, frame: LazyFrame) -> Values:
    from pyarrow import compute as pc

    return pc.and_kleene(*map(truth, both(node, frame)))


@FAMILY.computes(exp.Or)
def _or(node: exp.Or, frame: LazyFrame) -> Values:
    from pyarrow import compute as pc

    return pc.or_kleene(*map(truth, both(node, frame)))


@FAMILY.computes(exp.Not)
def _not(node: exp.Not, frame: LazyFrame) -> Values:
    from pyarrow import compute as pc

    return pc.invert(truth(evaluate(node.this, frame)))


@FAMILY.computes(exp.Is)
def _is(node: exp.Is, frame: LazyFrame) -> Values:
    from pyarrow import compute as pc

    values, what = evaluate(node.this, frame), node.expression
    if isinstance(what, exp.Null):
        return pc.is_null(values)
    if not isinstance(what, exp.Boolean):
        raise UnsupportedQuery("IS")
    values = truth(values)
    return is_true(values if what.this else pc.invert(values))


@FAMILY.computes(exp.In)
def _membership(node: exp.In, frame: LazyFrame) -> Values:
    from pyarrow import compute as pc

    if not node.expressions:
        raise UnsupportedQuery("IN a query")
    values = evaluate(node.this, frame)
    found = [compare("equal", values, evaluate(each, frame)) for each in node.expressions]
    any_of = found[0]
    for each in found[1:]:
        any_of = pc.or_kleene(any_of, each)
    return any_of


@FAMILY.computes(exp.Between)
def _range_test(node: exp.Between, frame: LazyFrame) -> Values:
    from pyarrow import compute as pc

    values = evaluate(node.this, frame)
    low = compare("greater_equal", values, evaluate(node.args["low"], frame))
    return pc.and_kleene(low, compare("less_equal", values, evaluate(node.args["high"], frame)))


def _comparison(how: str) -> Callable[[Any, LazyFrame], Values]:
    return lambda node, frame: compare(how, *both(node, frame))


FAMILY.computes(exp.EQ)(_comparison("equal"))
FAMILY.computes(exp.NEQ)(_comparison("not_equal"))
FAMILY.computes(exp.LT)(_comparison("less"))
FAMILY.computes(exp.LTE)(_comparison("less_equal"))
FAMILY.computes(exp.GT)(_comparison("greater"))
FAMILY.computes(exp.GTE)(_comparison("greater_equal"))


@FAMILY.computes(exp.NullSafeEQ)
def _equal_or_null(node: exp.NullSafeEQ, frame: LazyFrame) -> Values:
    return equal_or_null(*both(node, frame))
