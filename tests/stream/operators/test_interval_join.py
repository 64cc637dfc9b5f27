"""A join that keeps two times at a distance carries a watermark on each."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import BoolOp, Call, Cast, ColumnRef, Expr, Literal
from floodmark.plan.rules.interval_join import distance, shift_to_kind
from floodmark.reference.interpreter import propagate
from floodmark.scalar.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    INT,
    INTERVAL,
    TIMESTAMP,
    TIMESTAMPTZ,
    Field,
    Kind,
)
from floodmark.stream.operators.lower import lower

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
    plan = lower(n.Join(side("l"), side("r"), kind, (), between(1)))
    assert sorted(w.column for w in plan[plan.root].watermarks) == columns


def test_the_other_side_bounds_it() -> None:
    join = n.Join(side("l"), side("r"), n.JoinKind.INNER, (), between(1))
    marks = {"l": {"lt": NOON}, "r": {"rt": NOON}}
    # A right row still to come is at noon or later: its left partners at eleven or later.
    assert propagate(join, marks, NOW) == {"lt": NOON.replace(hour=11), "rt": NOON.replace(hour=10)}


def test_months_say_nothing() -> None:
    month = Call(TIMESTAMP, "-", (R, Literal(INTERVAL, (1, 0, 0))))
    join = n.Join(side("l"), side("r"), n.JoinKind.INNER, (), Call(BOOLEAN, ">=", (L, month)))
    assert not lower(join)[join].watermarks


DAY = 24 * HOUR
D, E = ColumnRef(DATE, "d"), ColumnRef(DATE, "e")
TZ, N, M = ColumnRef(TIMESTAMPTZ, "tz"), ColumnRef(BIGINT, "n"), ColumnRef(INT, "i")


@pytest.mark.parametrize(
    ("above", "below", "by"),
    [
        (D, Call(DATE, "-", (E, Literal(INT, 2))), -2 * DAY),
        (
            Cast(TIMESTAMP, D),
            Call(TIMESTAMP, "-", (E, Literal(INTERVAL, (0, 1, HOUR)))),
            -DAY - HOUR,
        ),
        (TZ, Cast(TIMESTAMPTZ, L), 0),
        # A time is up to a day above its date, and never below.
        (D, Cast(DATE, TZ), -DAY),
        (Cast(DATE, TZ), D, 0),
        (N, Call(BIGINT, "+", (Cast(BIGINT, M), Literal(BIGINT, 5))), 5),
        (
            Call(BIGINT, "+", (N, Literal(BIGINT, 2))),
            Call(BIGINT, "-", (M, Literal(BIGINT, 3))),
            -5,
        ),
    ],
)
def test_distances_of_days_and_numbers(above: Expr, below: Expr, by: int) -> None:
    found = distance(Call(BOOLEAN, ">=", (above, below)))
    assert found is not None
    assert (found.by, found.is_exact) == (by, True)


@pytest.mark.parametrize(
    ("above", "below"),
    [
        (L, Call(TIMESTAMP, "-", (R, Literal(INTERVAL, None)))),
        (Cast(INT, N), M),
        (Call(BIGINT, "*", (N, Literal(BIGINT, 2))), M),
    ],
)
def test_no_distance(above: Expr, below: Expr) -> None:
    assert distance(Call(BOOLEAN, ">=", (above, below))) is None


@pytest.mark.parametrize(
    ("value", "by", "kind", "moved"),
    [
        (NOON, -13 * HOUR, Kind.DATE, date(2023, 12, 31)),
        (date(2024, 1, 2), HOUR, Kind.TIMESTAMPTZ, datetime(2024, 1, 2, 1, tzinfo=UTC)),
        (date.max, DAY, Kind.DATE, date.max),
        (date.min, -DAY, Kind.TIMESTAMP, datetime.min),
        (3, -5, Kind.INT, -2),
        (2**40, 0, Kind.INT, 2**31 - 1),
        (-(2**63), -1, Kind.BIGINT, -(2**63)),
        ("a", 0, Kind.VARCHAR, "a"),
    ],
)
def test_a_value_at_a_distance(value: Any, by: int, kind: Kind, moved: Any) -> None:
    assert shift_to_kind(value, Decimal(by), kind) == moved
