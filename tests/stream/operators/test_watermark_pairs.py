"""Two equal times of a join that pads rows carry a watermark together."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Call, ColumnRef, Expr, Literal
from floodmark.reference.interpreter import propagate
from floodmark.scalar.types import BIGINT, TIMESTAMP, Field
from floodmark.stream.operators.lower import lower
from floodmark.stream.passes.keep_keys import keep_keys

L, R = ColumnRef(TIMESTAMP, "lt"), ColumnRef(TIMESTAMP, "rt")
NOON, NOW = datetime(2024, 1, 1, 12), datetime(2024, 1, 1, tzinfo=UTC)
LATER = NOON.replace(hour=14)
MARKS = {"l": {"lt": LATER}, "r": {"rt": NOON}}


def side(name: str) -> n.Scan:
    columns = (Field(f"{name}id", BIGINT, False), Field(f"{name}t", TIMESTAMP))
    marks = (n.WatermarkColumn(f"{name}t", f"{name}.t"),)
    return n.Scan(name, columns, (f"{name}id",), ChangelogMode.APPEND_ONLY, marks)


def joined(kind: n.JoinKind) -> n.Join:
    return n.Join(side("l"), side("r"), kind, (("lt", "rt"),))


def chosen(function: str, *args: Expr) -> Expr:
    return Call(TIMESTAMP, function, args)


def carried(node: n.Node) -> dict[str, str]:
    plan = lower(keep_keys(node))
    return {w.column: w.group for w in plan[plan.root].watermarks if w.column in node.names}


@pytest.mark.parametrize("function", ["coalesce", "greatest", "least"])
@pytest.mark.parametrize("kind", [n.JoinKind.FULL, n.JoinKind.LEFT, n.JoinKind.RIGHT])
def test_what_chooses_between_them_carries_the_minimum(function: str, kind: n.JoinKind) -> None:
    node = n.Project(joined(kind), (("w", chosen(function, L, R)),))
    assert carried(node) == {"w": "l.t+r.t"}
    assert propagate(node, MARKS, NOW)["w"] == NOON


def test_neither_of_a_full_join_carries_one_alone() -> None:
    join = joined(n.JoinKind.FULL)
    assert not carried(join)
    assert not carried(n.Project(join, (("w", chosen("coalesce", L, L)),)))


def test_a_constant_is_not_bounded() -> None:
    constant = Literal(TIMESTAMP, datetime(2000, 1, 1))
    node = n.Project(joined(n.JoinKind.INNER), (("w", chosen("coalesce", L, constant)),))
    assert not carried(node)
    assert "w" not in propagate(node, MARKS, NOW)


def test_the_pair_is_kept_where_both_columns_are() -> None:
    join = joined(n.JoinKind.FULL)
    renamed = n.Project(join, (("a", L), ("b", R)))
    grouped = n.Aggregate(renamed, ("a", "b"), ())
    a, b = ColumnRef(TIMESTAMP, "a"), ColumnRef(TIMESTAMP, "b")
    assert carried(n.Project(grouped, (("w", chosen("least", b, a)),))) == {"w": "l.t+r.t"}
    half = n.Aggregate(renamed, ("a",), ())
    assert not carried(n.Project(half, (("w", a),)))
