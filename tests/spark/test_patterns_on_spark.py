# ruff: noqa: E501
"""`to_char`, `to_number` and `to_timestamp` read and print on Spark as the reference does."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from floodmark.errors import Span
from floodmark.plan.bind.binder import bind_scalar
from floodmark.plan.bind.context import BindContext
from floodmark.plan.bind.scope import SchemaScope
from floodmark.plan.expr.evaluate import evaluate
from floodmark.scalar.casts import cast_value
from floodmark.scalar.types import DOUBLE, REAL, VARCHAR, Field, SqlType, numeric
from floodmark.spark.expressions import compile
from floodmark.spark.literals import literal
from floodmark.sql.parse import parse_expression

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIGNED = (
    "999.99", "FM999.0", "000", "9,999.99", "S99.9", "99MI", "99PR", "SG9", "99S9", "9MI9", "FM9.9",
    ".9", "9.", "FM,999,990.0S", "0.00000000000000000000", "9.99999999999999999999PR", "MI9.9,9", "",
)  # fmt: skip
WIDE = ("99999999999999999999999999999999999999", "FM99999999999999999999.9")
NUMBERS = (
    "0", "1", "-1", "0.5", "-0.5", "1.5", "2.5", "-2.5", "12.34", "-0.01", "99.995", "-100", "1234",
    "123456.789", "-0.001", "0.005", "9.995", "0.125", "2.675", "1.005", "0.045", "123456789.125", "1e15",
)  # fmt: skip
FLOATS = (
    *NUMBERS, "-0", "NaN", "Infinity", "-Infinity", "1e16", "1e23", "18446744073709551616", "1e37", "1e38",
    "9223372036854775808", "9007199254740993", "999999.5", "1234567.5", "1e-30",
)  # fmt: skip
TEXTS = (
    "1", "-1", "12.34", "-12.34", "12.34-", "+1", "<12>", "1,234.5", "10:20:30", " 4.5 ", "-1e3", "{1,2}",
    "12-3", "1-", "- 1", "1 2", "1.2.3", ".5", "5.", "abc", "äöü1", "ä1", "", "007", "99999", "12 -", "$12",
    "-", ".", " ", "--1", "3-4.5", "1\n2",
)  # fmt: skip
TIMES = (
    "2024-02-29", "2024-02-29 10:20:30.5", "20240229", "29 Feb 2024", "May 3, 2024", "2024-02-29T10:20:30",
    "2024-02-29 T10:20:30", "2024 12:30 AM", "2024 12:30 pm", "2024 13:10 PM", "2024 50", "2024 1234",
    "2024.1234567", "2024 2023", "2024 02 Mar", "2024 03 Mar", "12", "", "\t2024", "2024abc03", "10000-01-01",
    "2024--5", "2024-+5-07", "2024-00-00", "2024/2/3", "2024é3", "2024 10 11", "99999999999", "2024-13-01",
    "2024-02-30", "2024-1-1 24:00:00", "2024-1-1 23:59:60", " 4.5 ", "2024Mar",
    "2024-99999999999", "2024-00000000000012", "2024-2-29 99999999999", "2024 4294967296", "2024 0000000000001",
)  # fmt: skip
READ = (
    "YYYY-MM-DD", "YYYY-MM-DD HH24:MI:SS.US", "YYYYMMDD", "DD Mon YYYY", "FMMonth DD, YYYY",
    'YYYY-MM-DD"T"HH24:MI:SS', "YYYY HH12:MI AM", "YYYY MS", "YYYY.US", "YYYY MM Mon", 'YYYY"abc"MM',
    "YYYY YYYY", "YYYY HH24 HH12", "YYYYMon", "YYYY SS MS", "",
)  # fmt: skip


@pytest.mark.spark
@pytest.mark.parametrize(
    ("function", "type_", "texts", "patterns"),
    [
        ("to_char", numeric(38, 3), NUMBERS, (*SIGNED, *WIDE)),
        ("to_char", DOUBLE, FLOATS, (*SIGNED, *WIDE)),
        ("to_char", REAL, FLOATS, (*SIGNED, *WIDE)),
        ("to_number", VARCHAR, TEXTS, SIGNED),
        ("to_timestamp", VARCHAR, TIMES, READ),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_a_pattern_means_on_spark_what_it_means(
    spark: SparkSession,
    function: str,
    type_: SqlType,
    texts: Sequence[str],
    patterns: Sequence[str],
) -> None:
    values = [cast_value(text, VARCHAR, type_) for text in texts]
    rows = "), (".join(literal(value, type_) for value in (*values, None))
    calls = [f"{function}(x, '{pattern}')" for pattern in patterns]
    scope, moment = SchemaScope((Field("x", type_),)), datetime(2024, 1, 1, tzinfo=UTC)
    exprs = [bind_scalar(parse_expression(c), scope, BindContext(Span.at(c, 0, 0))) for c in calls]
    columns = ["`x`"]
    for i, expr in enumerate(exprs):
        compiled = compile(expr, 0)
        columns += [f"{compiled.value} AS v{i}", f"{compiled.error or 'CAST(NULL AS INT)'} AS e{i}"]
    frame = spark.sql(f"SELECT * FROM VALUES ({rows}) AS t(`x`)").selectExpr(*columns)
    wrong = []
    for value, row in zip((*values, None), frame.toArrow().to_pylist(), strict=True):
        for i, (call, expr) in enumerate(zip(calls, exprs, strict=True)):
            said: tuple[Any, Any] = row[f"v{i}"], row[f"e{i}"]
            if said != evaluate(expr, {"x": value}, moment):
                wrong.append(f"{call} of {value!r}: {said}, {evaluate(expr, {'x': value}, moment)}")
    assert not wrong, "\n".join(wrong)
