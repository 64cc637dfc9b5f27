"""Whole-number theory, buckets, and the rest of the mathematical functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal

from floodmark.scalar.functions.arithmetic import decimal_name, fit_integer
from floodmark.scalar.functions.model import Function, Operands, RowError, RowErrorCode, null_means
from floodmark.scalar.types import BIGINT, DOUBLE, INT, Kind, SqlType, numeric

_D, _I, _L = Kind.DOUBLE, Kind.INT, Kind.BIGINT
_RANGE = null_means(RowErrorCode.NUMBER_OUT_OF_RANGE)
_ARGUMENT = null_means(RowErrorCode.INVALID_ARGUMENT)
LARGEST_FACTORIAL = 33
"""34! has more than 38 digits."""
_WIDE = numeric(38, 0)
_LAST = 2**31 - 1


def _gcd_text(a: str, b: str) -> str:
    """Print Euclid's steps; numbers of 64 bits need at most 92."""
    wide = decimal_name(numeric(19, 0))
    start = f"named_struct('a', abs(CAST({a} AS {wide})), 'b', abs(CAST({b} AS {wide})))"
    step = f"CASE WHEN s.b = 0 THEN s ELSE named_struct('a', s.b, 'b', CAST(s.a % nullif(s.b, 0) AS {wide})) END"  # noqa: E501
    return f"aggregate(sequence(1, 92), {start}, (s, i) -> {step}, s -> s.a)"


def _pair(type_: SqlType, bits: int) -> list[Function]:
    name = type_.kind.name
    params = (type_.kind, type_.kind)

    def lcm(o: Operands) -> str:
        wide = decimal_name(numeric(19, 0))
        gcd = f"nullif({_gcd_text(o[0].sql, o[1].sql)}, 0)"
        share = f"CAST(abs(CAST({o[0]} AS {wide})) / {gcd} AS {wide})"
        size = f"try_multiply({share}, abs(CAST({o[1]} AS {wide})))"
        text = f"CASE WHEN {o[0]} = 0 OR {o[1]} = 0 THEN 0 ELSE try_cast({size} AS {name}) END"
        return (
            f"CASE WHEN {o[0]} IS NOT NULL AND {o[1]} IS NOT NULL THEN CAST({text} AS {name}) END"
        )

    return [
        Function(
            "gcd", params, type_,
            lambda o: f"try_cast({_gcd_text(o[0].sql, o[1].sql)} AS {name})",
            lambda a, b: fit_integer(math.gcd(a, b), bits), error=_RANGE,
        ),
        Function(
            "lcm", params, type_, lcm, lambda a, b: fit_integer(math.lcm(a, b), bits),
            error=_RANGE,
        ),
    ]  # fmt: skip


def _factorial(n: int) -> Decimal:
    if not 0 <= n <= LARGEST_FACTORIAL:
        raise RowError(RowErrorCode.NUMBER_OUT_OF_RANGE)
    return Decimal(math.factorial(n))


def _print_factorial(o: Operands) -> str:
    name = decimal_name(_WIDE)
    values = ", ".join(
        f"CAST('{math.factorial(n)}' AS {name})" for n in range(LARGEST_FACTORIAL + 1)
    )
    index = f"CASE WHEN {o[0]} BETWEEN 0 AND {LARGEST_FACTORIAL} THEN CAST({o[0]} AS INT) END"
    return f"get(array({values}), {index})"


def _width_bucket(value: float, low: float, high: float, count: int) -> int:
    sound = math.isfinite(low) and math.isfinite(high) and not math.isnan(value)
    if count < 1 or low == high or not sound:
        raise RowError(RowErrorCode.INVALID_ARGUMENT)
    if low > high:
        value, low, high = -value, -low, -high
    if value < low:
        return 0
    if value >= high:
        if count == _LAST:
            raise RowError(RowErrorCode.INVALID_ARGUMENT)
        return count + 1
    # The order of the operations decides the last bit.
    part = float(count) * (value - low) / (high - low)
    if math.isinf(float(count) * (value - low)) or math.isinf(high - low):
        part = count * ((value / 2 - low / 2) / (high / 2 - low / 2))
    return min(int(part), _LAST - 1) + 1


