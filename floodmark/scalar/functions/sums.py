"""Sums and averages of whole numbers and of NUMERIC: exact, by addition alone."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from floodmark.scalar.functions.arithmetic import (
    decimal_name,
    divide_decimals,
    exact_sum,
    fit_decimal,
    fit_integer,
    quotient_of,
)
from floodmark.scalar.functions.model import (
    Accumulator,
    AggregateFunction,
    Decomposition,
    Operand,
    Operands,
    SetRows,
    Types,
)
from floodmark.scalar.functions.variance import present
from floodmark.scalar.promotion import as_numeric, bounds
from floodmark.scalar.types import BIGINT, DOUBLE, Kind, SqlType, numeric

_NARROW = 26
"""Digits to which 38 leave room for the sum of 10^12 numbers."""
_WHOLE = numeric(38, 0)
NONNULL = Accumulator(
    "nonnull", BIGINT, "CASE WHEN {0} IS NOT NULL THEN CAST({w} AS BIGINT) ELSE 0L END"
)
"""How many arguments are not NULL."""


def counting(condition: str, suffix: str) -> Accumulator:
    """Return the accumulator that counts the rows for which a condition on `{0}` is TRUE."""
    return Accumulator(
        suffix, BIGINT, f"CASE WHEN {condition} THEN CAST({{w}} AS BIGINT) ELSE 0L END"
    )


def _sum_type(argument: SqlType) -> SqlType:
    match argument.kind:
        case Kind.SMALLINT | Kind.INT:
            return BIGINT
        case Kind.BIGINT:
            return numeric(38, 0)
        case Kind.NUMERIC:
            return numeric(38, bounds(argument)[1])
        case _:
            return DOUBLE


def _exact_sums(argument: SqlType) -> tuple[Accumulator, ...]:
    type_ = _sum_type(argument)
    if type_ is BIGINT:
        return (Accumulator("sum", BIGINT, "coalesce(CAST({0} AS BIGINT) * {w}, 0L)"),)
    value = "{0}" if argument.kind is Kind.NUMERIC else "CAST({0} AS DECIMAL(19,0))"
    if not _is_wide(argument):
        return (Accumulator("sum", type_, times(value, type_)),)
    unit = _unit(type_)
    return (
        Accumulator("high", _WHOLE, times(f"({value} div {unit})", _WHOLE)),
        Accumulator("low", type_, times(f"({value} % {unit})", type_)),
    )


def times(value: str, type_: SqlType) -> str:
    """Return the contribution of a decimal as often as the row counts; 0 for NULL."""
    return f"CAST(coalesce(try_multiply({value}, {{w}}), 0BD) AS {decimal_name(type_)})"


def _is_wide(argument: SqlType) -> bool:
    """Tell whether a sum of so many digits can leave its type; others would take 10^12 rows to.

    Such a sum is kept in two parts, neither of which leaves its own.
    """
    return argument.kind is Kind.NUMERIC and bounds(argument)[0] > _NARROW


def _unit(type_: SqlType) -> str:
    """Return the text of the number that divides a wide sum into 18 high and 20 low digits."""
    exponent = 20 - bounds(type_)[1]
    return f"{10**exponent}BD" if exponent >= 0 else f"0.{'0' * (-exponent - 1)}1BD"


def _total(argument: SqlType) -> str:
    """Return the text of the sum from its accumulators; NULL where it is out of range."""
    if not _is_wide(argument):
        return "{sum}"
    type_ = _sum_type(argument)
    unit, name = _unit(type_), decimal_name(type_)
    high = f"({{high}} + ({{low}} div {unit}))"
    low = f"({{low}} % {unit})"
    # The two parts can have different signs: near the limit the high one alone is beyond it.
    plain = f"try_add(try_cast(try_multiply({high}, {unit}) AS {name}), {low})"
    sign = f"CAST(sign({high}) AS DECIMAL(1,0))"
    moved = f"try_cast(try_multiply({high} - {sign}, {unit}) AS {name})"
    return f"coalesce({plain}, try_add({moved}, {low} + {sign} * {unit}))"


def _decompose_sum(types: Types, result: SqlType) -> Decomposition:
    accumulators = (*_exact_sums(types[0]), NONNULL)
    if not _is_wide(types[0]):
        return Decomposition(accumulators, f"CASE WHEN {{nonnull}} > 0 THEN {_total(types[0])} END")
    return Decomposition(
        accumulators,
        "CASE WHEN {nonnull} > 0 THEN {total} END",
        overflow="{nonnull} > 0 AND {total} IS NULL",
        bound=(("total", _total(types[0])),),
    )


def _python_sum(rows: SetRows, types: Types, result: SqlType) -> Any:
    values = present(rows)
    if not values:
        return None
    if result.kind is Kind.NUMERIC:
        return fit_decimal(exact_sum(values), result)
    return fit_integer(sum(values), 63)


def _print_sum(o: Operands) -> str:
    if o[0].type.kind in (Kind.SMALLINT, Kind.INT):
        return "try_sum({distinct}CAST({0} AS BIGINT)){filter}"
    value = "{0}" if o[0].type.kind is Kind.NUMERIC else "CAST({0} AS DECIMAL(19,0))"
    name = decimal_name(_sum_type(o[0].type))
    text = f"try_cast(try_sum({{distinct}}{value}){{filter}} AS {name})"
    if not _is_wide(o[0].type):
        return text
    # What is added up first can be out of range though the sum is not; of values that are counted
    # once there are no parts.
    slots = {
        part.suffix: f"coalesce(sum({part.contribution.format('{0}', w=1)}){{filter}}, 0BD)"
        for part in _exact_sums(o[0].type)
    }
    parts = f"CASE WHEN count({{0}}){{filter}} > 0 THEN {_total(o[0].type).format(**slots)} END"
    return f"CASE WHEN '{{distinct}}' = '' THEN {parts} ELSE {text} END"


def _avg_operands(argument: SqlType, total: str, count: str) -> tuple[Operand, Operand]:
    exact = as_numeric(_sum_type(argument))
    return (
        Operand(f"CAST({total} AS {decimal_name(exact)})", exact),
        Operand(f"CAST({count} AS DECIMAL(19,0))", numeric(19, 0)),
    )


def _avg_type(o: Operands) -> SqlType:
    return numeric(38, max(16, bounds(o[0].type)[1]))


def _print_avg(o: Operands) -> str:
    count = "count({distinct}{0}){filter}"
    return divide_decimals(_avg_operands(o[0].type, _print_sum(o), count))


def _decompose_avg(types: Types, _: SqlType) -> Decomposition:
    accumulators = (*_exact_sums(types[0]), NONNULL)
    mean = divide_decimals(_avg_operands(types[0], _total(types[0]), "{nonnull}"))
    if not _avg_overflows(types):
        return Decomposition(accumulators, mean)
    overflow = "{nonnull} > 0 AND {mean} IS NULL"
    return Decomposition(accumulators, "{mean}", overflow=overflow, bound=(("mean", mean),))


def _sum_overflows(types: Types) -> bool:
    return _is_wide(types[0])


def _avg_overflows(types: Types) -> bool:
    precision, scale = bounds(types[0])
    return _is_wide(types[0]) or precision - scale > 38 - max(16, scale)


def _python_avg(rows: SetRows, types: Types, result: SqlType) -> Any:
    values = present(rows)
    if not values:
        return None
    total = as_numeric(_sum_type(types[0]))
    exact = fit_decimal(exact_sum(values), total)
    return quotient_of((total, numeric(19, 0)), result, exact, Decimal(len(values)))


def exact() -> list[AggregateFunction]:
    """Return sum and avg of whole numbers and of NUMERIC."""
    kinds = (Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.NUMERIC)
    return [
        *(
            AggregateFunction(
                "sum",
                (k,),
                lambda o: _sum_type(o[0].type),
                _print_sum,
                _python_sum,
                decompose=_decompose_sum,
                overflows=_sum_overflows,
            )
            for k in kinds
        ),
        *(
            AggregateFunction(
                "avg",
                (k,),
                _avg_type,
                _print_avg,
                _python_avg,
                decompose=_decompose_avg,
                overflows=_avg_overflows,
            )
            for k in kinds
        ),
    ]
