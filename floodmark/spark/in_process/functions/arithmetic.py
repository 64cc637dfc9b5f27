"""Operators of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from floodmark.spark.in_process import numbers
from floodmark.spark.in_process.evaluation import Family, both, evaluate
from floodmark.spark.in_process.frame import LazyFrame, UnsupportedQuery
from floodmark.spark.in_process.functions.constants import constant_number
from floodmark.spark.in_process.functions.intervals import move_by_interval
from floodmark.spark.in_process.types import cast, common_type, is_exact

if TYPE_CHECKING:
    from floodmark.spark.in_process.frame import Values

FAMILY = Family()


def _apply(how: Callable[..., Values]) -> Callable[[Any, LazyFrame], Values]:
    """Return how an operator of numbers is computed, which asks which of them are constants."""
    return lambda node, frame: how(*_operands((node.this, node.expression), frame))


def _operands(nodes: Sequence[exp.Expression], frame: LazyFrame) -> list[numbers.NumberOperand]:
    return [numbers.NumberOperand(evaluate(node, frame), _is_constant(node)) for node in nodes]


def _is_constant(node: exp.Expression) -> bool | None:
    """Tell whether Spark takes an expression for a literal; None where that cannot be told."""
    inner = node
    while isinstance(inner, exp.Neg | exp.Paren | exp.Cast):
        inner = inner.this
    if not isinstance(inner, exp.Literal):
        return False
    # `2L` and `CAST(2 AS BIGINT)` are parsed alike, but beside a decimal they differ; `(-2)` is a
    # literal, and `-(2)` is none.
    return True if inner is node else None


FAMILY.computes(exp.Add)(move_by_interval("add_checked", _apply(numbers.add)))
FAMILY.computes(exp.Sub)(move_by_interval("subtract_checked", _apply(numbers.subtract)))
for _kind, _how in {
    exp.Mul: numbers.multiply,
    exp.SafeAdd: numbers.add,
    exp.SafeSubtract: numbers.subtract,
    exp.SafeMultiply: numbers.multiply,
    exp.Mod: numbers.remainder,
    exp.IntDiv: numbers.whole_quotient,
    exp.SafeDivide: numbers.safe_quotient,
}.items():
    FAMILY.computes(_kind)(_apply(_how))


@FAMILY.computes("pmod")
def _pmod(node: exp.Anonymous, frame: LazyFrame) -> Values:
    return numbers.positive_remainder(*_operands(node.expressions, frame))


@FAMILY.computes(exp.Neg)
def _negative(node: exp.Neg, frame: LazyFrame) -> Values:
    return numbers.negate(evaluate(node.this, frame))


@FAMILY.computes(exp.Abs)
def _absolute(node: exp.Abs, frame: LazyFrame) -> Values:
    from pyarrow import compute as pc

    values = evaluate(node.this, frame)
    if not is_exact(values.type):
        raise UnsupportedQuery(f"the absolute value of {values.type}")
    return pc.abs_checked(values)


def _bits(how: str) -> Callable[[Any, LazyFrame], Values]:
    def compute(node: exp.Binary, frame: LazyFrame) -> Values:
        import pyarrow as pa
        from pyarrow import compute as pc

        _refuse_mixed_bits(node)
        sides = both(node, frame)
        target = common_type([side.type for side in sides])
        if not pa.types.is_integer(target):
            raise UnsupportedQuery(f"bits of {target}")
        return getattr(pc, how)(*(cast(side, target) for side in sides))

    return compute


def _refuse_mixed_bits(node: exp.Binary) -> None:
    """Leave several operators of bits without parentheses to Spark: the parser ranks them alike."""
    inner = node.this
    if isinstance(inner, _OF_BITS) and type(inner) is not type(node):
        raise UnsupportedQuery("several operators of bits")


_OF_BITS = (exp.BitwiseOr, exp.BitwiseAnd, exp.BitwiseXor)
FAMILY.computes(exp.BitwiseOr)(_bits("bit_wise_or"))
FAMILY.computes(exp.BitwiseAnd)(_bits("bit_wise_and"))


@FAMILY.computes(exp.BitwiseLeftShift)
def _shift_left(node: exp.BitwiseLeftShift, frame: LazyFrame) -> Values:
    import pyarrow as pa
    from pyarrow import compute as pc

    _refuse_mixed_bits(node)
    values, places = evaluate(node.this, frame), constant_number(node.expression, frame)
    # Arrow has its own idea of what it is to move all bits but the sign.
    if not pa.types.is_int64(values.type) or not 0 <= places < values.type.bit_width - 1:
        raise UnsupportedQuery("bits that are moved out of a word")
    return pc.shift_left(values, pa.scalar(places, pa.int64()))
