"""Operators and functions on numbers."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cache

from floodmark.errors import NotSupported
from floodmark.scalar.functions.model import (
    ErrorForm,
    Function,
    Operand,
    Operands,
    RowError,
    RowErrorCode,
    null_means,
)
from floodmark.scalar.promotion import bounds
from floodmark.scalar.types import BIGINT, DOUBLE, INT, REAL, SMALLINT, Kind, SqlType, numeric

EXACT = Context(prec=120, rounding=ROUND_HALF_UP)
"""Wide enough for any product or sum of two 38-digit decimals."""
_OVERFLOW = RowErrorCode.NUMBER_OUT_OF_RANGE
_INTEGERS = {SMALLINT: 15, INT: 31, BIGINT: 63}
_SPARK_NAME = {SMALLINT: "SMALLINT", INT: "INT", BIGINT: "BIGINT", REAL: "FLOAT", DOUBLE: "DOUBLE"}


def fit_integer(value: int, bits: int) -> int:
    """Return the value, or refuse the row when it needs more than `bits` bits and a sign."""
    if not -(1 << bits) <= value < (1 << bits):
        raise RowError(_OVERFLOW)
    return value


def fit_decimal(value: Decimal, type_: SqlType) -> Decimal:
    """Round half up to the type's scale, or refuse the row when digits are missing."""
    assert type_.precision is not None and type_.scale is not None
    if value and value.adjusted() > 38:
        raise RowError(_OVERFLOW)
    rounded = value.quantize(Decimal(1).scaleb(-type_.scale), ROUND_HALF_UP, EXACT)
    if rounded.copy_abs() >= Decimal(10) ** (type_.precision - type_.scale):
        raise RowError(_OVERFLOW)
    return rounded or rounded.copy_abs()


def exact_sum(values: Iterable[Decimal | int]) -> Decimal:
    """Add without rounding, whatever the thread's decimal context."""
    total = Decimal(0)
    for value in values:
        total = EXACT.add(total, Decimal(value))
    return total


def to_real(value: float) -> float:
    """Round to single precision; too large becomes infinite.

    >>> to_real(0.1)
    0.10000000149011612
    """
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def decimal_name(type_: SqlType) -> str:
    """Return the Spark name of a NUMERIC type."""
    return f"DECIMAL({type_.precision},{type_.scale})"


def _sum_type(operands: Operands) -> SqlType:
    (p1, s1), (p2, s2) = (bounds(o.type) for o in operands)
    return numeric(min(38, max(p1 - s1, p2 - s2) + max(s1, s2) + 1), max(s1, s2))


def _product_type(operands: Operands) -> SqlType:
    (p1, s1), (p2, s2) = (bounds(o.type) for o in operands)
    if s1 + s2 > 38:
        raise NotSupported(
            "E0370",
            f"the product of {operands[0].type} and {operands[1].type} needs {s1 + s2} decimals; "
            "a NUMERIC has at most 38",
            hint="cast one side to a smaller scale first, such as (x)::numeric(38,6)",
        )
    return numeric(min(38, p1 + p2), s1 + s2)


def _quotient_type(operands: Operands) -> SqlType:
    return numeric(38, max(bounds(operands[0].type)[1], bounds(operands[1].type)[1], 16))


def _remainder_type(operands: Operands) -> SqlType:
    (p1, s1), (p2, s2) = (bounds(o.type) for o in operands)
    return numeric(min(38, min(p1 - s1, p2 - s2) + max(s1, s2)), max(s1, s2))


def _wide(operands: Operands, symbol: str) -> bool:
    """Tell whether the exact result type of the operation is cut at 38 digits."""
    (p1, s1), (p2, s2) = (bounds(o.type) for o in operands)
    if symbol == "*":
        return p1 + p2 > 38
    return max(p1 - s1, p2 - s2) + max(s1, s2) + 1 > 38


def spark_quotient_scale(left: SqlType, right: SqlType) -> int:
    """Return the scale at which Spark rounds a quotient before it is rounded to the result's.

    From `DecimalPrecision` with `allowPrecisionLoss=false`.

    >>> spark_quotient_scale(numeric(18, 2), numeric(10, 0))
    13
    """
    (p1, s1), (p2, s2) = bounds(left), bounds(right)
    whole, fraction = min(38, p1 - s1 + s2), min(38, max(6, s1 + p2 + 1))
    excess = whole + fraction - 38
    return fraction - excess // 2 - 1 if excess > 0 else fraction


@cache
def widen_for_quotient(left: SqlType, right: SqlType, scale: int) -> tuple[SqlType, SqlType]:
    """Return operand types that hold the same values and make Spark keep at least `scale` digits.

    Spark derives the digits of a quotient from its operand types; the smallest widening that
    reaches the scale exactly avoids rounding twice.
    """
    (p1, s1), (p2, s2) = bounds(left), bounds(right)
    best: tuple[int, SqlType, SqlType] | None = None
    for more in range(39 - p1):
        for digits in range(39 - p2):
            for extra in range(more + 1):
                a, b = numeric(p1 + more, s1 + extra), numeric(p2 + digits, s2)
                number = spark_quotient_scale(a, b)
                if number == scale:
                    return a, b
                if number > scale and (best is None or number < best[0]):
                    best = (number, a, b)
    return (best[1], best[2]) if best is not None else (left, right)


