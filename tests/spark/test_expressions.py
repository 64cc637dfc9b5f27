"""Every expression gives on Spark the value and the error that the reference gives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from floodmark.errors import Span
from floodmark.plan.bind.binder import bind_scalar
from floodmark.plan.bind.collectors import AggregateCollector
from floodmark.plan.bind.context import BindContext
from floodmark.plan.bind.scope import SchemaScope
from floodmark.plan.expr.evaluate import evaluate
from floodmark.plan.expr.expressions import Expr
from floodmark.reference.grouping import compute
from floodmark.reference.moment import Moment
from floodmark.scalar.functions import aggregate_overload
from floodmark.scalar.functions.intervals import micros_of
from floodmark.scalar.types import Kind, SqlType
from floodmark.spark.expressions import compile, operands_of
from floodmark.spark.literals import literal
from floodmark.sql.parse import parse_expression
from tests.spark.expression_cases import EXPRESSIONS
from tests.spark.expression_rows import ROWS, SCHEMA
from tests.spark.function_cases import EXPRESSIONS as FUNCTIONS
from tests.spark.test_bindings import NESTED, nested

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOW = datetime(2024, 6, 1, 12, 0, tzinfo=UTC)


def bound(text: str) -> Expr:
    return bind_scalar(
        parse_expression(text), SchemaScope(SCHEMA), BindContext(Span.at(text, 0, 0))
    )


def frame(spark: SparkSession) -> DataFrame:
    # A UNION of rows would copy every expression as often as there are rows.
    rows = (", ".join(literal(row[f.name], f.type) for f in SCHEMA) for row in ROWS)
    names = ", ".join(f"`{f.name}`" for f in SCHEMA)
    return spark.sql(f"SELECT * FROM VALUES ({'), ('.join(rows)}) AS t({names})")


def from_arrow(value: Any, type_: SqlType) -> Any:
    if value is None:
        return None
    match type_.kind:
        case Kind.INTERVAL:
            return value["months"], value["days"], value["micros"]
        case Kind.LIST:
            assert type_.element is not None
            return tuple(from_arrow(v, type_.element) for v in value)
        case Kind.STRUCT:
            pairs = zip(value.values(), type_.fields, strict=True)
            return tuple(from_arrow(v, f.type) for v, f in pairs)
        case Kind.MAP:
            return tuple(value)
        case Kind.TIMESTAMPTZ:
            return value.astimezone(UTC)
        case _:
            return value


def same(a: Any, b: Any, type_: SqlType) -> bool:
    if type_.kind is Kind.LIST and type_.element and a is not None and b is not None:
        pairs = zip(a, b, strict=False)
        return len(a) == len(b) and all(same(x, y, type_.element) for x, y in pairs)
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
    exprs = [(text, bound(text)) for text in (*EXPRESSIONS, *FUNCTIONS)]
    # Spark's compiler gives up on a job with all of them.
    wrong = [d for i in range(0, len(exprs), 100) for d in differences(spark, exprs[i : i + 100])]
    assert wrong == []


DAILY = ("coalesce({} / j, 1)", "CASE WHEN {} / j IN (1, 2, 3) THEN 1 ELSE i END")


@pytest.mark.spark
@pytest.mark.parametrize(
    ("templates", "depth"),
    [
        pytest.param(DAILY, 3, id="some"),
        # Two libraries round powers of powers in two ways.
        pytest.param([t for t in NESTED if "power" not in t], 4, id="all", marks=pytest.mark.long),
    ],
)
def test_nested_expressions_mean_on_spark_what_they_mean(
    spark: SparkSession, templates: Sequence[str], depth: int
) -> None:
    exprs = [(t, bound(nested(t, NESTED[t], depth))) for t in templates]
    at_once = [t for t, e in exprs if "transform(array(" in compile(e).value]
    assert len(at_once) > len(exprs) // 2
    assert differences(spark, exprs) == []


AGGREGATES = """
count(*)
count(s)
count(distinct p)
sum(sm)
sum(i)
sum(b)
sum(n)
sum(distinct i)
avg(i)
avg(b)
avg(n)
avg(m)
sum(d) filter (where e < 1e9)
sum(d)
sum(e)
avg(e)
min(i)
max(s)
min(e)
max(e)
min(ts)
max(dt) filter (where p)
bool_and(p)
bool_or(q)
every(p)
every(q) filter (where k > 5)
count(*) filter (where i > 0)
bit_and(i)
bit_or(distinct b)
bit_xor(sm) filter (where i > 0)
stddev(i)
var_pop(m)
variance(b)
stddev_pop(distinct sm)
stddev_samp(n) filter (where i > 0)
var_samp(i)
var_samp(m) filter (where k = 0)
var_pop(w)
var_pop(e) filter (where e < 1e9)
sum(iv)
avg(iw)
sum(distinct iv)
avg(iv) filter (where i > 0)
avg(iv) filter (where false)
sum(i) filter (where false)
avg(n) filter (where false)
""".strip().splitlines()


@pytest.mark.spark
def test_every_aggregate_means_on_spark_what_it_means(spark: SparkSession) -> None:
    columns, expected = [], []
    for index, text in enumerate(AGGREGATES):
        collector = AggregateCollector()
        context = BindContext(Span.at(text, 0, 0))
        bind_scalar(parse_expression(text), SchemaScope(SCHEMA), context, aggregates=collector)
        call = collector.calls[0][1]
        function = aggregate_overload(call.function, tuple(a.type for a in call.args))
        operands = operands_of(call.args, [compile(a) for a in call.args])
        condition = None if call.filter is None else compile(call.filter).value
        printed = function.print_batch(operands, distinct=call.distinct, condition=condition)
        columns.append(f"{printed} AS a{index}")
        expected.append((text, call.type, compute(call, ROWS, Moment(NOW))))
    got = frame(spark).selectExpr(*columns).toArrow().to_pylist()[0]
    wrong = [
        f"{text}: Spark {got[f'a{index}']!r}, reference {value!r}"
        for index, (text, type_, value) in enumerate(expected)
        if not same(from_arrow(got[f"a{index}"], type_), value, type_)
    ]
    assert wrong == []


@pytest.mark.spark
def test_accumulators_end_where_the_aggregate_does(spark: SparkSession) -> None:
    sums, finals, expected = [], [], []
    for index, text in enumerate(AGGREGATES):
        collector = AggregateCollector()
        context = BindContext(Span.at(text, 0, 0))
        bind_scalar(parse_expression(text), SchemaScope(SCHEMA), context, aggregates=collector)
        call = collector.calls[0][1]
        types = tuple(a.type for a in call.args)
        function = aggregate_overload(call.function, types)
        if function.decompose is None or not function.is_sum(types) or call.distinct or call.filter:
            continue
        kept = function.decompose(types, call.type)
        argument = [compile(a).value for a in call.args]
        names = {a.suffix: f"a{index}_{a.suffix}" for a in kept.accumulators}
        for accumulator in kept.accumulators:
            text_ = accumulator.contribution.format(*argument, w="1")
            combine = "collect_list" if accumulator.gathered else "sum"
            sums.append(f"{combine}({text_}) AS {names[accumulator.suffix]}")
        finals.append(f"{kept.print_value(names)} AS v{index}")
        expected.append((text, index, call.type, compute(call, ROWS, Moment(NOW))))
    got = frame(spark).selectExpr(*sums).selectExpr(*finals).toArrow().to_pylist()[0]
    wrong = [
        f"{text}: Spark {got[f'v{index}']!r}, reference {value!r}"
        for text, index, type_, value in expected
        if not same(from_arrow(got[f"v{index}"], type_), value, type_)
    ]
    assert wrong == []
