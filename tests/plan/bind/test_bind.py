"""What the binder makes of SQL text: types, casts, constants, refusals."""

from __future__ import annotations

import pytest

from floodmark.errors import FloodmarkError, Span
from floodmark.plan.bind.binder import bind_interval, bind_scalar
from floodmark.plan.bind.collectors import AggregateCollector, WindowCollector
from floodmark.plan.bind.context import BindContext
from floodmark.plan.bind.scope import SchemaScope
from floodmark.plan.expr.expressions import ColumnRef, Expr, Literal
from floodmark.scalar.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    TIMESTAMP,
    VARCHAR,
    Field,
    numeric,
)
from floodmark.sql.parse import parse_expression

SCOPE = SchemaScope(
    (
        Field("a", INT),
        Field("b", BIGINT),
        Field("n", numeric(18, 2)),
        Field("d", DOUBLE),
        Field("s", VARCHAR),
        Field("ts", TIMESTAMP),
        Field("dt", DATE),
        Field("f", BOOLEAN),
    )
)


def bind(text: str, collector: AggregateCollector | None = None) -> Expr:
    context = BindContext(Span.at(text, 0, len(text)))
    return bind_scalar(parse_expression(text), SCOPE, context, aggregates=collector)


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("a + 1", "integer"),
        ("a + b", "bigint"),
        ("a / 2", "integer"),
        ("n + n", "numeric(19,2)"),
        ("n * n", "numeric(36,4)"),
        ("n / 3", "numeric(38,16)"),
        ("n + d", "double precision"),
        ("ts - ts", "interval"),
        ("dt - dt", "integer"),
        ("ts + '30 days'", "timestamp without time zone"),
        ("dt + interval '1 day'", "timestamp without time zone"),
        ("coalesce(a, n)", "numeric(18,2)"),
        ("case when f then 1 else 2.5 end", "numeric(11,1)"),
        ("array[a, b]", "bigint[]"),
        ("now()", "timestamp with time zone"),
        ("round(n, 1)", "numeric(18,1)"),
        ("1e3", "numeric(4,0)"),
    ],
)
def test_types(text: str, type_: str) -> None:
    assert str(bind(text).type) == type_


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("sum(a)", "bigint"),
        ("sum(b)", "numeric(38,0)"),
        ("sum(n)", "numeric(38,2)"),
        ("avg(a)", "numeric(38,16)"),
        ("sum(d)", "double precision"),
        ("count(*)", "bigint"),
        ("min(ts)", "timestamp without time zone"),
        ("array_agg(s order by a)", "character varying[]"),
    ],
)
def test_aggregate_types(text: str, type_: str) -> None:
    assert str(bind(text, AggregateCollector()).type) == type_


def test_equal_aggregates_are_one_column() -> None:
    collector = AggregateCollector()
    bind("sum(a) / count(*) + sum(a)", collector)
    assert [call.function for _, call in collector.calls] == ["sum", "count"]


def test_the_constant_of_a_sum_stands_right() -> None:
    assert bind("5 + a") == bind("a + 5")


def test_constants_are_computed() -> None:
    assert bind("-5") == Literal(INT, -5)
    interval = bind_interval(parse_expression("interval '1' month * 3"), BindContext())
    assert interval == (3, 0, 0)


def test_names_fold_unless_quoted() -> None:
    assert bind("A") == ColumnRef(INT, "a")
    with pytest.raises(FloodmarkError):
        bind('"A"')


def test_a_window_call_is_collected() -> None:
    text, windows = "rank() over (partition by a order by ts desc)", WindowCollector()
    bind_scalar(parse_expression(text), SCOPE, BindContext(), windows=windows)
    ((_, site),) = windows.sites
    assert site.call.function == "rank" and site.order[0][1:] == (True, True)


@pytest.mark.parametrize(
    ("text", "code", "hint"),
    [
        ("lenght(s)", "E0269", "length"),
        ("timestampadd(fortnight, 1, ts)", "E0374", "WEEK"),
        ("x", "E0261", "there is"),
        ("t.a", "E0262", None),
        ("a + s", "E0270", "+(integer, integer)"),
        ("upper(a)", "E0270", "upper(character varying)"),
        ("a = 'x'", "E0258", None),
        ("f and a", "E0266", None),
        ("sum(a)", "E0273", None),
        ("case when f then 1 else s end", "E0260", "cast"),
        ("date_trunc('moon', ts)", "E0250", "hour"),
        ("interval 'soon'", "E0258", None),
        ("s ~ '('", "E0254", None),
        ("s ~ s", "E0375", None),
        ("s ~ '[[:alpha:]]'", "E0371", "[A-Za-z]"),
        ("s ~ '[a-z&&[^b]]'", "E0371", "escape"),
        ("rank()", "E0268", None),
        ("a::jsonb::interval", "E0259", None),
        ("extract(moon from ts)", "E0252", None),
    ],
)
def test_refusals(text: str, code: str, hint: str | None) -> None:
    with pytest.raises(FloodmarkError) as caught:
        bind(text)
    assert caught.value.code == code
    assert hint is None or hint in (caught.value.hint or "")
    assert caught.value.span is not None
