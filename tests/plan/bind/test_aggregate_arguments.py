"""What is said of aggregates that are written in forms of their own, and how they are printed."""

from __future__ import annotations

import pytest

from floodmark.errors import FloodmarkError
from floodmark.plan import nodes as n
from floodmark.plan.expr.printing import aggregate_text
from tests.program_reference import compile_sql

TABLES = """CREATE TABLE t (k INT PRIMARY KEY, g INT, a INT, d DOUBLE, at TIMESTAMP, s TEXT, j JSONB, l INT[]);
CREATE FUNCTION last(x INT) RETURNS INT LANGUAGE python IMMUTABLE AS $$
def last(x):
    return x
$$;"""  # noqa: E501

REFUSED = {
    "percentile_cont(0.5)": "E0298",
    "percentile_cont(0.5, a)": "E0298",
    "percentile_cont(0.5) OVER (ORDER BY a)": "E0298",
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY a, k)": "E0298",
    "percentile_cont(DISTINCT 0.5) WITHIN GROUP (ORDER BY a)": "E0298",
    "percentile_cont(0.5 ORDER BY g) WITHIN GROUP (ORDER BY a)": "E0298",
    "mode(a)": "E0298",
    "sum(a) WITHIN GROUP (ORDER BY a)": "E0298",
    "string_agg(s, ',') WITHIN GROUP (ORDER BY a)": "E0298",
    "percentile_cont(1.5) WITHIN GROUP (ORDER BY a)": "E0299",
    "percentile_cont(-0.1) WITHIN GROUP (ORDER BY a)": "E0299",
    "percentile_disc(NULL) WITHIN GROUP (ORDER BY a)": "E0299",
    "percentile_cont('NaN'::float8) WITHIN GROUP (ORDER BY a)": "E0299",
    "percentile_cont(ARRAY[0.5, 2]) WITHIN GROUP (ORDER BY a)": "E0299",
    "percentile_cont(ARRAY[0.5, NULL]) WITHIN GROUP (ORDER BY a)": "E0299",
    "percentile_cont(d) WITHIN GROUP (ORDER BY a)": "E0375",
    "percentile_cont(ARRAY[d]) WITHIN GROUP (ORDER BY a)": "E0375",
    "percentile_cont() WITHIN GROUP (ORDER BY a)": "E0270",
    "percentile_cont(0.5, 0.6) WITHIN GROUP (ORDER BY a)": "E0270",
    "mode(a) WITHIN GROUP (ORDER BY a)": "E0270",
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY s)": "E0270",
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY at)": "E0270",
    "mode() WITHIN GROUP (ORDER BY j)": "E0374",
    "mode() WITHIN GROUP (ORDER BY l)": "E0374",
    "mode() WITHIN GROUP (ORDER BY sum(a))": "E0273",
    "upper(s) WITHIN GROUP (ORDER BY a)": "E0272",
    "rank(1) WITHIN GROUP (ORDER BY a)": "E0374",
    "first_value(a) IGNORE NULLS": "E0374",
    "approx_count_distinct(*)": "E0270",
    "approx_count_distinct()": "E0270",
    "approx_count_distinct(a, k)": "E0270",
    "count(DISTINCT a, k)": "E0270",
    "jsonb_agg(*)": "E0274",
    "jsonb_agg(a, k)": "E0270",
    "jsonb_agg(l)": "E0374",
    "jsonb_object_agg(a)": "E0270",
    # With OVER
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY a) OVER ()": "E0374",
    "sum(a) WITHIN GROUP (ORDER BY a) OVER ()": "E0374",
    "string_agg(s, ',' ORDER BY a) OVER (PARTITION BY g)": "E0374",
    "count(DISTINCT a) OVER (PARTITION BY g)": "E0374",
    "approx_count_distinct(a) OVER (PARTITION BY g)": "E0374",
}


def call_of(text: str) -> str:
    """Return the aggregate of a view as EXPLAIN prints it."""
    pipeline = compile_sql(f"{TABLES} CREATE MATERIALIZED VIEW v AS SELECT {text} AS x FROM t;")
    plan = pipeline["v"].plan
    assert plan is not None
    (node,) = (node for node in plan.nodes if isinstance(node, n.Aggregate))
    return aggregate_text(node.aggregates[0][1])


@pytest.mark.parametrize("call", REFUSED)
def test_what_is_refused(call: str) -> None:
    with pytest.raises(FloodmarkError) as caught:
        compile_sql(f"{TABLES} CREATE MATERIALIZED VIEW v AS SELECT {call} AS x FROM t;")
    assert caught.value.code == REFUSED[call]


@pytest.mark.parametrize("name", ["approx_count_distinct", "json_agg", "mode"])
def test_names_that_a_function_cannot_take(name: str) -> None:
    with pytest.raises(FloodmarkError) as caught:
        compile_sql(TABLES.replace("last", name))
    assert caught.value.code == "E0283"


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        (
            "percentile_cont(0.5) WITHIN GROUP (ORDER BY d DESC NULLS LAST)",
            "percentile_cont(0.5) WITHIN GROUP (ORDER BY d DESC)",
        ),
        (
            "percentile_disc('{0.25, 1}'::float8[]) WITHIN GROUP (ORDER BY a) FILTER (WHERE k > 1)",
            "percentile_disc(ARRAY[0.25, 1]) WITHIN GROUP (ORDER BY a) FILTER (WHERE k > 1)",
        ),
        ("mode() WITHIN GROUP (ORDER BY s)", "mode() WITHIN GROUP (ORDER BY s)"),
        ("approx_count_distinct(a)", "count(DISTINCT a)"),
        ("json_agg(j ORDER BY k)", "jsonb_agg(j ORDER BY k)"),
    ],
)
def test_how_it_is_printed(text: str, printed: str) -> None:
    assert call_of(text) == printed
