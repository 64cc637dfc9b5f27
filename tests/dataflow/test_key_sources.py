"""Where keys of changes are found: in changes of objects, and in rows that those meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from floodmark.changelog import ChangelogMode
from floodmark.dataflow.key_sets import ChangedValues, FoundValues, KeyedRead, Sources
from floodmark.dataflow.key_sources import KeySources, equal_columns
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import ColumnRef
from floodmark.scalar.types import BIGINT, Field
from floodmark.stream.operators.lower import StreamPlan, lower


def _scan(name: str, *columns: str, silent: bool = False) -> n.Scan:
    """Return a scan of columns that begin with the object's name; the first one is its key."""
    fields = tuple(Field(f"{name}_{c}", BIGINT, nullable=False) for c in columns)
    mode = ChangelogMode.RETRACT
    return n.Scan(name, fields, (fields[0].name,), mode, drops_silently=silent)


A, B, C = _scan("a", "id", "g"), _scan("b", "id", "a"), _scan("c", "id", "b")
INNER, LEFT = n.JoinKind.INNER, n.JoinKind.LEFT


def _join(left: n.Node, right: n.Node, a: str, b: str, kind: n.JoinKind = INNER) -> n.Join:
    return n.Join(left, right, kind, ((a, b),))


def _changed(column: str) -> ChangedValues:
    return ChangedValues(column[0], column)


def _found(column: str, by: str, sources: Sources) -> FoundValues:
    return FoundValues(KeyedRead(column[0], ((by, sources),)), column)


def _sources(plan: StreamPlan, changed: str, equal: Mapping[str, str] | None = None) -> KeySources:
    def equals(object_: str, column: str) -> Sources:
        return frozenset(map(_changed, (equal or {}).get(column, "").split()))

    return KeySources(lambda op: any(s.object in changed for s in n.scans(op.node)), equals)


def _of(root: n.Node, changed: str, column: str) -> Sources | None:
    plan = lower(root)
    return _sources(plan, changed).trace_changes(plan.top, column)


AB = _join(A, B, "a_id", "b_a")
ABC = _join(AB, C, "b_id", "c_b")


@pytest.mark.parametrize(
    ("root", "changed", "column", "wanted"),
    [
        (A, "a", "a_g", {_changed("a_g")}),
        (A, "b", "a_g", set()),
        (AB, "a", "a_g", {_changed("a_g")}),
        (AB, "a", "b_a", {_changed("a_id")}),
        (AB, "b", "a_id", {_changed("b_a")}),
        (AB, "ab", "a_id", {_changed("a_id"), _changed("b_a")}),
        # Of a row that changes meet, other columns are looked up.
        (AB, "b", "a_g", {_found("a_g", "a_id", frozenset({_changed("b_a")}))}),
        (AB, "a", "b_id", {_found("b_id", "b_a", frozenset({_changed("a_id")}))}),
        (
            ABC,
            "a",
            "c_id",
            {
                _found(
                    "c_id",
                    "c_b",
                    frozenset({_found("b_id", "b_a", frozenset({_changed("a_id")}))}),
                )
            },
        ),
        # From c by way of b to a: `a` is asked for what `b` has.
        (
            ABC,
            "c",
            "a_g",
            {
                _found(
                    "a_g",
                    "a_id",
                    frozenset({_found("b_a", "b_id", frozenset({_changed("c_b")}))}),
                )
            },
        ),
    ],
)
def test_keys_are_found_where_changes_meet(
    root: n.Node, changed: str, column: str, wanted: set[ChangedValues | FoundValues]
) -> None:
    assert _of(root, changed, column) == wanted


def _grouped(node: n.Node, column: str) -> n.Node:
    return n.Aggregate(node, (column,), ())


def _renamed(node: n.Node, column: str) -> n.Node:
    passed = (("x", column), *((c, c) for c in node.names))
    return n.Project(node, tuple((name, ColumnRef(BIGINT, c)) for name, c in passed))


def test_columns_that_are_passed_on_keep_their_sources() -> None:
    assert _of(_renamed(AB, "a_id"), "b", "x") == {_changed("b_a")}
    assert _of(_grouped(AB, "a_id"), "b", "a_id") == {_changed("b_a")}


@pytest.mark.parametrize(
    "told",
    [
        # What is padded may be NULL, which no changed row has.
        lambda: _of(_join(A, B, "a_id", "b_a", LEFT), "b", "b_id"),
        lambda: _of(_join(A, B, "a_id", "b_a", n.JoinKind.FULL), "b", "b_id"),
        # Rows that go without a change are not those before and the changes.
        lambda: _of(_join(_scan("a", "id", "g", silent=True), B, "a_id", "b_a"), "b", "a_g"),
        lambda: _of(n.Join(A, B, INNER, ()), "b", "a_g"),
    ],
)
def test_nothing_is_told_of(told: Callable[[], Sources | None]) -> None:
    assert told() is None


def test_a_left_join_keeps_what_its_left_side_has() -> None:
    left = _join(A, B, "a_id", "b_a", LEFT)
    assert _of(left, "b", "a_id") == {_changed("b_a")}
    assert _of(left, "a", "a_g") == {_changed("a_g")}


def test_keys_of_one_side_give_those_of_the_other() -> None:
    plan = lower(AB)
    keys = {"b_id": frozenset({_changed("c_b")})}
    found = _sources(plan, "c").complete_keys(plan.top, plan.top.input_bounds(keys))
    assert found == [{"a_id": {_found("b_a", "b_id", keys["b_id"])}}, keys]


@pytest.mark.parametrize(
    ("kind", "column", "left_alone"),
    [(LEFT, "b_id", 0), (n.JoinKind.RIGHT, "a_g", 1), (n.JoinKind.FULL, "a_g", 1)],
)
def test_a_side_that_is_kept_without_a_match_gets_no_keys(
    kind: n.JoinKind, column: str, left_alone: int
) -> None:
    plan = lower(_join(A, B, "a_id", "b_a", kind))
    keys = {column: frozenset({_changed("c_b")})}
    found = _sources(plan, "c").complete_keys(plan.top, plan.top.input_bounds(keys))
    assert not found[left_alone]


def test_a_read_has_the_keys_of_others_who_compare_the_column() -> None:
    plan = lower(AB)
    sources = _sources(plan, "abc", {"a_id": "b_a c_b"})
    scan = plan.operators[A]
    mine = {"a_id": frozenset({_changed("b_a")})}
    wider = sources.plan_read(scan, mine)  # type: ignore[arg-type]
    assert wider == KeyedRead("a", (("a_id", frozenset({_changed("b_a"), _changed("c_b")})),))
    assert wider == sources.plan_read(scan, {"a_id": frozenset({_changed("c_b")})})  # type: ignore[arg-type]


def test_columns_that_joins_compare() -> None:
    equal = equal_columns([lower(_renamed(ABC, "b_id")), lower(AB)])
    assert equal == {
        ("a", "a_id"): [("b", "b_a")] * 2,
        ("b", "b_a"): [("a", "a_id")] * 2,
        ("b", "b_id"): [("c", "c_b")],
        ("c", "c_b"): [("b", "b_id")],
    }
