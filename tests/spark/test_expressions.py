"""Every expression gives on Spark the value and the error that the reference gives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from floodmark.catalog.functions.intervals import micros_of
from floodmark.catalog.types import Kind, SqlType
from floodmark.errors import Span
from floodmark.plan.bind import BindContext, SchemaScope, bind_scalar
from floodmark.plan.expressions import Expr
from floodmark.reference.expressions import evaluate
from floodmark.spark.expressions import compile
from floodmark.spark.literals import literal
from floodmark.sql.parse import parse_expression
from tests.spark.expression_cases import EXPRESSIONS, ROWS, SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOW = datetime(2024, 6, 1, 12, 0, tzinfo=UTC)


def bound(text: str) -> Expr:
    return bind_scalar(
        parse_expression(text), SchemaScope(SCHEMA), BindContext(Span.at(text, 0, 0))
    )


def frame(spark: SparkSession) -> DataFrame:
    lines = [
        "SELECT " + ", ".join(f"{literal(row[f.name], f.type)} AS `{f.name}`" for f in SCHEMA)
        for row in ROWS
    ]
    return spark.sql(" UNION ALL ".join(lines))


def from_arrow(value: Any, type_: SqlType) -> Any:
    if value is None:
        return None
    match type_.kind:
        case Kind.INTERVAL:
            return value["months"], value["days"], value["micros"]
        case Kind.LIST:
            return tuple(value)
        case Kind.TIMESTAMPTZ:
            return value.astimezone(UTC)
        case _:
            return value


def same(a: Any, b: Any, type_: SqlType) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return a == b or math.isclose(a, b, rel_tol=1e-15)
    if type_.kind is Kind.NUMERIC and a is not None and b is not None:
        return bool(a == b)
    return bool(a == b)


def differences(spark: SparkSession, exprs: Sequence[tuple[str, Expr]]) -> list[str]:
    columns = ["`k` AS `__k`"]
    for index, (_, expr) in enumerate(exprs):
        compiled = compile(expr, micros_of(NOW))
        columns.append(f"{compiled.value} AS v{index}")
        columns.append(f"{compiled.error or 'CAST(NULL AS INT)'} AS e{index}")
    got = {row["__k"]: row for row in frame(spark).selectExpr(*columns).toArrow().to_pylist()}
    out = []
    for row in ROWS:
        for index, (text, expr) in enumerate(exprs):
            value, error = evaluate(expr, row, NOW)
            mine = from_arrow(got[row["k"]][f"v{index}"], expr.type)
            code = got[row["k"]][f"e{index}"]
            if code != error or not same(mine, value, expr.type):
                out.append(
                    f"{text} on row {row['k']}: Spark {mine!r} {code}, reference {value!r} {error}"
                )
    return out


@pytest.mark.spark
def test_every_expression_means_on_spark_what_it_means(spark: SparkSession) -> None:
    exprs = [(text, bound(text)) for text in EXPRESSIONS]
    assert differences(spark, exprs) == []
