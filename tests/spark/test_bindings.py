"""Nested expressions: what a call reads several times is printed once."""

from __future__ import annotations

import pytest

from floodmark.errors import Span
from floodmark.plan.bind import BindContext, SchemaScope, bind_scalar
from floodmark.spark.expressions import compile
from floodmark.sql.parse import parse_expression
from tests.spark.expression_rows import SCHEMA

DEEP = 7
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
}


def texts(template: str, column: str, depth: int) -> int:
    text = column
    for _ in range(depth):
        text = template.format(text)
    expr = bind_scalar(
        parse_expression(text), SchemaScope(SCHEMA), BindContext(Span.at(text, 0, 0))
    )
    found = compile(expr)
    return len(found.value) + len(found.error or "")


@pytest.mark.parametrize("template", NESTED)
def test_texts_do_not_grow_with_the_power_of_their_depth(template: str) -> None:
    once, twice = (texts(template, NESTED[template], depth) for depth in (DEEP, 2 * DEEP))
    assert twice < 5 * once
