"""Every node class has a meaning, and its rows have the columns of its schema."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import AggCall, Call, ColumnRef, Literal, Now
from floodmark.reference.interpreter import evaluate
from floodmark.scalar.types import BIGINT, BOOLEAN, INT, INTERVAL, TIMESTAMPTZ, Field, list_of

NOW = datetime(2024, 1, 1, 10, tzinfo=UTC)
MINUTE, ZERO = (0, 0, 60_000_000), (0, 0, 0)
SCHEMA = (Field("k", INT, False), Field("ts", TIMESTAMPTZ), Field("xs", list_of(INT)))
ROW = {"k": 1, "ts": NOW, "xs": (1, 2)}
T = n.Scan("t", SCHEMA, ("k",), ChangelogMode.RETRACT, (n.WatermarkColumn("ts", "ts"),))
K, TS, XS = (ColumnRef(f.type, f.name) for f in SCHEMA)
U = n.Project(T, (("j", K), ("ts_u", TS), ("xs_u", XS)))
_DAY = Literal(INTERVAL, (0, 1, 0))
COUNT = (("n", AggCall("count", (), BIGINT)),)

SAMPLES: tuple[n.Node, ...] = (
    T,
    n.Values(((Literal(INT, 1),),), (Field("x", INT),)),
    U,
    n.Filter(T, Call(BOOLEAN, "is_not_null", (K,))),
    n.UnionAll((T, T), "__b"),
    n.Join(T, U, n.JoinKind.FULL, (("k", "j"),)),
    n.LookupJoin(T, U, n.JoinKind.LEFT, (("k", "j"),)),
    n.Aggregate(T, ("k",), COUNT),
    n.Tumble(T, "ts", MINUTE, ZERO, start="ws", end="we"),
    n.Hop(T, "ts", MINUTE, MINUTE, ZERO, start="ws", end="we"),
    n.Session(T, "ts", MINUTE, ("k",), start="ws", end="we"),
    n.CloseSession(T, "ts", MINUTE, ("k",), start="ws", end="we"),
    n.TopN(T, (), (n.SortKey("k"),), 1),
    n.OverWindow(T, (), (n.SortKey("k"),), (("n", n.WindowCall("rank", (), BIGINT)),)),
    n.SetOperation(T, U, n.SetKind.INTERSECT, False),
    n.ProjectSet(T, Call(list_of(INT), "unnest", (XS,)), ("x",), "__n"),
    n.GrowingSeries(
        T,
        Call(list_of(TIMESTAMPTZ), "generate_series", (TS, Now(TIMESTAMPTZ), _DAY)),
        ("x",),
        "__n",
    ),
    n.TemporalFilter(T, Call(BOOLEAN, "<=", (TS, Now(TIMESTAMPTZ))), (TS,), ()),
    n.MaterializeProject(T, (("k", K),), ()),
    n.SortBuffer(T, "ts"),
    n.CloseAggregate(T, ("ts",), COUNT, "ts"),
)


def test_all_classes_are_among_the_samples() -> None:
    assert {type(node) for node in SAMPLES} == set(n.NODE_CLASSES)


@pytest.mark.parametrize("node", SAMPLES, ids=lambda node: type(node).__name__)
def test_rows_have_the_columns_of_the_schema(node: n.Node) -> None:
    rows = evaluate(node, {"t": [ROW]}, NOW)
    assert rows and all(set(row) == set(node.names) for row in rows)
