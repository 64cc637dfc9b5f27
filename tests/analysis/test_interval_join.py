"""A join that keeps two times at a distance carries a watermark on each."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from floodmark.analysis.analyse import analyse
from floodmark.catalog.types import BIGINT, BOOLEAN, INTERVAL, TIMESTAMP, Field
from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expressions import BoolOp, Call, ColumnRef, Expr, Literal
from floodmark.reference.watermarks import propagate

HOUR = 3_600_000_000
L, R = ColumnRef(TIMESTAMP, "lt"), ColumnRef(TIMESTAMP, "rt")
NOON, NOW = datetime(2024, 1, 1, 12), datetime(2024, 1, 1, tzinfo=UTC)


def side(name: str) -> n.Scan:
    columns = (Field(f"{name}id", BIGINT, False), Field(f"{name}t", TIMESTAMP))
    marks = (n.WatermarkColumn(f"{name}t", f"{name}.t"),)
    return n.Scan(name, columns, (f"{name}id",), ChangelogMode.APPEND_ONLY, marks)


def between(hours: int) -> Expr:
    """`lt BETWEEN rt - hours AND rt + 2 hours`."""
    earlier = Call(TIMESTAMP, "-", (R, Literal(INTERVAL, (0, 0, hours * HOUR))))
    later = Call(TIMESTAMP, "+", (R, Literal(INTERVAL, (0, 0, 2 * HOUR))))
    return BoolOp(
        BOOLEAN, "and", (Call(BOOLEAN, ">=", (L, earlier)), Call(BOOLEAN, "<=", (L, later)))
    )


@pytest.mark.parametrize(
    ("kind", "columns"),
    [
        (n.JoinKind.INNER, ["lt", "rt"]),
        (n.JoinKind.LEFT, ["lt"]),
        (n.JoinKind.RIGHT, ["rt"]),
        (n.JoinKind.FULL, []),
    ],
)
def test_preserved_sides_carry_one(kind: n.JoinKind, columns: list[str]) -> None:
    plan = analyse(n.Join(side("l"), side("r"), kind, (), between(1)))
    assert sorted(w.column for w in plan[plan.root].watermarks) == columns


def test_the_other_side_bounds_it() -> None:
    join = n.Join(side("l"), side("r"), n.JoinKind.INNER, (), between(1))
    marks = {"l": {"lt": NOON}, "r": {"rt": NOON}}
    # A right row still to come is at noon or later: its left partners at eleven or later.
    assert propagate(join, marks, NOW) == {"lt": NOON.replace(hour=11), "rt": NOON.replace(hour=10)}


def test_months_say_nothing() -> None:
    month = Call(TIMESTAMP, "-", (R, Literal(INTERVAL, (1, 0, 0))))
    join = n.Join(side("l"), side("r"), n.JoinKind.INNER, (), Call(BOOLEAN, ">=", (L, month)))
    assert not analyse(join)[join].watermarks
