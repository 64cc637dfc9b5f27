"""Set-returning functions and aggregates over ordered values: on Spark as in the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from floodmark.dataflow.groups.accumulators import batch_text
from floodmark.errors import Span
from floodmark.plan.bind.binder import bind_scalar
from floodmark.plan.bind.collectors import AggregateCollector, SetCollector
from floodmark.plan.bind.context import BindContext
from floodmark.plan.bind.scope import SchemaScope
from floodmark.plan.expr.expressions import AggCall, Expr
from floodmark.reference.grouping import compute
from floodmark.reference.moment import Moment
from floodmark.scalar.functions.intervals import micros_of
from floodmark.sql.parse import parse_expression
from tests.spark.expression_rows import ROWS, SCHEMA
from tests.spark.test_expressions import NOW, differences, frame, from_arrow, same

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETS_OF_ROWS = r"""
unnest(array[i, j, null])
unnest(array[s, t], array[i], array[b, c, null])
unnest(string_to_array(s, ','), string_to_array('', ','))
generate_series(i % 9, j % 9)
generate_series(j, i)
generate_series(sm, sm + 3)
generate_series(b, b + 2, 1)
generate_series(c, c + 30, 7)
generate_series(b, 9223372036854775807, 4611686018427387904)
generate_series(b, c, -5)
generate_series(i, j, 0)
generate_series(i, j, k)
generate_series(-2147483648, 2147483647, 2147483647)
generate_series(1, 1000001)
generate_series(ts, ts + interval '3 days', '36 hours')
generate_series(ts, us, iv)
generate_series(us, ts, iw)
generate_series(ts, us, interval '1 month')
generate_series(ts, us, interval '-2 months')
generate_series(ts, ts + interval '1 year', interval '1 month 1 day')
generate_series(ts, us, interval '1 month -1 day')
generate_series(ts, us, interval '0')
generate_series(timestamp '2024-01-31', timestamp '2025-06-30', '1 month')
generate_series(tz, tz + interval '2 hours', interval '50 minutes')
generate_series(tz, tz - interval '70 days', interval '-1 month')
generate_series(date '2024-02-27', date '2024-03-02', interval '1 day')
generate_series(timestamp '9999-11-30', timestamp '9999-12-31', interval '1 month')
generate_series(timestamp '0001-01-01', timestamp '9999-12-31', interval '1 month')
jsonb_array_elements('[1, null, "x", {"b": 1, "a": [2.50]}, []]'::jsonb)
jsonb_array_elements_text('[1, null, "x", {"b": 1, "a": [2.50]}, []]'::jsonb)
jsonb_array_elements(jsonb_build_array(s, i, t))
jsonb_array_elements(to_jsonb(i))
jsonb_each('{"bb": null, "a": {"x": 1}, "c": "t", "ä": 1}'::jsonb)
jsonb_each_text('{"bb": null, "a": {"x": 1}, "c": "t", "ä": 1}'::jsonb)
jsonb_each(jsonb_build_object('k', i, 's', s))
jsonb_object_keys('{"bb": null, "a": {"x": 1}, "c": "t", "ä": 1, "A": 2}'::jsonb)
jsonb_object_keys(to_jsonb(s))
string_to_table(s, ',')
string_to_table(s, '')
regexp_split_to_table(s, ',+')
regexp_matches(s, '[a-z]')
regexp_matches(s, '([a-z])(.)', 'g')
regexp_matches(s, '[A-Z]+', 'gi')
regexp_matches(t, 'no such')
regexp_matches(replace(s, '𝄞', ''), '(l)|(x*)|(o)', 'g')
regexp_matches(t, '(x)?()', 'g')
regexp_matches('', '(x)?()', 'g')
""".strip().splitlines()


def bound(text: str) -> Expr:
    sets = SetCollector()
    context = BindContext(Span.at(text, 0, 0))
    bind_scalar(parse_expression(text), SchemaScope(SCHEMA), context, sets=sets)
    ((_, call),) = sets.calls
    return call.call


@pytest.mark.spark
def test_every_set_means_on_spark_what_it_means(spark: SparkSession) -> None:
    assert differences(spark, [(text, bound(text)) for text in SETS_OF_ROWS]) == []


ORDERED = r"""
array_agg(i order by i)
array_agg(i order by i desc)
array_agg(i order by i nulls first)
array_agg(i order by i desc nulls last)
array_agg(s order by k, s)
array_agg(t order by s desc, t, k) filter (where k > 3)
array_agg(distinct j order by j)
array_agg(d order by d)
array_agg(e order by e desc)
array_agg(w order by w)
array_agg(p order by p)
array_agg(ts order by ts)
array_agg(row(i, s) order by i, s)
array_agg(k order by k) filter (where false)
array_agg(k order by iv, k)
array_agg(k order by iw desc nulls last, k)
percentile_cont(0.5) within group (order by i)
percentile_cont(0.3) within group (order by d)
percentile_cont(0.75) within group (order by e desc) filter (where k < 6)
percentile_cont(1) within group (order by w)
percentile_cont(0) within group (order by r)
percentile_cont(0.37) within group (order by iv)
percentile_cont(0.9) within group (order by iw desc)
percentile_cont(array[0, 0.25, 0.5, 1]) within group (order by n)
percentile_cont(array[0.1, 0.6]) within group (order by iw)
percentile_cont(0.5) within group (order by i) filter (where false)
percentile_cont(array[0.5]) within group (order by i) filter (where false)
percentile_disc(0.5) within group (order by s)
percentile_disc(0) within group (order by ts desc)
percentile_disc(0.34) within group (order by iv)
percentile_disc(array[0.2, 0.4, 1]) within group (order by p)
percentile_disc(0.7) within group (order by d)
percentile_disc(0.7) within group (order by w) filter (where k = 5)
mode() within group (order by k % 3)
mode() within group (order by k % 3 desc)
mode() within group (order by p desc)
mode() within group (order by iv)
mode() within group (order by t) filter (where false)
mode() within group (order by d - d)
mode() within group (order by r * 0 desc)
string_agg(s, '|' order by k)
string_agg(distinct t, ',' order by t desc) filter (where k > 0)
string_agg(s, ',' order by k) filter (where false)
first_value(i order by k)
first_value(s order by k desc nulls last)
first_value(j order by i, k) filter (where k > 4)
last_value(j order by k) filter (where k < 5)
last_value(d order by d, k) filter (where k <> 1)
last_value(i order by k) filter (where false)
any_value(s) filter (where k in (4, 5))
any_value(i) filter (where false)
jsonb_agg(i order by k desc)
jsonb_agg(s order by k)
jsonb_agg(distinct p order by p)
jsonb_agg(jsonb_build_array(k, ts, n)  order by k) filter (where k > 2)
jsonb_agg(i) filter (where false)
jsonb_object_agg(k, s order by k)
jsonb_object_agg(coalesce(t, 'ö"\'), k order by k)
jsonb_object_agg(k % 2, k order by k desc)
jsonb_object_agg(k, w order by k) filter (where false)
""".strip().splitlines()


def called(text: str) -> AggCall:
    collector = AggregateCollector()
    context = BindContext(Span.at(text, 0, 0))
    bind_scalar(parse_expression(text), SchemaScope(SCHEMA), context, aggregates=collector)
    return collector.calls[0][1]


@pytest.mark.spark
def test_lists_in_order_are_on_spark_what_they_are(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    calls = [called(text) for text in ORDERED]
    columns = [F.expr(batch_text(c, micros_of(NOW))).alias(f"v{i}") for i, c in enumerate(calls)]
    got = frame(spark).agg(*columns).toArrow().to_pylist()[0]
    different = []
    for index, (text, call) in enumerate(zip(ORDERED, calls, strict=True)):
        value = compute(call, ROWS, Moment(NOW))
        mine = from_arrow(got[f"v{index}"], call.type)
        if not same(mine, value, call.type):
            different.append((text, mine, value))
    assert different == []
