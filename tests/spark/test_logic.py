"""AND, OR, NOT, CASE and COALESCE over values, NULLs and errors, whatever the order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings, strategies as st

from floodmark.plan.expr.evaluate import evaluate
from floodmark.plan.expr.expressions import BoolOp, Expr, transform
from tests.spark.expression_rows import ROWS
from tests.spark.test_expressions import NOW, bound, differences

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TESTS = (
    "p", "q", "null::boolean", "true", "false", "i / j > 0", "b + c > 0", "b::smallint = 1",
    "t::int > 0", "sqrt(e) > 1", "s is null", "i in (1, 1 / j)",
)  # fmt: skip
NUMBERS = ("i", "j", "i / j", "null::int", "b::int", "1 / (i - 1)", "t::int", "7")
COUNT = 120


def condition_text(draw: random.Random, depth: int) -> str:
    """Return a random condition as SQL."""
    if depth == 0 or draw.random() < 0.2:
        return draw.choice(TESTS)
    parts = [condition_text(draw, depth - 1) for _ in range(draw.randint(2, 3))]
    match draw.randrange(6):
        case 0:
            return f"({' AND '.join(parts)})"
        case 1:
            return f"({' OR '.join(parts)})"
        case 2:
            return f"(NOT {parts[0]})"
        case 3:
            return f"(CASE WHEN {parts[0]} THEN {parts[1]} ELSE {parts[-1]} END)"
        case 4:
            return f"coalesce({', '.join(parts)})"
        case _:
            return f"({number_text(draw, depth - 1)} < {number_text(draw, depth - 1)})"


def number_text(draw: random.Random, depth: int) -> str:
    """Return a random number as SQL."""
    if depth <= 0:
        return draw.choice(NUMBERS)
    a, b = number_text(draw, depth - 1), number_text(draw, depth - 1)
    match draw.randrange(4):
        case 0:
            return f"(CASE WHEN {condition_text(draw, depth - 1)} THEN {a} WHEN {condition_text(draw, 0)} THEN {b} END)"  # noqa: E501
        case 1:
            return f"coalesce({a}, {b})"
        case 2:
            return f"nullif({a}, {b})"
        case _:
            return f"({a} + {b})"


def texts(seed: int, count: int) -> Iterator[str]:
    draw = random.Random(seed)
    for _ in range(count):
        yield condition_text(draw, draw.randint(1, 3))


def turned(expr: Expr, draw: random.Random) -> Expr:
    """Return the expression with the operands of AND and OR in another order."""

    def change(part: Expr) -> Expr:
        if not isinstance(part, BoolOp):
            return part
        args = [turned(a, draw) for a in part.args]
        draw.shuffle(args)
        return replace(part, args=tuple(args))

    return transform(expr, change)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10**9))
def test_the_order_of_operands_does_not_matter(seed: int) -> None:
    (text,) = texts(seed, 1)
    expr = bound(text)
    other = turned(expr, random.Random(seed + 1))
    for row in ROWS:
        assert evaluate(expr, row, NOW) == evaluate(other, row, NOW), text


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10**9))
def test_and_and_or_mirror_each_other(seed: int) -> None:
    """NOT (a AND b) is (NOT a) OR (NOT b), errors included."""
    a, b = texts(seed, 2)
    left, right = bound(f"NOT ({a} AND {b})"), bound(f"(NOT {a}) OR (NOT {b})")
    for row in ROWS:
        assert evaluate(left, row, NOW) == evaluate(right, row, NOW), (a, b)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10**9))
def test_absorbing_beats_errors_and_errors_beat_null(seed: int) -> None:
    (text,) = texts(seed, 1)
    alone, no, yes = bound(text), bound(f"{text} AND false"), bound(f"true OR {text}")
    nulls = {operator: bound(f"null {operator} {text}") for operator in ("AND", "OR")}
    for row in ROWS:
        value, error = evaluate(alone, row, NOW)
        assert evaluate(no, row, NOW) == (False, None)
        assert evaluate(yes, row, NOW) == (True, None)
        for operator, expr in nulls.items():
            with_null = evaluate(expr, row, NOW)
            if error is not None:
                assert with_null == (None, error)
            elif value is (operator == "OR"):
                assert with_null == (value, None)
            else:
                assert with_null == (None, None)


@pytest.mark.spark
def test_spark_agrees(spark: SparkSession) -> None:
    exprs = [(text, bound(text)) for text in dict.fromkeys(texts(20240601, COUNT))]
    assert differences(spark, exprs) == []