def _nonzero(operand: Operand) -> bool:
    return operand.is_constant and operand.constant is not None and operand.constant != 0


def _divisor(operand: Operand) -> str:
    return operand.sql if _nonzero(operand) else f"nullif({operand}, 0)"


_ZERO_OR_RANGE = null_means("CASE WHEN {1} = 0 THEN 621 ELSE 622 END")


def _integer_operators(type_: SqlType, bits: int) -> list[Function]:
    pair = (type_.kind, type_.kind)
    name = _SPARK_NAME[type_]

    def check_range(operation: Callable[[int, int], int]) -> Callable[[int, int], int]:
        return lambda a, b: fit_integer(operation(a, b), bits)

    over = null_means(_OVERFLOW)
    minus = f"try_subtract(CAST(0 AS {name}), {{0}})"
    return [
        Function(
            "+",
            pair,
            type_,
            "try_add({0}, {1})",
            check_range(lambda a, b: a + b),
            error=over,
            monotone=0,
        ),
        Function(
            "-",
            pair,
            type_,
            "try_subtract({0}, {1})",
            check_range(lambda a, b: a - b),
            error=over,
            monotone=0,
        ),
        Function(
            "*", pair, type_, "try_multiply({0}, {1})", check_range(lambda a, b: a * b), error=over
        ),
        *_integer_divisions(type_, bits),
        Function("~", pair[:1], type_, "(~ {0})", lambda a: ~a),
        Function("neg", pair[:1], type_, minus, lambda a: fit_integer(-a, bits), error=over),
        Function(
            "abs",
            pair[:1],
            type_,
            f"CASE WHEN {{0}} < 0 THEN {minus} ELSE {{0}} END",
            lambda a: fit_integer(abs(a), bits),
            error=over,
        ),
        Function(
            "sign",
            pair[:1],
            DOUBLE,
            "CAST(sign({0}) AS DOUBLE)",
            lambda a: float((a > 0) - (a < 0)),
            monotone=0,
        ),
        *(
            Function(n, pair, type_, f"({{0}} {s} {{1}})", f)
            for n, s, f in (
                ("&", "&", int.__and__),
                ("|", "|", int.__or__),
                ("#", "^", int.__xor__),
            )
        ),
    ]


def _integer_divisions(type_: SqlType, bits: int) -> list[Function]:
    pair = (type_.kind, type_.kind)
    name = _SPARK_NAME[type_]
    zero = null_means(RowErrorCode.DIVISION_BY_ZERO)

    def divide(o: Operands) -> str:
        if _nonzero(o[1]) and o[1].constant != -1:
            return f"CAST({o[0]} DIV {o[1]} AS {name})"
        minus = f"try_subtract(CAST(0 AS {name}), {o[0]})"
        if o[1].is_constant and o[1].constant == -1:
            return minus
        whole = f"CAST({o[0]} DIV {_divisor(o[1])} AS {name})"
        return f"CASE WHEN {o[1]} = -1 THEN {minus} ELSE {whole} END"

    def divide_error(o: Operands, value: str) -> str | None:
        safe = _nonzero(o[1]) and o[1].constant != -1
        return None if safe else _ZERO_OR_RANGE(o, value)

    def quotient(a: int, b: int) -> int:
        if b == 0:
            raise RowError(RowErrorCode.DIVISION_BY_ZERO)
        return fit_integer(abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1), bits)

    def remainder(a: int, b: int) -> int:
        if b == 0:
            raise RowError(RowErrorCode.DIVISION_BY_ZERO)
        return (
            int(math.fmod(a, b))
            if abs(a) < 1 << 52 > abs(b)
            else a - b * int(EXACT.divide_int(a, b))
        )

    def division_by_zero(o: Operands, value: str) -> str | None:
        return None if _nonzero(o[1]) else zero(o, value)

    return [
        Function("/", pair, type_, divide, quotient, error=divide_error),
        Function("div", pair, type_, divide, quotient, error=divide_error),
        *(
            Function(
                n,
                pair,
                type_,
                lambda o: f"({o[0]} % {_divisor(o[1])})",
                remainder,
                error=division_by_zero,
            )
            for n in ("%", "mod")
        ),
    ]


def _decimal_forms(symbol: str) -> tuple[Callable[[Operands], str], ErrorForm]:
    tried = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}[symbol]
    over = null_means(_OVERFLOW)

    def value(o: Operands) -> str:
        if _wide(o, symbol):
            return f"{tried}({o[0]}, {o[1]})"
        text = f"({o[0]} {symbol} {o[1]})"
        # Spark's product has a digit more than any needs; files say what type they have.
        return f"CAST({text} AS {decimal_name(_product_type(o))})" if symbol == "*" else text

    return value, lambda o, v: over(o, v) if _wide(o, symbol) else None


