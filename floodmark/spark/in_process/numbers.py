"""Arithmetic of whole numbers and decimals, with the types that Spark gives to the results.

An overflow raises, here as an error of Arrow: whether it is an error, NULL or a dead letter is
Spark's to say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from floodmark.spark.in_process.frame import UnsupportedQuery
from floodmark.spark.in_process.quotients import quotient
from floodmark.spark.in_process.types import (
    MOST_DIGITS,
    as_decimal,
    cast,
    common_type,
    is_exact,
    repeat_constant,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from floodmark.spark.in_process.frame import Values


class NumberOperand(NamedTuple):
    """Numbers, and whether they are a literal: None where that cannot be told."""

    values: Values
    is_constant: bool | None


def add(left: NumberOperand, right: NumberOperand) -> Values:
    """Return sums."""
    return _compute("add_checked", "add", left, right)


def subtract(left: NumberOperand, right: NumberOperand) -> Values:
    """Return differences."""
    return _compute("subtract_checked", "subtract", left, right)


def multiply(left: NumberOperand, right: NumberOperand) -> Values:
    """Return products."""
    return _compute("multiply_checked", "multiply", left, right)


def remainder(left: NumberOperand, right: NumberOperand) -> Values:
    """Return remainders of whole numbers, with the sign of the dividend; 0 as divisor raises."""
    from pyarrow import compute as pc

    a, b = _whole(left, right)
    return pc.subtract_checked(a, pc.multiply_checked(pc.divide_checked(a, b), b))


def positive_remainder(left: NumberOperand, right: NumberOperand) -> Values:
    """Return remainders of whole numbers that are not negative; the divisors are positive."""
    import pyarrow as pa
    from pyarrow import compute as pc

    a, b = _whole(left, right)
    if not isinstance(b, pa.Scalar) or not b.is_valid or b.as_py() <= 0:
        raise UnsupportedQuery("a divisor that may be negative")
    rest = pc.subtract_checked(a, pc.multiply_checked(pc.divide_checked(a, b), b))
    return pc.if_else(pc.less(rest, 0), pc.add_checked(rest, b), rest)


def whole_quotient(left: NumberOperand, right: NumberOperand) -> Values:
    """Return quotients of whole numbers, cut towards zero, as BIGINT; 0 as divisor raises."""
    import pyarrow as pa
    from pyarrow import compute as pc

    return pc.divide_checked(*(cast(v, pa.int64()) for v in _whole(left, right)))


def safe_quotient(left: NumberOperand, right: NumberOperand) -> Values:
    """Return quotients of decimals, NULL where the divisor is 0."""
    import pyarrow as pa

    if not any(pa.types.is_decimal(side.values.type) for side in (left, right)):
        raise UnsupportedQuery("a quotient that is a DOUBLE")
    a, b = _decimal_of(left), _decimal_of(right)
    if isinstance(a, pa.Scalar) or not pa.types.is_decimal128(b.type):
        raise UnsupportedQuery("the quotient of a constant")
    return quotient(a, repeat_constant(b, len(a)))


def _whole(left: NumberOperand, right: NumberOperand) -> tuple[Values, Values]:
    import pyarrow as pa

    target = common_type([left.values.type, right.values.type])
    if not pa.types.is_integer(target):
        raise UnsupportedQuery(f"division of {target}")
    return cast(left.values, target), cast(right.values, target)


def negate(values: Values) -> Values:
    """Return numbers with the other sign."""
    import pyarrow as pa
    from pyarrow import compute as pc

    if pa.types.is_integer(values.type):
        return pc.negate_checked(values)
    if pa.types.is_decimal128(values.type):
        return pc.negate(values)
    raise UnsupportedQuery(f"the negative of {values.type}")


def has_plain_order(type_: pa.DataType) -> bool:
    """Tell whether values of a type have one order, here and in Spark."""
    from pyarrow import types

    tests = types.is_integer, types.is_decimal128, types.is_date32, types.is_timestamp
    return any(test(type_) for test in tests)


def _compute(whole: str, exact: str, left: NumberOperand, right: NumberOperand) -> Values:
    import pyarrow as pa
    from pyarrow import compute as pc

    types = (left.values.type, right.values.type)
    if not all(map(is_exact, types)):
        raise UnsupportedQuery(f"{exact} of {types}")
    if all(map(pa.types.is_integer, types)):
        target = common_type(types)
        return getattr(pc, whole)(cast(left.values, target), cast(right.values, target))
    a, b = _decimal_of(left), _decimal_of(right)
    precision, scale = _result(exact, a.type, b.type)
    if precision <= MOST_DIGITS:
        return getattr(pc, exact)(a, b)
    target = pa.decimal128(MOST_DIGITS, min(scale, MOST_DIGITS))
    wide = (pc.cast(v, pa.decimal256(v.type.precision, v.type.scale)) for v in (a, b))
    return pc.cast(getattr(pc, exact)(*wide), target)


def _result(how: str, a: pa.Decimal128Type, b: pa.Decimal128Type) -> tuple[int, int]:
    """Return the digits of a result, and those of them behind the point."""
    if how == "multiply":
        return a.precision + b.precision + 1, a.scale + b.scale
    scale = max(a.scale, b.scale)
    return max(a.precision - a.scale, b.precision - b.scale) + scale + 1, scale


def _decimal_of(operand: NumberOperand) -> Values:
    import pyarrow as pa

    values = operand.values
    if operand.is_constant is not False and pa.types.is_integer(values.type):
        # Of a literal Spark counts the digits.
        if operand.is_constant is None:
            raise UnsupportedQuery("a number beside a decimal")
        digits = len(str(abs(values.as_py())))
        return cast(values, pa.decimal128(digits, 0))
    return cast(values, as_decimal(values.type))
