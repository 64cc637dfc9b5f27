"""Rounding, roots, logarithms and the like."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import Any

from floodmark.scalar.functions.arithmetic import EXACT, decimal_name, fit_decimal
from floodmark.scalar.functions.model import Function, Operands, RowError, RowErrorCode, null_means
from floodmark.scalar.promotion import bounds
from floodmark.scalar.types import DOUBLE, Kind, SqlType, numeric

_N, _D, _I = Kind.NUMERIC, Kind.DOUBLE, Kind.INT


def _whole(o: Operands) -> SqlType:
    precision, scale = bounds(o[0].type)
    return numeric(min(38, precision - scale + 1), 0)


def _result_type(o: Operands) -> SqlType:
    precision, scale = bounds(o[0].type)
    wanted = max(0, min(scale, o[1].constant or 0))
    return numeric(max(1, min(38, precision - scale + 1 + wanted)), wanted)


def _make_printer(name: str, result: Callable[[Operands], SqlType]) -> Callable[[Operands], str]:
    def form(o: Operands) -> str:
        digits = f", {o[1]}" if len(o) == 2 else ", 0" if name == "round" else ""
        text = _print_trunc(o) if name == "trunc" else f"{name}({o[0]}{digits})"
        return f"try_cast({text} AS {decimal_name(result(o))})"

    return form


def _print_trunc(o: Operands) -> str:
    if len(o) == 1:
        return f"CASE WHEN {o[0]} < 0 THEN ceil({o[0]}) ELSE floor({o[0]}) END"
    return f"CASE WHEN {o[0]} < 0 THEN ceil({o[0]}, {o[1]}) ELSE floor({o[0]}, {o[1]}) END"


def _round(mode: str) -> Callable[..., Decimal]:
    def python(types: tuple[SqlType, ...], result: SqlType, a: Decimal, n: int = 0) -> Decimal:
        return fit_decimal(Decimal(a).quantize(Decimal(1).scaleb(-n), mode, EXACT), result)

    return python


def _decimals() -> list[Function]:
    over = null_means(RowErrorCode.NUMBER_OUT_OF_RANGE)
    modes = {
        "round": ROUND_HALF_UP,
        "ceil": ROUND_CEILING,
        "ceiling": ROUND_CEILING,
        "floor": ROUND_FLOOR,
        "trunc": ROUND_DOWN,
    }
    entries = [
        Function(
            name,
            (_N,),
            _whole,
            _make_printer(name, _whole),
            _round(mode),
            typed=True,
            monotone=0,
            error=lambda o, v: over(o, v) if bounds(o[0].type)[1] == 38 else None,
        )
        for name, mode in modes.items()
    ]
    digits = [
        Function(
            name,
            (_N, _I),
            _result_type,
            _make_printer(name, _result_type),
            _round(modes[name]),
            typed=True,
            monotone=0,
            constant=frozenset({1}),
            error=over,
        )
        for name in ("round", "trunc")
    ]
    return [*entries, *digits]


def _domain(function: Callable[..., float]) -> Callable[..., float]:
    def python(*args: float) -> float:
        try:
            return function(*args)
        except ValueError:
            raise RowError(RowErrorCode.INVALID_ARGUMENT) from None
        except ZeroDivisionError:
            raise RowError(RowErrorCode.INVALID_ARGUMENT) from None
        except OverflowError:
            raise RowError(RowErrorCode.NUMBER_OUT_OF_RANGE) from None

    return python


def _rint(value: float) -> float:
    return float(round(value)) if math.isfinite(value) and abs(value) < 2**52 else value


def _whole_float(function: Callable[[float], int]) -> Callable[[float], float]:
    return lambda x: float(function(x)) if math.isfinite(x) and abs(x) < 2**52 else x


def _log(x: float) -> float:
    if x == 0:
        raise ValueError
    return x if math.isnan(x) else math.log(x)


def _power(a: float, b: float) -> float:
    if (a == 0 and b < 0) or (a < 0 and math.isfinite(b) and b != int(b)):
        raise ValueError
    result = math.pow(a, b)
    if result == 0 and a != 0 and math.isfinite(a) and math.isfinite(b):
        raise OverflowError
    return result


def _exp(x: float) -> float:
    result = math.exp(x)
    if result == 0 and math.isfinite(x):
        raise OverflowError
    return result


def _or_infinite(function: Callable[[float], float]) -> Callable[[float], float]:
    def python(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return -math.inf if x < 0 and function is math.sinh else math.inf

    return python


_INFINITY = "CAST('Infinity' AS DOUBLE)"
_IN_DOMAIN = "NOT ({0} = 0 AND {1} < 0) AND NOT ({0} < 0 AND {1} <> rint({1}))"
_POWER = (
    f"CASE WHEN {_IN_DOMAIN} AND NOT (abs({{0}}) < {_INFINITY} AND abs({{1}}) < {_INFINITY} AND "
    f"(abs(power({{0}}, {{1}})) = {_INFINITY} OR (power({{0}}, {{1}}) = 0 AND {{0}} <> 0))) "
    "THEN power({0}, {1}) END"
)
_EXP = (
    # Where the exponential of a double is infinite, and where it is 0; NaN is the largest number.
    f"CASE WHEN NOT ({{0}} > 709.782712893384D AND {{0}} < {_INFINITY}) "
    f"AND NOT ({{0}} < -745.1332191019412D AND {{0}} > -{_INFINITY}) THEN exp({{0}}) END"
)


_ATAN2 = (
    # Spark's own takes -0 for 0; the sign of a zero counts where the first argument is one.
    f"CASE WHEN {{0}} = 0 AND abs({{1}}) <= {_INFINITY} "
    "THEN CASE WHEN CAST({0} AS STRING) = '-0.0' THEN -1D ELSE 1D END "
    "* CASE WHEN {1} < 0 OR CAST({1} AS STRING) = '-0.0' THEN pi() ELSE 0D END "
    "ELSE atan2({0}, {1}) END"
)
_DEGREE = 0.017453292519943295
_UNLESS_LOST = f"CASE WHEN NOT (abs({{{{0}}}}) < {_INFINITY} AND abs({{0}}) = {_INFINITY}) AND NOT ({{0}} = 0 AND {{{{0}}}} <> 0) THEN {{0}} END"  # noqa: E501


def _refuse_lost(value: float, result: float) -> float:
    """Return a result; raises `RowError` where it has left the range that the value is in."""
    if (math.isinf(result) and not math.isinf(value)) or (result == 0 and value):
        raise RowError(RowErrorCode.NUMBER_OUT_OF_RANGE)
    return result


def _double_function(
    name: str,
    spark: str,
    python: Callable[..., Any],
    *,
    fails: bool = False,
    order: bool = False,
    version: int = 1,
) -> Function:
    """Return a function of one DOUBLE; with `order` a larger argument gives no smaller value."""
    refused = null_means(RowErrorCode.INVALID_ARGUMENT) if fails else None
    monotone = 0 if order else None
    python = _domain(python)
    return Function(
        name, (_D,), DOUBLE, spark, python, error=refused, monotone=monotone, version=version
    )


# Spark's floor and ceil give BIGINT and saturate; beyond 2^52 a double is whole anyway.
_WHOLE = "CASE WHEN abs({{0}}) < 4503599627370496D THEN CAST({}({{0}}) AS DOUBLE) ELSE {{0}} END"


def _roundings() -> list[Function]:
    ceil, floor = (_whole_float(f) for f in (math.ceil, math.floor))
    trunc = (
        "CASE WHEN abs({0}) < 4503599627370496D THEN CAST(CAST({0} AS BIGINT) AS DOUBLE) "
        "ELSE {0} END"
    )
    return [
        _double_function("round", "rint({0})", _rint, order=True),
        *(
            _double_function(n, _WHOLE.format("ceil"), ceil, order=True)
            for n in ("ceil", "ceiling")
        ),
        _double_function("floor", _WHOLE.format("floor"), floor, order=True),
        _double_function("trunc", trunc, _whole_float(math.trunc), order=True),
        _double_function(
            "sign", "sign({0})", lambda x: x if math.isnan(x) else float((x > 0) - (x < 0))
        ),
    ]


def _powers() -> list[Function]:
    over = null_means(RowErrorCode.NUMBER_OUT_OF_RANGE)
    either = null_means(f"CASE WHEN {_IN_DOMAIN} THEN 622 ELSE 625 END")
    positive = "CASE WHEN {{0}} > 0 THEN {}({{0}}) END"

    def log10(x: float) -> float:
        return math.nan if math.isnan(x) else math.log10(x)

    return [
        _double_function("sqrt", "CASE WHEN {0} >= 0 THEN sqrt({0}) END", math.sqrt, fails=True),
        _double_function("cbrt", "cbrt({0})", math.cbrt, order=True),
        Function("exp", (_D,), DOUBLE, _EXP, _domain(_exp), error=over, monotone=0, version=2),
        _double_function("ln", positive.format("ln"), _log, fails=True),
        *(
            _double_function(n, positive.format("log10"), log10, fails=True)
            for n in ("log", "log10")
        ),
        *(
            Function(n, (_D, _D), DOUBLE, _POWER, _domain(_power), error=either, version=2)
            for n in ("power", "pow", "^")
        ),
    ]


def _angles() -> list[Function]:
    lost = null_means(RowErrorCode.NUMBER_OUT_OF_RANGE)
    within = "CASE WHEN abs({{0}}) <= 1 OR isnan({{0}}) THEN {}({{0}}) END"
    finite = f"CASE WHEN abs({{{{0}}}}) <> {_INFINITY} THEN {{0}}({{{{0}}}}) END"
    return [
        Function(
            "degrees",
            (_D,),
            DOUBLE,
            _UNLESS_LOST.format(f"{{0}} / {_DEGREE}D"),
            lambda x: _refuse_lost(x, x / _DEGREE),
            error=lost,
            monotone=0,
            version=2,
        ),
        Function(
            "radians",
            (_D,),
            DOUBLE,
            _UNLESS_LOST.format(f"{{0}} * {_DEGREE}D"),
            lambda x: _refuse_lost(x, x * _DEGREE),
            error=lost,
            monotone=0,
            version=2,
        ),
        *(
            _double_function(n, f"{n}({{0}})", _or_infinite(getattr(math, n)))
            for n in ("atan", "sinh", "cosh", "tanh")
        ),
        *(
            _double_function(n, form.format(n), getattr(math, n), fails=True, version=2)
            for form, names in ((within, ("asin", "acos")), (finite, ("sin", "cos", "tan")))
            for n in names
        ),
        Function("atan2", (_D, _D), DOUBLE, _ATAN2, math.atan2, version=2),
        Function("pi", (), DOUBLE, "pi()", lambda: math.pi),
    ]


def numbers() -> list[Function]:
    """Return the number functions; NUMERIC first, so that whole numbers stay exact."""
    return [*_decimals(), *_roundings(), *_powers(), *_angles()]