def divide_decimals(o: Operands) -> str:
    """Return the Spark text of a quotient of two decimals; NULL when the divisor is zero."""
    result = _quotient_type(o)
    assert result.scale is not None
    a, b = widen_for_quotient(o[0].type, o[1].type, result.scale)
    left = o[0].sql if a == o[0].type else f"CAST({o[0]} AS {decimal_name(a)})"
    right = o[1].sql if b == o[1].type else f"CAST({o[1]} AS {decimal_name(b)})"
    return f"try_cast(try_divide({left}, {right}) AS {decimal_name(result)})"


def quotient_of(types: tuple[SqlType, ...], result: SqlType, a: Decimal, b: Decimal) -> Decimal:
    """Divide exactly as `divide_decimals` prints it."""
    if b == 0:
        raise RowError(RowErrorCode.DIVISION_BY_ZERO)
    assert result.scale is not None
    left, right = widen_for_quotient(types[0], types[1], result.scale)
    scale = spark_quotient_scale(left, right)
    first = EXACT.divide(a, b).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, EXACT)
    if first.copy_abs() >= Decimal(10) ** (38 - scale):
        raise RowError(_OVERFLOW)
    return fit_decimal(first, result)


def _decimal_remainder(a: Decimal, b: Decimal) -> Decimal:
    if b == 0:
        raise RowError(RowErrorCode.DIVISION_BY_ZERO)
    return EXACT.remainder(a, b)


def _fit_result(operation: Callable[..., Decimal]) -> Callable[..., Decimal]:
    return lambda types, result, *args: fit_decimal(operation(*args), result)


def _decimal_operators() -> list[Function]:
    n = Kind.NUMERIC
    entries = []
    for symbol, type_, operation, order in (
        ("+", _sum_type, EXACT.add, 0),
        ("-", _sum_type, EXACT.subtract, 0),
        ("*", _product_type, EXACT.multiply, None),
    ):
        value, error = _decimal_forms(symbol)
        entries.append(
            Function(
                symbol,
                (n, n),
                type_,
                value,
                _fit_result(operation),
                typed=True,
                error=error,
                monotone=order,
            )
        )
    zero = null_means(RowErrorCode.DIVISION_BY_ZERO)
    rest = [
        Function(
            "/",
            (n, n),
            _quotient_type,
            divide_decimals,
            quotient_of,
            typed=True,
            error=_ZERO_OR_RANGE,
        ),
        *(
            Function(
                name,
                (n, n),
                _remainder_type,
                lambda o: f"CAST({o[0]} % {_divisor(o[1])} AS {decimal_name(_remainder_type(o))})",
                _fit_result(_decimal_remainder),
                typed=True,
                error=lambda o, v: None if _nonzero(o[1]) else zero(o, v),
            )
            for name in ("%", "mod")
        ),
        Function("neg", (n,), _same, "(- {0})", lambda a: EXACT.minus(a)),
        Function("abs", (n,), _same, "abs({0})", lambda a: EXACT.abs(a)),
        Function(
            "sign",
            (n,),
            numeric(1, 0),
            "CAST(sign({0}) AS DECIMAL(1,0))",
            lambda a: Decimal((a > 0) - (a < 0)),
            monotone=0,
        ),
    ]
    return [*entries, *rest]


def _same(o: Operands) -> SqlType:
    return o[0].type


def _float_divide(a: float, b: float) -> float:
    if b == 0:
        raise RowError(RowErrorCode.DIVISION_BY_ZERO)
    return a / b


def _float_operators(type_: SqlType) -> list[Function]:
    pair = (type_.kind, type_.kind)
    fit: Callable[[float], float] = to_real if type_ is REAL else float
    zero = null_means(RowErrorCode.DIVISION_BY_ZERO)
    name = _SPARK_NAME[type_]
    return [
        Function("+", pair, type_, "({0} + {1})", lambda a, b: fit(a + b), monotone=0),
        Function("-", pair, type_, "({0} - {1})", lambda a, b: fit(a - b), monotone=0),
        Function("*", pair, type_, "({0} * {1})", lambda a, b: fit(a * b)),
        Function(
            "/",
            pair,
            type_,
            lambda o: f"CAST({o[0]} / {_divisor(o[1])} AS {name})",
            lambda a, b: fit(_float_divide(a, b)),
            error=lambda o, v: None if _nonzero(o[1]) else zero(o, v),
        ),
        Function("neg", pair[:1], type_, "(- {0})", lambda a: -a),
        Function("abs", pair[:1], type_, "abs({0})", abs),
    ]


def arithmetic() -> list[Function]:
    """Return the operators of all number types, cheapest types first."""
    integers = [f for t, bits in _INTEGERS.items() for f in _integer_operators(t, bits)]
    return [*integers, *_decimal_operators(), *_float_operators(REAL), *_float_operators(DOUBLE)]
