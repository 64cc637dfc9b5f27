"""The meaning of single nodes, those first that the random plans do not reach."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import AggCall, BoolOp, Call, ColumnRef, Literal, Now
from floodmark.reference.interpreter import evaluate
from floodmark.reference.moment import Closing, DeadLetter
from floodmark.reference.rows import Row
from floodmark.scalar.types import (
    BIGINT,
    BOOLEAN,
    INT,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    Field,
    SqlType,
    list_of,
)

NOW = datetime(2024, 1, 1, 10, tzinfo=UTC)
K, A, TS = ColumnRef(INT, "k"), ColumnRef(INT, "a"), ColumnRef(TIMESTAMP, "ts")
MINUTE = 60_000_000


def scan(name: str = "t", **columns: SqlType) -> n.Scan:
    schema = tuple(Field(c, type_) for c, type_ in columns.items())
    marks = tuple(n.WatermarkColumn(c, c) for c in columns if c == "ts")
    return n.Scan(name, schema, (next(iter(columns)),), ChangelogMode.RETRACT, marks)


def at(minute: int, second: int = 0) -> datetime:
    return datetime(2024, 1, 1, 10, minute, second)


def rows_of(names: str, *rows: tuple[Any, ...]) -> list[Row]:
    return [dict(zip(names.split(), row, strict=True)) for row in rows]


def column(rows: list[Row], name: str) -> list[Any]:
    return [row[name] for row in rows]


KA = scan(k=INT, a=INT)
KTS = scan(k=INT, ts=TIMESTAMP)


def test_values_evaluates_its_rows() -> None:
    node = n.Values(((Literal(INT, 1),), (Literal(INT, None),)), (Field("x", INT),))
    assert evaluate(node, {}, NOW) == [{"x": 1}, {"x": None}]


def test_hop_gives_every_window_that_holds_the_row() -> None:
    node = n.Hop(KTS, "ts", (0, 0, MINUTE), (0, 0, 3 * MINUTE), (0, 0, 0), start="ws", end="we")
    out = evaluate(node, {"t": rows_of("k ts", (1, at(5)), (2, None))}, NOW)
    assert column(out, "ws") == [at(3), at(4), at(5)]
    assert column(out, "we") == [at(6), at(7), at(8)]


def test_session_reaches_exactly_the_gap() -> None:
    node = n.Session(KTS, "ts", (0, 0, 5 * MINUTE), (), start="ws", end="we")
    rows = rows_of("k ts", (1, at(0)), (2, at(5)), (3, at(10, 1)), (4, None))
    out = evaluate(node, {"t": rows}, NOW)
    assert [(r["k"], r["ws"], r["we"]) for r in out] == [
        (1, at(0), at(10)), (2, at(0), at(10)), (3, at(10, 1), at(15, 1)),
    ]  # fmt: skip


def test_session_partitions_are_apart() -> None:
    node = n.Session(
        scan(k=INT, a=INT, ts=TIMESTAMP), "ts", (0, 0, 5 * MINUTE), ("a",), start="ws", end="we"
    )
    rows = rows_of("k a ts", (1, 7, at(0)), (2, 8, at(1)), (3, 7, at(4)))
    out = {r["k"]: r["ws"] for r in evaluate(node, {"t": rows}, NOW)}
    assert out == {1: at(0), 3: at(0), 2: at(1)}


ONE_TIE = rows_of("k a", (1, 5), (2, 7), (3, 7), (4, None), (5, 9))


def test_top_n_skips_limits_and_breaks_ties_by_key() -> None:
    node = n.TopN(KA, (), (n.SortKey("a", descending=True, nulls_first=False),), 2, offset=1)
    assert column(evaluate(node, {"t": ONE_TIE}, NOW), "k") == [2, 3]


def test_top_n_with_ties() -> None:
    node = n.TopN(KA, (), (n.SortKey("a", descending=True),), 2, with_ties=True)
    assert column(evaluate(node, {"t": ONE_TIE}, NOW), "k") == [5, 2, 3]


def test_top_n_nulls_first() -> None:
    node = n.TopN(KA, (), (n.SortKey("a", descending=True, nulls_first=True),), 1)
    assert column(evaluate(node, {"t": ONE_TIE}, NOW), "k") == [4]


def test_top_n_per_group() -> None:
    node = n.TopN(KA, ("a",), (n.SortKey("k"),), 1)
    out = evaluate(node, {"t": ONE_TIE}, NOW)
    assert sorted(column(out, "k")) == [1, 2, 4, 5]


def over(function: str, *args: Any, frame: Any = None, type_: SqlType = BIGINT) -> list[Any]:
    call = n.WindowCall(function, tuple(args), type_, frame)
    node = n.OverWindow(KA, (), (n.SortKey("a"),), (("x", call),))
    rows = rows_of("k a", (1, 1), (2, 2), (3, 2), (4, 4), (5, None))
    out = {row["k"]: row["x"] for row in evaluate(node, {"t": rows}, NOW)}
    return [out[k] for k in range(1, 6)]


def test_ranking() -> None:
    assert over("row_number") == [1, 2, 3, 4, 5]
    assert over("rank") == [1, 2, 2, 4, 5]
    assert over("dense_rank") == [1, 2, 2, 3, 4]
    assert over("percent_rank") == [0.0, 0.25, 0.25, 0.75, 1.0]
    assert over("cume_dist") == [0.2, 0.6, 0.6, 0.8, 1.0]
    assert over("ntile", Literal(INT, 2)) == [1, 1, 1, 2, 2]


def test_neighbours() -> None:
    assert over("lag", K) == [None, 1, 2, 3, 4]
    assert over("lead", K, Literal(INT, 2), Literal(INT, 0)) == [3, 4, 5, 0, 0]


def test_frames() -> None:
    def count(unit: str, start: str, end: str, exclude: str = "no others") -> list[Any]:
        return over("count", frame=(unit, start, end, exclude))

    assert over("count") == [1, 3, 3, 4, 5]
    assert count("rows", "1 preceding", "current row") == [1, 2, 2, 2, 2]
    assert count("rows", "unbounded preceding", "unbounded following") == [5] * 5
    assert count("groups", "current row", "1 following") == [3, 3, 3, 2, 1]
    assert count("range", "1 preceding", "current row") == [1, 3, 3, 1, 1]
    assert count("range", "current row", "2 following") == [3, 3, 3, 1, 1]
    assert count("rows", "1 preceding", "1 following", "current row") == [1, 2, 2, 2, 1]
    assert count("range", "current row", "current row", "ties") == [1, 1, 1, 1, 1]
    assert count("range", "current row", "current row", "group") == [0, 0, 0, 0, 0]


def test_first_and_last_value_follow_the_frame() -> None:
    whole = ("rows", "unbounded preceding", "unbounded following", "no others")
    assert over("first_value", K, frame=whole) == [1] * 5
    assert over("last_value", K, frame=whole) == [5] * 5
    assert over("nth_value", K, Literal(INT, 2)) == [None, 2, 2, 2, 2]


def both(kind: n.SetKind, everything: bool) -> list[Any]:
    left, right = scan("l", x=INT), scan("r", y=INT)
    inputs = {
        "l": rows_of("x", (1,), (1,), (2,), (None,)),
        "r": rows_of("y", (1,), (None,), (3,)),
    }
    rows = evaluate(n.SetOperation(left, right, kind, everything), inputs, NOW)
    return sorted(column(rows, "x"), key=str)


def test_set_operations_count() -> None:
    assert both(n.SetKind.INTERSECT, False) == [1, None]
    assert both(n.SetKind.INTERSECT, True) == [1, None]
    assert both(n.SetKind.EXCEPT, False) == [2]
    assert both(n.SetKind.EXCEPT, True) == [1, 2]


def test_unnest_counts_from_one() -> None:
    items = ColumnRef(list_of(INT), "items")
    node = n.ProjectSet(
        scan(k=INT, items=list_of(INT)), Call(list_of(INT), "unnest", (items,)), ("x",), "__n"
    )
    rows = rows_of("k items", (1, (7, None)), (2, ()), (3, None))
    out = evaluate(node, {"t": rows}, NOW)
    assert [(r["k"], r["x"], r["__n"]) for r in out] == [(1, 7, 1), (1, None, 2)]


def test_generate_series_includes_both_ends() -> None:
    call = Call(list_of(INT), "generate_series", (K, Literal(INT, 3)))
    node = n.ProjectSet(scan(k=INT), call, ("x",), "__n")
    out = evaluate(node, {"t": rows_of("k", (2,), (4,), (None,))}, NOW)
    assert column(out, "x") == [2, 3]


def test_temporal_filter_includes_lower_and_excludes_upper() -> None:
    lower, upper = ColumnRef(TIMESTAMPTZ, "lo"), ColumnRef(TIMESTAMPTZ, "hi")
    now = Now(TIMESTAMPTZ)
    during = (Call(BOOLEAN, "<=", (lower, now)), Call(BOOLEAN, "<", (now, upper)))
    below = scan(k=INT, lo=TIMESTAMPTZ, hi=TIMESTAMPTZ)
    node = n.TemporalFilter(below, BoolOp(BOOLEAN, "and", during), (lower,), (upper,))
    later = NOW.replace(hour=11)
    rows = rows_of("k lo hi", (1, NOW, later), (2, later, later), (3, NOW, None), (4, NOW, NOW))
    assert column(evaluate(node, {"t": rows}, NOW), "k") == [1]
    assert column(evaluate(node, {"t": rows}, later), "k") == []


def test_sort_buffer_releases_strictly_below_in_order() -> None:
    node = n.SortBuffer(KTS, "ts")
    rows = rows_of("k ts", (1, at(3)), (2, at(1)), (3, at(4)), (4, at(0)), (5, None))
    closing = Closing({"t": {"ts": at(1)}}, {"t": {"ts": at(4)}})
    assert column(evaluate(node, {"t": rows}, NOW, closing=closing), "k") == [2, 1]
    assert column(evaluate(node, {"t": rows}, NOW), "k") == [4, 2, 1, 3]


def test_a_second_close_sees_all_that_the_first_released() -> None:
    count = (("n", AggCall("count", (), BIGINT)),)
    minutes = n.CloseAggregate(
        n.Tumble(KTS, "ts", (0, 0, MINUTE), (0, 0, 0), start="ws", end="we"), ("ws",), count, "ws"
    )
    hours = n.Tumble(minutes, "ws", (0, 0, 5 * MINUTE), (0, 0, 0), start="hs", end="he")
    node = n.CloseAggregate(hours, ("hs",), (("m", AggCall("count", (), BIGINT)),), "hs")
    rows = rows_of("k ts", (1, at(0)), (2, at(1)), (3, at(4)), (4, at(5)))
    closing = Closing({"t": {"ts": at(3)}}, {"t": {"ts": at(5)}})
    assert evaluate(node, {"t": rows}, NOW, closing=closing) == [{"hs": at(0), "m": 3}]


def test_lookup_join_pads_like_a_left_join() -> None:
    right = scan("r", b=INT, c=INT)
    node = n.LookupJoin(KA, right, n.JoinKind.LEFT, (("a", "b"),))
    inputs = {"t": rows_of("k a", (1, 5), (2, 6)), "r": rows_of("b c", (5, 50))}
    assert column(evaluate(node, inputs, NOW), "c") == [50, None]


def test_materialize_project_means_a_project() -> None:
    node = n.MaterializeProject(KA, (("k", K), ("b", A)), ("b",))
    assert evaluate(node, {"t": rows_of("k a", (1, 5))}, NOW) == [{"k": 1, "b": 5}]


def test_equal_subplans_put_a_row_aside_once() -> None:
    bad = n.Project(KA, (("k", K), ("q", Call(INT, "/", (Literal(INT, 1), A)))))
    union = n.UnionAll((bad, bad), "__b")
    dead: list[DeadLetter] = []
    assert evaluate(union, {"t": rows_of("k a", (1, 0))}, NOW, dead=dead) == []
    assert [letter.code for letter in dead] == [621]


def test_ordered_aggregates_break_ties_by_key() -> None:
    text = ColumnRef(VARCHAR, "s")
    call = AggCall(
        "string_agg", (text, Literal(VARCHAR, ",")), VARCHAR, order_by=((A, True, False),)
    )
    node = n.Aggregate(scan(k=INT, a=INT, s=VARCHAR), (), (("x", call),))
    rows = rows_of("k a s", (3, 1, "c"), (1, 2, "a"), (2, 1, "b"))
    assert evaluate(node, {"t": rows}, NOW) == [{"x": "a,b,c"}]
