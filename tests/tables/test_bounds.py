"""Bounds from file statistics through a plan: what they keep, and what they must not lose."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Call, ColumnRef, Literal
from floodmark.scalar.types import BIGINT, INT, TIMESTAMP, Field
from floodmark.storage.table import DataFile
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.lower import lower
from floodmark.stream.passes.keep_keys import keep_keys
from floodmark.stream.properties.bounds import Bounds
from floodmark.tables import bounds

HOUR = (0, 0, 3_600_000_000)
NONE = (0, 0, 0)


def of_changes(node: n.Node, scanned: Callable[[n.Scan], Bounds | None]) -> Bounds | None:
    """Return the bounds of a plan's changes from those of the objects that it scans."""

    def bounds_of(operator: StreamOperator[Any]) -> Bounds | None:
        if isinstance(operator.node, n.Scan):
            return operator.change_bounds([scanned(operator.node)])
        return operator.change_bounds([*map(bounds_of, operator.inputs)])

    return bounds_of(lower(keep_keys(node)).top)


def _scan(name: str, prefix: str = "") -> n.Scan:
    columns = (
        Field(prefix + "id", BIGINT, nullable=False),
        Field(prefix + "k", INT),
        Field(prefix + "ts", TIMESTAMP),
    )
    return n.Scan(name, columns, (prefix + "id",), ChangelogMode.APPEND_ONLY)


def _file(low: dict[str, object], high: dict[str, object], **nulls: int) -> DataFile:
    counts = {name: nulls.get(name, 0) for name in low}
    return DataFile("f", 1, 10, low, high, counts)  # type: ignore[arg-type]


def test_a_column_with_nulls_has_no_bounds() -> None:
    file = _file({"id": 1, "k": 2}, {"id": 9, "k": 3}, k=1)
    assert bounds.file_bounds([file], ["id", "k"]) == {"id": (1, 9)}


def test_bounds_need_statistics_of_every_file() -> None:
    files = [_file({"id": 1}, {"id": 9}), DataFile("g", 1, 3, {}, {}, {})]
    assert bounds.file_bounds(files, ["id"]) == {}
    assert bounds.file_bounds([], ["id"]) is None


def test_windows_follow_their_time() -> None:
    node = n.Tumble(_scan("s"), "ts", HOUR, NONE, start="ws", end="we")
    at = (datetime(2026, 1, 1, 10, 7), datetime(2026, 1, 1, 12, 59))
    found = of_changes(node, lambda _: {"ts": at})
    assert found is not None
    assert found["ws"] == (datetime(2026, 1, 1, 10), datetime(2026, 1, 1, 12))
    assert found["we"] == (datetime(2026, 1, 1, 11), datetime(2026, 1, 1, 13))


def test_a_constant_column_is_its_own_bound() -> None:
    node = n.Project(_scan("s"), (("one", Literal(INT, 1)), ("none", Literal(INT, None))))
    assert of_changes(node, lambda _: {}) == {"one": (1, 1)}


def test_what_chooses_between_columns_lies_where_they_do() -> None:
    a, b = ColumnRef(INT, "k"), ColumnRef(INT, "id")
    greatest, first = (Call(INT, name, (a, b)) for name in ("greatest", "coalesce"))
    node = n.Project(_scan("s"), (("most", greatest), ("first", first)))
    found = of_changes(node, lambda _: {"k": (1, 5), "id": (3, 4)})
    assert found == {"most": (3, 5), "first": (1, 5), "__key_id": (3, 4)}
    assert of_changes(node, lambda _: {"k": (1, 5)}) == {}


def test_one_unknown_branch_makes_a_union_unknown() -> None:
    union = n.UnionAll((_scan("s"), _scan("t")), "__branch")
    both = {"s": {"id": (1, 2), "k": (0, 1)}, "t": {"id": (7, 9)}}
    assert of_changes(union, lambda s: both[s.object]) == {"id": (1, 9)}
    assert of_changes(union, lambda s: {"t": both["t"]}.get(s.object)) == {"id": (7, 9)}
    assert of_changes(union, lambda _: None) is None


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (n.JoinKind.INNER, {"id": (1, 9), "rid": (1, 9)}),
        (n.JoinKind.LEFT, {"id": (1, 9)}),
        (n.JoinKind.RIGHT, {"rid": (1, 9)}),
        (n.JoinKind.FULL, {}),
        (n.JoinKind.SEMI, {"id": (1, 9)}),
    ],
)
def test_keys_of_a_join_lie_where_either_side_changes(
    kind: n.JoinKind, expected: bounds.Bounds
) -> None:
    join = n.Join(_scan("s"), _scan("t", "r"), kind, (("id", "rid"),))
    changed = {"s": {"id": (1, 2), "k": (0, 1)}, "t": {"rid": (7, 9), "rk": (0, 1)}}
    assert of_changes(join, lambda s: changed[s.object]) == expected


def test_partners_of_one_changed_side_are_unknown() -> None:
    join = n.Join(_scan("s"), _scan("t", "r"), n.JoinKind.INNER, (("id", "rid"),))
    found = of_changes(join, lambda s: {"rid": (7, 9), "rk": (0, 1)} if s.object == "t" else None)
    assert found == {"id": (7, 9), "rid": (7, 9), "rk": (0, 1)}


@pytest.mark.parametrize(
    ("kind", "of_left", "of_right"),
    [
        (n.JoinKind.LEFT, {"id": (7, 9), "k": (0, 1)}, {"id": (7, 9)}),
        (n.JoinKind.RIGHT, {"rid": (7, 9)}, {"rid": (7, 9), "rk": (0, 1)}),
        (n.JoinKind.FULL, {}, {}),
        (n.JoinKind.ANTI, {"id": (7, 9), "k": (0, 1)}, {"id": (7, 9)}),
    ],
)
def test_padding_lies_nowhere(
    kind: n.JoinKind, of_left: bounds.Bounds, of_right: bounds.Bounds
) -> None:
    """A change of one side replaces padded rows, whose columns of that side are NULL."""
    join = n.Join(_scan("s"), _scan("t", "r"), kind, (("id", "rid"),))
    changed = {"s": {"id": (7, 9), "k": (0, 1)}, "t": {"rid": (7, 9), "rk": (0, 1)}}
    for name, expected in (("s", of_left), ("t", of_right)):
        found = of_changes(join, lambda s, at=name: changed[at] if s.object == at else None)
        assert found == expected


def test_a_padded_side_is_read_by_key_only() -> None:
    join = n.Join(_scan("s"), _scan("t", "r"), n.JoinKind.LEFT, (("id", "rid"),))
    wanted = {"id": (1, 2), "k": (3, 4), "rk": (5, 6)}
    assert lower(join).top.input_bounds(wanted) == ({"id": (1, 2), "k": (3, 4)}, {"rid": (1, 2)})


def test_a_file_is_kept_unless_it_surely_lies_outside() -> None:
    node = n.Project(_scan("s"), (("key", ColumnRef(INT, "k")),))
    keeps = bounds.keeper(lower(keep_keys(node)).top, {"key": (10, 20)})
    assert keeps(_file({"k": 1}, {"k": 10}))
    assert not keeps(_file({"k": 1}, {"k": 9}))
    assert not keeps(_file({"k": 21}, {"k": 30}))
    assert keeps(_file({"k": 1}, {"k": 9}, k=1))
    assert keeps(DataFile("f", 1, 10, {}, {}, {}))
