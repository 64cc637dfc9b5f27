"""Nested expressions: what a call reads several times is printed once."""

from __future__ import annotations

import pytest

from floodmark.errors import Span
from floodmark.plan.bind.binder import bind_scalar
from floodmark.plan.bind.context import BindContext
from floodmark.plan.bind.scope import SchemaScope
from floodmark.spark.expressions import compile
from floodmark.sql.parse import parse_expression
from tests.spark.expression_rows import SCHEMA

DEEP = 7
REPEATED = "CASE {} / j WHEN 1 THEN 2 WHEN 3 THEN 5 ELSE 2 END"
"""A plan has its operand once for every WHEN: a text has it once, as deep as the plan may be."""
NESTED = {
    "({} + iw)": "iv",
    "({} * d)": "iv",
    "age({}, us) + ts": "ts",
    "(ts + ({} - us))": "ts",
    "CAST(CAST({} AS VARCHAR) AS TIMESTAMP)": "ts",
    "regexp_replace({}, 'a(b)', 'c')": "s",
    "overlay({} placing 'x' from i)": "s",
    "power({}, d)": "d",
    "abs({})": "i",
    "(i / {})": "j",
    "coalesce({} / j, 1)": "i",
    "coalesce(1 / j, {} / j)": "i",
    "CASE WHEN {} / j > 1 THEN 1 ELSE i END": "i",
    "CASE WHEN i > 1 THEN {} / j ELSE 2 END": "i",
    "CASE WHEN (j > 0 AND {} / j > 1) OR i / j > 2 THEN 1 END": "i",
    REPEATED: "i",
    "CAST(coalesce(CAST({} AS BIGINT), 1) AS INT)": "i",
    "CASE WHEN {} / j IN (1, 2, 3) THEN 1 ELSE i END": "i",
    "nullif({} / j, 1)": "i",
}


def nested(template: str, column: str, depth: int) -> str:
    text = column
    for _ in range(depth):
        text = template.format(f"({text})")
    return text


def texts(template: str, column: str, depth: int) -> int:
    text = nested(template, column, depth)
    expr = bind_scalar(
        parse_expression(text), SchemaScope(SCHEMA), BindContext(Span.at(text, 0, 0))
    )
    found = compile(expr)
    return len(found.value) + len(found.error or "")


@pytest.mark.parametrize("template", NESTED)
def test_texts_do_not_grow_with_the_power_of_their_depth(template: str) -> None:
    deep = 4 if template == REPEATED else DEEP
    once, twice = (texts(template, NESTED[template], depth) for depth in (deep, 2 * deep))
    assert twice < 5 * once
