"""Aggregates of the sorted values of a group, `f(…) WITHIN GROUP (ORDER BY x)`, without its NULLs.

The first argument is x. The fractions of a percentile are the second one: a literal, or an ARRAY.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from floodmark.scalar.functions.comparison import order_key, spark_order
from floodmark.scalar.functions.datetime import fit_interval, print_interval_sum
from floodmark.scalar.functions.interval_scaling import print_scaled, scale_interval
from floodmark.scalar.functions.intervals import Interval, combine
from floodmark.scalar.functions.model import (
    AggregateFunction,
    Operand,
    Operands,
    RowError,
    RowErrorCode,
    SetRows,
    Types,
    Var,
)
from floodmark.scalar.functions.variance import present
from floodmark.scalar.types import DOUBLE, INTERVAL, Kind, SqlType, list_of


def _interpolate_doubles(low: float, high: float, share: float) -> float:
    return low + share * (high - low)


def _interpolate_intervals(low: Interval, high: Interval, share: float) -> Interval:
    try:
        way = scale_interval(fit_interval(combine(high, low, -1)), share)
        return fit_interval(combine(way, low))
    except RowError:
        raise RowError(RowErrorCode.NUMBER_OUT_OF_RANGE) from None


def _continuous(between: Callable[[Any, Any, float], Any]) -> Callable[[Sequence[Any], float], Any]:
    def value_at(values: Sequence[Any], fraction: float) -> Any:
        place = fraction * (len(values) - 1)
        low, high = math.floor(place), math.ceil(place)
        if low == high:
            return values[low]
        return between(values[low], values[high], place - low)

    return value_at


def _discrete(values: Sequence[Any], fraction: float) -> Any:
    return values[max(math.ceil(fraction * len(values)), 1) - 1]


def _print_continuous(between: str) -> str:
    """Return the text of a value at the fraction `f` of the list `l`."""
    ends = "named_struct('a', get(l, CAST(floor(p) AS INT)), 'b', get(l, CAST(ceil(p) AS INT)), 's', p - floor(p))"  # noqa: E501
    value = f"CASE WHEN e.s = 0 THEN e.a ELSE {between} END"
    return f"transform(transform(array(f * (size(l) - 1)), p -> {ends}), e -> {value})[0]"


_DOUBLES = _print_continuous("e.a + e.s * (e.b - e.a)")
_DISCRETE = "get(l, greatest(CAST(ceil(f * size(l)) AS INT), 1) - 1)"


def _print_intervals() -> str:
    low, high, way = (Operand(text, INTERVAL) for text in ("e.a", "e.b", "w"))
    scaled = print_scaled("d", "e.s", "*")
    moved = f"transform(array({print_interval_sum('-')([high, low])}), d -> {scaled})"
    return _print_continuous(f"transform({moved}, w -> {print_interval_sum('+')([way, low])})[0]")


def _percentile(
    name: str,
    param: Kind | Var,
    type_: SqlType | None,
    at: Callable[[Sequence[Any], float], Any],
    text: str,
) -> list[AggregateFunction]:
    """Return the overloads for one fraction and for an ARRAY; `type_` None is that of x."""

    def one(rows: SetRows, _: Types, __: SqlType) -> Any:
        values = present(rows)
        return at(values, rows[0][1]) if values else None

    def several(rows: SetRows, _: Types, __: SqlType) -> Any:
        values = present(rows)
        return tuple(at(values, fraction) for fraction in rows[0][1]) if values else None

    def result(o: Operands) -> SqlType:
        return type_ or o[0].type

    fails = (lambda types: True) if type_ == INTERVAL else None
    each = f"transform(array({{list}}), l -> transform({{1}}, f -> {text}))[0]"
    single = each.replace("{1}", "array({1})") + "[0]"
    whole = f"transform(array({each}), r -> CASE WHEN NOT exists(r, x -> x IS NULL) THEN r END)[0]"
    return [
        AggregateFunction(
            name, (param, second), returned, "", python, order_sensitive=True, over_list=listed,
            ordered_set=True, overflows=fails,
        )
        for second, returned, python, listed in (
            (Kind.DOUBLE, result, one, single),
            (Var.LIST, lambda o: list_of(result(o)), several, whole),
        )
    ]  # fmt: skip


def _mode(rows: SetRows, types: Types, _: SqlType) -> Any:
    runs = groupby(present(rows), key=lambda v: order_key(v, types[0]))
    return max((list(run) for _, run in runs), key=len, default=[None])[0]


def _print_mode(o: Operands) -> str:
    """Return the text of the first value of the longest run of equal ones."""
    before, value = (spark_order(Operand(f"get(l, {i})", o[0].type)) for i in ("i - 1", "i"))
    starts = f"filter(sequence(0, size(l) - 1), i -> i = 0 OR NOT {before} = {value})"
    run = "named_struct('n', coalesce(get(q, j + 1), size(l)) - i, 'first', -i)"
    longest = f"array_max(transform(q, (i, j) -> {run})).first"
    found = f"transform(array({starts}), q -> get(l, -{longest}))[0]"
    return f"transform(array({{list}}), l -> CASE WHEN size(l) > 0 THEN {found} END)[0]"


def ordered_sets() -> list[AggregateFunction]:
    """Return percentiles and the most frequent value."""
    doubles, intervals = _continuous(_interpolate_doubles), _continuous(_interpolate_intervals)
    return [
        *_percentile("percentile_cont", Kind.DOUBLE, DOUBLE, doubles, _DOUBLES),
        *_percentile("percentile_cont", Kind.INTERVAL, INTERVAL, intervals, _print_intervals()),
        *_percentile("percentile_disc", Var.T, None, _discrete, _DISCRETE),
        AggregateFunction(
            "mode",
            (Var.T,),
            lambda o: o[0].type,
            "",
            _mode,
            order_sensitive=True,
            over_list=_print_mode,
            ordered_set=True,
            ignores_distinct=True,
        ),
    ]