def _print_bucket(o: Operands) -> str:
    v, low, high, count = (x.sql for x in o)

    infinity = "CAST('Infinity' AS DOUBLE)"

    def inside(sign: str) -> str:
        a, b, c = (f"({sign}{x})" for x in (v, low, high))
        product, span = f"CAST({count} AS DOUBLE) * ({a} - {b})", f"({c} - {b})"
        halves = f"(({a} / 2 - {b} / 2) / nullif({c} / 2 - {b} / 2, 0D))"
        part = (
            f"CASE WHEN {infinity} IN ({product}, {span}) THEN CAST({count} AS DOUBLE) * {halves} "
            f"ELSE {product} / nullif({span}, 0D) END"
        )
        whole = f"CAST(least({part}, {_LAST - 1}D) AS INT) + 1"
        above = f"CASE WHEN {count} < {_LAST} THEN {count} + 1 END"
        cases = f"WHEN {a} < {b} THEN 0 WHEN {a} >= {c} THEN {above} WHEN {a} < {c} THEN {whole}"
        return f"CASE {cases} END"

    finite = f"abs({low}) < {infinity} AND abs({high}) < {infinity} AND NOT isnan({v})"
    return (
        f"CASE WHEN {count} > 0 AND {low} <> {high} AND {finite} THEN "
        f"CASE WHEN {low} < {high} THEN {inside('')} ELSE {inside('-')} END END"
    )


def _safely(function: Callable[..., float]) -> Callable[..., float]:
    def python(*args: float) -> float:
        if any(math.isnan(a) for a in args):
            return math.nan
        try:
            return function(*args)
        except (ValueError, ZeroDivisionError):
            raise RowError(RowErrorCode.INVALID_ARGUMENT) from None

    return python


def _log(base: float, x: float) -> float:
    if base <= 0 or x <= 0 or base == 1:
        raise ValueError
    return math.log(x) / math.log(base)


def integers() -> list[Function]:
    """Return the family."""
    log = "CASE WHEN {0} > 0 AND {1} > 0 AND {0} <> 1 THEN ln({1}) / ln({0}) END"
    scale = lambda o: f"CASE WHEN {o[0]} IS NOT NULL THEN {o[0].type.scale} END"  # noqa: E731
    return [
        *_pair(INT, 31),
        *_pair(BIGINT, 63),
        Function("factorial", (_L,), _WIDE, _print_factorial, _factorial, error=_RANGE),
        Function(
            "width_bucket", (_D, _D, _D, _I), INT, _print_bucket, _width_bucket, error=_ARGUMENT,
            version=2,
        ),
        Function("log", (_D, _D), DOUBLE, log, _safely(_log), error=_ARGUMENT),
        Function(
            "cot", (_D,), DOUBLE,
            "CASE WHEN {0} <> 0 AND abs({0}) <> CAST('Infinity' AS DOUBLE) "
            "THEN 1 / nullif(tan({0}), 0) END",
            _safely(lambda x: 1 / math.tan(x)), error=_ARGUMENT,
        ),
        Function("asinh", (_D,), DOUBLE, "asinh({0})", math.asinh),
        Function(
            "acosh", (_D,), DOUBLE, "CASE WHEN {0} >= 1 THEN acosh({0}) END",
            _safely(math.acosh), error=_ARGUMENT,
        ),
        Function(
            "atanh", (_D,), DOUBLE, "CASE WHEN abs({0}) < 1 OR isnan({0}) THEN atanh({0}) END",
            _safely(math.atanh), error=_ARGUMENT,
        ),
        Function(
            "scale", (Kind.NUMERIC,), INT, scale, lambda types, _, v: types[0].scale, typed=True
        ),
    ]  # fmt: skip
