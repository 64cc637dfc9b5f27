"""Expressions as text: parentheses where they are needed, and nowhere else."""

from __future__ import annotations

import pytest

from floodmark.plan.bind.binder import bind_scalar
from floodmark.plan.bind.context import BindContext
from floodmark.plan.bind.scope import Column, QueryScope, Source
from floodmark.plan.expr.expressions import AggCall, ColumnRef, Literal
from floodmark.plan.expr.printing import aggregate_text, to_text
from floodmark.scalar.types import BIGINT, BOOLEAN, INT, JSONB, TIMESTAMP, VARCHAR
from floodmark.sql.parse import parse_expression

_COLUMNS = {
    "a": INT,
    "b": INT,
    "c": INT,
    "s": VARCHAR,
    "t": TIMESTAMP,
    "x": BOOLEAN,
    "y": BOOLEAN,
    "j": JSONB,
}
_SCOPE = QueryScope.from_sources(
    Source("r", tuple(Column(c, c, type_) for c, type_ in _COLUMNS.items()))
)

SAME = [
    "a + b * c", "(a + b) * c", "a - (b - c)", "a - b - c", "a / (b * c)", "-(a + b)", "- 3 + a",
    "x AND (y OR a > 1)", "x OR y AND a > 1", "NOT (x OR y)", "NOT x", "(a + 1)::bigint",
    "a IN (1, 2)", "a IS NULL", "(a > 1) IS TRUE", "s LIKE 'a%'", "s || 'b' = 'ab'",
    "a IS DISTINCT FROM b", "coalesce(a, b, 0)", "'it''s' = s", "extract(year FROM t)",
    "CASE WHEN a > 1 THEN 'x' ELSE s END", "t - INTERVAL '1 day 2 hours'", "date_trunc('hour', t)",
    "(j ->> 'a')::int", "j -> 'a' -> 0 ->> 'b' = s", "j -> (s || 'b') -> -1", "j ->> 'a' || s",
    "s || (j ->> 'a')",
    "t > TIMESTAMP '2024-01-02 03:04:05.5'", "s IS NOT NULL AND x IS NOT FALSE",
]  # fmt: skip


@pytest.mark.parametrize("text", SAME)
def test_text_means_the_same_when_it_is_bound_again(text: str) -> None:
    context = BindContext(source=None)
    bound = bind_scalar(parse_expression(text), _SCOPE, context)
    printed = to_text(bound)
    assert bind_scalar(parse_expression(printed), _SCOPE, context) == bound


def test_names_are_replaced_and_hidden_ones_lose_their_prefix() -> None:
    assert to_text(ColumnRef(BIGINT, "__row_id")) == "_row_id"
    assert to_text(ColumnRef(BIGINT, "__agg0"), {"__agg0": "total"}) == "total"


def test_aggregate_with_everything() -> None:
    a, s = ColumnRef(INT, "a"), ColumnRef(VARCHAR, "s")
    call = AggCall(
        "string_agg", (s, Literal(VARCHAR, ",")), VARCHAR, distinct=True,
        filter=ColumnRef(BOOLEAN, "x"), order_by=((a, True, True), (s, False, True)),
    )  # fmt: skip
    expected = "string_agg(DISTINCT s, ',' ORDER BY a DESC, s NULLS FIRST) FILTER (WHERE x)"
    assert aggregate_text(call) == expected
