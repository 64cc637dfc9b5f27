"""Aggregate functions: over a whole set, and by addition alone where that is exact."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key, reduce
from operator import and_, or_, xor
from typing import Any

from floodmark.scalar.functions.comparison import compare, print_order, sorts_apart
from floodmark.scalar.functions.double_sums import inexact
from floodmark.scalar.functions.exact_variance import exact_variances
from floodmark.scalar.functions.interval_sums import interval_sums
from floodmark.scalar.functions.jsonb_aggregates import jsonb_aggregates
from floodmark.scalar.functions.model import (
    Accumulator,
    AggregateFunction,
    Decomposition,
    Operands,
    SetRows,
    Types,
    Var,
)
from floodmark.scalar.functions.ordered_sets import ordered_sets
from floodmark.scalar.functions.sums import NONNULL, counting, exact
from floodmark.scalar.functions.variance import present, variances
from floodmark.scalar.types import BIGINT, BOOLEAN, INT, SMALLINT, VARCHAR, Kind, SqlType, list_of


def _first_type(o: Operands) -> SqlType:
    return o[0].type


def _count() -> list[AggregateFunction]:
    rows = Accumulator("count", BIGINT, "CAST({w} AS BIGINT)")
    some = Accumulator("count", BIGINT, NONNULL.contribution)
    return [
        AggregateFunction(
            "count",
            (),
            BIGINT,
            "count(1){filter}",
            lambda r, t, x: len(r),
            decompose=lambda t, x: Decomposition((rows,), "{count}"),
        ),
        AggregateFunction(
            "count",
            (Var.ANY,),
            BIGINT,
            "count({distinct}{0}){filter}",
            lambda r, t, x: len(present(r)),
            decompose=lambda t, x: Decomposition((some,), "{count}"),
        ),
    ]


def _extreme(name: str) -> AggregateFunction:
    def python(rows: SetRows, types: Types, _: SqlType) -> Any:
        values = present(rows)
        key = cmp_to_key(lambda a, b: compare(a, b, types[0]))
        return (min(values, key=key) if name == "min" else max(values, key=key)) if values else None

    def spark(o: Operands) -> str:
        if sorts_apart(o[0].type):
            return f"{name}_by({{0}}, {print_order('{0}', o[0].type)}){{filter}}"
        return f"{name}({{0}}){{filter}}"

    return AggregateFunction(
        name,
        (Var.T,),
        _first_type,
        spark,
        python,
        extremum=name,
        ignores_distinct=True,
    )


def _boolean(name: str, spark: str, wanted: bool) -> AggregateFunction:
    counted = counting(f"{{0}} = {'TRUE' if wanted else 'FALSE'}", "hits")
    finish = "{hits} > 0" if wanted else "{hits} = 0"

    def python(rows: SetRows, _: Types, __: SqlType) -> bool | None:
        values = present(rows)
        return (any(values) if wanted else all(values)) if values else None

    return AggregateFunction(
        name,
        (Kind.BOOLEAN,),
        BOOLEAN,
        f"{spark}({{0}}){{filter}}",
        python,
        ignores_distinct=True,
        decompose=lambda t, x: Decomposition(
            (NONNULL, counted), f"CASE WHEN {{nonnull}} > 0 THEN {finish} END"
        ),
    )


def _bits(name: str, combine: Callable[[int, int], int], type_: SqlType) -> AggregateFunction:
    def python(rows: SetRows, _: Types, __: SqlType) -> int | None:
        values = present(rows)
        return reduce(combine, values) if values else None

    return AggregateFunction(
        name, (type_.kind,), type_, f"{name}({{distinct}}{{0}}){{filter}}", python,
    )  # fmt: skip


def _string_agg(rows: SetRows, _: Types, __: SqlType) -> str | None:
    kept = [row for row in rows if row[0] is not None]
    return (kept[0][1] or "").join(row[0] for row in kept) if kept else None


def _order_sensitive() -> list[AggregateFunction]:
    joined = (
        "CASE WHEN size(filter({list}, v -> v IS NOT NULL)) > 0 THEN array_join({list}, {1}) END"
    )
    return [
        AggregateFunction(
            "array_agg",
            (Var.ANY,),
            lambda o: list_of(o[0].type),
            "",
            order_sensitive=True,
            over_list="CASE WHEN size({list}) > 0 THEN {list} END",
            python=lambda r, t, x: tuple(v[0] for v in r) if r else None,
        ),
        AggregateFunction(
            "string_agg",
            (Kind.VARCHAR, Kind.VARCHAR),
            VARCHAR,
            "",
            _string_agg,
            order_sensitive=True,
            over_list=joined,
            constant=frozenset({1}),
        ),
        AggregateFunction(
            "any_value",
            (Var.ANY,),
            _first_type,
            "",
            lambda r, t, x: next(iter(present(r)), None),
            order_sensitive=True,
            over_list="get(filter({list}, v -> v IS NOT NULL), 0)",
            ignores_distinct=True,
        ),
        AggregateFunction(
            "first_value",
            (Var.ANY,),
            _first_type,
            "",
            lambda r, t, x: r[0][0] if r else None,
            order_sensitive=True,
            over_list="get({list}, 0)",
        ),
        AggregateFunction(
            "last_value",
            (Var.ANY,),
            _first_type,
            "",
            lambda r, t, x: r[-1][0] if r else None,
            order_sensitive=True,
            over_list="get({list}, size({list}) - 1)",
        ),
    ]


def aggregates() -> list[AggregateFunction]:
    """Return the aggregate functions."""
    return [
        *_count(),
        *exact(),
        *interval_sums(),
        *inexact(),
        _extreme("min"),
        _extreme("max"),
        _boolean("bool_and", "bool_and", False),
        _boolean("every", "bool_and", False),
        _boolean("bool_or", "bool_or", True),
        *(
            _bits(name, combine, type_)
            for name, combine in (("bit_and", and_), ("bit_or", or_), ("bit_xor", xor))
            for type_ in (SMALLINT, INT, BIGINT)
        ),
        *exact_variances(),
        *variances(),
        *_order_sensitive(),
        *ordered_sets(),
        *jsonb_aggregates(),
    ]
