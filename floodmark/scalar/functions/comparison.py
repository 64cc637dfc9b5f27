"""Comparison, NULL tests, and the functions that choose among their arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from floodmark.scalar.functions.model import Function, Operand, Operands, Var
from floodmark.scalar.types import BOOLEAN, Kind, SqlType

COMPARISONS = frozenset(
    ["=", "<>", "<", "<=", ">", ">=", "in", "is_distinct_from", "is_not_distinct_from"]
)
"""Functions that tell which of their arguments is the larger, or whether they are equal."""
_T, _C = Var.T, Var.COMPARED
_DAY = 86_400_000_000


def interval_micros(value: tuple[int, int, int]) -> int:
    """Return the length by which intervals compare: a month has 30 days, a day 24 hours."""
    months, days, micros = value
    return (months * 30 + days) * _DAY + micros


def order_key(value: Any, type_: SqlType) -> Any:
    """Return a key by which two present values of a type compare as in SQL.

    NaN equals NaN and is the largest number; -0.0 equals 0.0; text compares by code point, which
    is the order of its UTF-8 bytes; NULL inside a list or struct is the largest.
    """
    match type_.kind:
        case Kind.REAL | Kind.DOUBLE:
            return (1, 0.0) if math.isnan(value) else (0, value + 0.0)
        case Kind.INTERVAL:
            return interval_micros(value)
        case Kind.LIST:
            assert type_.element is not None
            return [_element_key(v, type_.element) for v in value]
        case Kind.STRUCT:
            return [_element_key(v, f.type) for v, f in zip(value, type_.fields, strict=True)]
        case _:
            return value


def _element_key(value: Any, type_: SqlType) -> Any:
    return (1,) if value is None else (0, order_key(value, type_))


def compare(a: Any, b: Any, type_: SqlType) -> int:
    """Return -1, 0 or 1 for two present values of a type."""
    left, right = order_key(a, type_), order_key(b, type_)
    return int(left > right) - int(left < right)


def spark_order(operand: Operand) -> str:
    """Return the Spark text by which a value compares."""
    if operand.type.kind is not Kind.INTERVAL:
        return operand.sql
    months = f"CAST({operand}.months AS DECIMAL(20,0)) * 2592000000000"
    return f"({months} + CAST({operand}.days AS DECIMAL(20,0)) * {_DAY} + {operand}.micros)"


def print_order(value: str, type_: SqlType, depth: int = 0) -> str:
    """Return the Spark text by which a value sorts: in arrays and structs NULL is the largest."""
    match type_.kind:
        case Kind.LIST:
            assert type_.element is not None
            item = f"__o{depth}"
            inner = print_order(item, type_.element, depth + 1)
            return f"transform({value}, {item} -> struct({item} IS NULL, {inner}))"
        case Kind.STRUCT:
            fields = ((f"{value}.`{f.name}`", f.type) for f in type_.fields)
            keys = (f"{at} IS NULL, {print_order(at, kind, depth)}" for at, kind in fields)
            return f"CASE WHEN {value} IS NOT NULL THEN struct({', '.join(keys)}) END"
        case _ if depth == 0:
            return spark_order(Operand(value, type_))
        case _:
            return value


def _comparison(symbol: str, test: Callable[[int], bool]) -> Function:
    def spark(o: Operands) -> str:
        if symbol in ("=", "<>"):
            return f"({spark_order(o[0])} {symbol} {spark_order(o[1])})"
        return f"({print_order(o[0].sql, o[0].type)} {symbol} {print_order(o[1].sql, o[1].type)})"

    def python(types: tuple[SqlType, ...], _: SqlType, a: Any, b: Any) -> bool:
        return test(compare(a, b, types[0]))

    return Function(symbol, (_C, _C), BOOLEAN, spark, python, typed=True)


def _distinct(types: tuple[SqlType, ...], _: SqlType, a: Any, b: Any) -> bool:
    if a is None or b is None:
        return (a is None) != (b is None)
    return compare(a, b, types[0]) != 0


def _is_in(types: tuple[SqlType, ...], _: SqlType, a: Any, *items: Any) -> bool | None:
    if a is None:
        return None
    if any(i is not None and compare(a, i, types[0]) == 0 for i in items):
        return True
    return None if any(i is None for i in items) else False


def _nullif(types: tuple[SqlType, ...], _: SqlType, a: Any, b: Any) -> Any:
    return None if a is not None and b is not None and compare(a, b, types[0]) == 0 else a


def _extreme(sign: int) -> Callable[..., Any]:
    def python(types: tuple[SqlType, ...], _: SqlType, *values: Any) -> Any:
        present = [v for v in values if v is not None]
        if not present:
            return None
        key = cmp_to_key(lambda a, b: compare(a, b, types[0]))
        return max(present, key=key) if sign > 0 else min(present, key=key)

    return python


def _first_type(o: Operands) -> SqlType:
    return o[0].type


def _list(o: Operands) -> str:
    return ", ".join(x.sql for x in o)


def _choose(name: str) -> Callable[[Operands], str]:
    return lambda o: o[0].sql if len(o) == 1 else f"{name}({_list(o)})"


def print_extreme(name: str, o: Operands) -> str:
    """Return the Spark text of `greatest` or `least`: of values that are not NULL."""
    if len(o) == 1:
        return o[0].sql
    if not sorts_apart(o[0].type):
        return f"{name}({_list(o)})"
    values = f"array({_list(o)})"
    return print_extreme_of("max" if name == "greatest" else "min", values, "__m", o[0].type, "__m")


def print_extreme_of(
    name: str, members: str, value: str, type_: SqlType, variable: str = "e"
) -> str:
    """Return the Spark text of the `min` or `max` of `value` over an array of `members`."""
    if not sorts_apart(type_):
        return f"array_{name}(transform({members}, {variable} -> {value}))"
    pair = f"struct({print_order(value, type_)} AS k, {value} AS v)"
    pairs = f"transform({members}, {variable} -> {pair})"
    return f"array_{name}(filter({pairs}, __p -> __p.v IS NOT NULL)).v"


def sorts_apart(type_: SqlType) -> bool:
    """Tell whether Spark has another order of the type's values."""
    return type_.kind in (Kind.INTERVAL, Kind.LIST, Kind.STRUCT)


