"""Python functions of users give in Spark's workers what they give here, for every type."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from floodmark.catalog.objects import CatalogObject, Origin
from floodmark.errors import Span
from floodmark.plan.bind.binder import bind_scalar
from floodmark.plan.bind.context import BindContext
from floodmark.plan.bind.scope import SchemaScope
from floodmark.plan.declare.functions import functions_of
from floodmark.plan.expr.expressions import Expr
from floodmark.spark.user_functions import register
from floodmark.sql import statements as s
from floodmark.sql.parse import parse_expression, parse_script
from tests.spark.expression_rows import SCHEMA
from tests.spark.test_expressions import differences

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPES = {
    "sm": "smallint", "i": "int", "b": "bigint", "n": "numeric(18,2)", "w": "numeric", "r": "real",
    "d": "double precision", "s": "text", "p": "boolean", "dt": "date", "ts": "timestamp",
    "tz": "timestamptz", "tm": "time", "iv": "interval",
}  # fmt: skip
SAME = """
CREATE FUNCTION same_{name}(x {type_}) RETURNS {type_} LANGUAGE python IMMUTABLE AS $$
def same_{name}(x):
    return x
$$;
"""
MORE = """
CREATE FUNCTION lists(x int[]) RETURNS int[] LANGUAGE python AS $$
def lists(x): return None if x is None else x[::-1]
$$;
CREATE FUNCTION json(x jsonb) RETURNS jsonb LANGUAGE python AS $$
def json(x): return None if x is None else {"got": x}
$$;
CREATE FUNCTION pair(a int, b text) RETURNS struct<a int, b text> LANGUAGE python AS $$
def pair(a, b):
    if a == 1:
        raise KeyError(a)
    return {"a": a, "b": b} if a != 0 else (a, b, a)
$$;
CREATE FUNCTION none() RETURNS text LANGUAGE python AS $$
def none(): return None
$$;
CREATE FUNCTION bytes_of(x bytea) RETURNS bytea LANGUAGE python AS $$
def bytes_of(x): return None if x is None else x[:2]
$$;
CREATE FUNCTION shipped(x int) RETURNS int LANGUAGE python AS 'a_module_of_a_test.plus_two';
"""
CALLS = (
    *(f"same_{name}({name})" for name in TYPES),
    "lists(array[i, j, null])", "json(to_jsonb(s))", "(pair(i, s)).b", "pair(i, t)", "none()",
    "bytes_of(s::bytea)", "shipped(i)", "coalesce(shipped(i) + j, 1)",
    "case when i > 1 then same_i(i) / (j - 3) end", "same_s(s) || same_s(t)",
)  # fmt: skip


def bound(text: str, functions: BindContext) -> Expr:
    return bind_scalar(parse_expression(text), SchemaScope(SCHEMA), functions)


@pytest.mark.spark
def test_values_of_every_type_go_through(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "a_module_of_a_test.py"
    module.write_text("TWO = 2\n\n\ndef plus_two(x):\n    return None if x is None else x + TWO\n")
    monkeypatch.syspath_prepend(tmp_path)
    sql = "".join(SAME.format(name=name, type_=type_) for name, type_ in TYPES.items())
    created = []
    for statement in parse_script(sql + MORE):
        assert isinstance(statement, s.Definition)
        created.append(CatalogObject(statement.name.name, statement, Origin.STATEMENT))
    context = BindContext(Span.at("", 0, 0), functions=functions_of(created))
    exprs = [(text, bound(text, context)) for text in CALLS]
    register(spark, [expr for _, expr in exprs])
    assert differences(spark, exprs) == []
