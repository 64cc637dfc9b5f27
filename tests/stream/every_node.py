"""A plan for every node class over append-only and over retracting input."""

from __future__ import annotations

from floodmark.changelog import ROW_ID, ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import AggCall, Call, Cast, ColumnRef, Literal, Now
from floodmark.scalar.types import (
    BIGINT,
    BOOLEAN,
    INT,
    INTERVAL,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    Field,
    list_of,
)
from floodmark.stream.operators.lower import StreamPlan, lower
from floodmark.stream.passes.keep_keys import keep_keys

_K, _V, _TS = ColumnRef(VARCHAR, "k"), ColumnRef(INT, "v"), ColumnRef(TIMESTAMP, "ts")
_TIME = Cast(TIMESTAMPTZ, _TS)
_BEGUN = Call(BOOLEAN, "<=", (_TIME, Now(TIMESTAMPTZ)))
_COMING = Call(BOOLEAN, ">", (_TIME, Now(TIMESTAMPTZ)))
_QUARTER = (0, 0, 900_000_000)
_HOUR, _ZERO = (0, 0, 3_600_000_000), (0, 0, 0)
_CALLS = (
    ("__agg0", AggCall("count", (), BIGINT)),
    ("__agg1", AggCall("max", (_V,), INT)),
)
_HOURS = Call(
    list_of(TIMESTAMPTZ),
    "generate_series",
    (_TIME, Now(TIMESTAMPTZ), Literal(INTERVAL, _HOUR)),
)
_LARGEST = (("m", AggCall("max", (_K,), VARCHAR)),)
_POSITIVE = Call(BOOLEAN, ">", (_V, Literal(INT, 0)))


def scan(name: str, mode: ChangelogMode, prefix: str = "") -> n.Scan:
    """Return a relation with a key column, a value and a time; append-only ones have a row id."""
    names = {c: prefix + c for c in ("k", "v", "ts")}
    hidden = () if mode is not ChangelogMode.APPEND_ONLY else (f"{ROW_ID}{prefix}",)
    columns = (
        Field(names["k"], VARCHAR, False), Field(names["v"], INT), Field(names["ts"], TIMESTAMP),
        *(Field(h, BIGINT, False) for h in hidden),
    )  # fmt: skip
    marks = (n.WatermarkColumn(names["ts"], f"{name}.ts"),) if hidden else ()
    return n.Scan(name, columns, hidden or (names["k"],), mode, marks)


def every_node() -> dict[str, StreamPlan]:
    """Return analysed plans by `Class/mode`, each with that class at the root."""
    return {name: lower(keep_keys(node)) for name, node in unanalysed().items()}


def unanalysed() -> dict[str, n.Node]:
    """Return the plans before their analysis, by `Class/mode`."""
    modes = tuple(ChangelogMode)
    return {f"{name}/{mode}": node for mode in modes for name, node in _nodes(mode).items()}


def _nodes(mode: ChangelogMode) -> dict[str, n.Node]:
    t, right = scan("t", mode), scan("u", mode, "u_")
    plain = n.Project(t, (("k", _K), ("v", _V)))
    distinct = n.Aggregate(plain, ("k", "v"), ())
    ordinal = Field("__ordinal", BIGINT, False)
    doubled = Call(INT, "+", (_V, _V))
    over = n.WindowCall("rank", (), BIGINT)
    running = n.WindowCall("sum", (_V,), BIGINT, ("ROWS", "3 PRECEDING", "CURRENT ROW", "TIES"))
    windows = (("__over0", over), ("r", running))
    series = ColumnRef(list_of(INT), "values")
    lists = n.Scan(
        "lists", (Field("k", VARCHAR, False), Field("values", list_of(INT))), ("k",), mode
    )
    equi = (("k", "u_k"),)
    found: dict[str, n.Node] = {
        "Scan": t,
        "Values": n.Values(((Literal(INT, 1), Literal(BIGINT, 0)),), (Field("a", INT), ordinal)),
        "Project": n.Project(t, (("k", _K), ("twice", doubled))),
        "Filter": n.Filter(t, _POSITIVE),
        "Filter by time": n.Filter(t, Call(BOOLEAN, "<", (_TS, Now(TIMESTAMP)))),
        "UnionAll": n.UnionAll((plain, n.Filter(plain, _POSITIVE)), "__branch"),
        "LookupJoin": n.LookupJoin(t, right, n.JoinKind.LEFT, equi, None),
        "Aggregate": n.Aggregate(t, ("k",), _CALLS),
        "Aggregate of an aggregate": n.Aggregate(distinct, ("v",), _LARGEST),
        "Tumble": n.Tumble(t, "ts", _HOUR, _ZERO, start="window_start", end="window_end"),
        "Hop": n.Hop(t, "ts", _QUARTER, _HOUR, _ZERO, start="window_start", end="window_end"),
        "Session": n.Session(t, "ts", _HOUR, ("k",), start="window_start", end="window_end"),
        "TopN": n.TopN(t, ("k",), (n.SortKey("v", True, True),), 1),
        "TopN of everything": n.TopN(t, (), (n.SortKey("v"),), 3, 1, with_ties=True),
        "OverWindow": n.OverWindow(t, ("k",), (n.SortKey("ts"),), windows),
        "SetOperation": n.SetOperation(plain, plain, n.SetKind.EXCEPT, all=True),
        "ProjectSet": n.ProjectSet(lists, series, ("value",), "__ordinal"),
        "GrowingSeries": n.GrowingSeries(t, _HOURS, ("value",), "__ordinal"),
        "TemporalFilter": n.TemporalFilter(t, _BEGUN, (_TIME,), ()),
        "TemporalFilter with an end": n.TemporalFilter(t, _COMING, (), (_TIME,)),
        "MaterializeProject": n.MaterializeProject(t, (("k", _K), ("twice", doubled)), ("twice",)),
        "SortBuffer": n.SortBuffer(t, "ts"),
        "CloseSession": n.CloseSession(
            t, "ts", _HOUR, ("k",), start="window_start", end="window_end"
        ),
        "CloseAggregate": n.CloseAggregate(t, ("ts", "k"), _CALLS, "ts"),
    }  # fmt: skip
    for kind in n.JoinKind:
        residual = Call(BOOLEAN, ">", (_V, ColumnRef(INT, "u_v")))
        found[f"Join {kind.value}"] = n.Join(t, right, kind, equi, residual)
    found["Join of aggregates"] = n.Join(
        n.Aggregate(t, ("k",), _CALLS), n.Aggregate(right, ("u_k",), ()), n.JoinKind.INNER, equi
    )
    return found