def _print_in(o: Operands) -> str:
    return f"({spark_order(o[0])} IN ({', '.join(spark_order(x) for x in o[1:])}))"


def comparison() -> list[Function]:
    """Return the comparison family; AND, OR and CASE are nodes of their own."""
    tests: dict[str, Callable[[int], bool]] = {
        "=": lambda c: c == 0,
        "<>": lambda c: c != 0,
        "<": lambda c: c < 0,
        "<=": lambda c: c <= 0,
        ">": lambda c: c > 0,
        ">=": lambda c: c >= 0,
    }
    return [
        *(_comparison(symbol, test) for symbol, test in tests.items()),
        Function(
            "is_distinct_from",
            (_C, _C),
            BOOLEAN,
            lambda o: f"(NOT {spark_order(o[0])} <=> {spark_order(o[1])})",
            _distinct,
            typed=True,
            strict=False,
        ),
        Function(
            "is_not_distinct_from",
            (_C, _C),
            BOOLEAN,
            lambda o: f"({spark_order(o[0])} <=> {spark_order(o[1])})",
            lambda t, r, a, b: not _distinct(t, r, a, b),
            typed=True,
            strict=False,
        ),
        *_truths(),
        Function("not", (Kind.BOOLEAN,), BOOLEAN, "(NOT {0})", lambda a: not a),
        Function(
            "in", (_C, _C), BOOLEAN, _print_in, _is_in, variadic=True, typed=True, strict=False
        ),
        Function(
            "nullif", (_C, _C), _first_type, "nullif({0}, {1})", _nullif, typed=True, strict=False
        ),
        *_choices(),
    ]


def _truths() -> list[Function]:
    """Return the tests that give no NULL."""
    any_, boolean = Var.ANY, Kind.BOOLEAN
    tests: list[tuple[str, Kind | Var, str, Callable[[Any], bool]]] = [
        ("is_null", any_, "({0} IS NULL)", lambda a: a is None),
        ("is_not_null", any_, "({0} IS NOT NULL)", lambda a: a is not None),
        ("is_true", boolean, "coalesce({0}, FALSE)", lambda a: a is True),
        ("is_not_true", boolean, "(NOT coalesce({0}, FALSE))", lambda a: a is not True),
        ("is_false", boolean, "(NOT coalesce({0}, TRUE))", lambda a: a is False),
        ("is_not_false", boolean, "coalesce({0}, TRUE)", lambda a: a is not False),
    ]
    return [
        Function(name, (kind,), BOOLEAN, form, python, strict=False)
        for name, kind, form, python in tests
    ]


def _choices() -> list[Function]:
    """Return the functions that give one of their arguments."""
    return [
        Function(
            "coalesce",
            (_T,),
            _first_type,
            _choose("coalesce"),
            lambda *a: next((x for x in a if x is not None), None),
            variadic=True,
            strict=False,
        ),
        Function(
            "greatest",
            (_T,),
            _first_type,
            lambda o: print_extreme("greatest", o),
            _extreme(1),
            variadic=True,
            typed=True,
            strict=False,
            version=2,
        ),
        Function(
            "least",
            (_T,),
            _first_type,
            lambda o: print_extreme("least", o),
            _extreme(-1),
            variadic=True,
            typed=True,
            strict=False,
            version=2,
        ),
    ]
