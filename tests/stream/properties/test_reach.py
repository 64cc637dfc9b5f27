"""How far from a changed row window functions change."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pytest

from floodmark.dataflow.partitions import affected_frames
from floodmark.plan import nodes as n
from floodmark.stream.properties.reach import Reach, reach_of
from tests.program_reference import compile_sql

MINUTE, DAY = Decimal(60_000_000), Decimal(86_400_000_000)
TABLE = "CREATE TABLE t (k INT PRIMARY KEY, a INT, m NUMERIC(10, 2), ts TIMESTAMP, d DATE)"


def window_of(order: str, calls: str) -> n.OverWindow:
    """Return the node of a window over all rows."""
    view = f"CREATE MATERIALIZED VIEW v AS SELECT {calls} FROM t WINDOW w AS (ORDER BY {order})"
    plan = compile_sql(f"{TABLE}; {view}")["v"].plan
    assert plan is not None
    return next(node for node in plan.nodes if isinstance(node, n.OverWindow))


@pytest.mark.parametrize(
    ("order", "calls", "expected"),
    [
        ("a", "lag(k, 2) OVER w AS p, lead(k) OVER w AS q", ("ROWS", 2, 1)),
        ("a", "lag(k, -3) OVER w", ("ROWS", 0, 3)),
        ("a", "lag(k) IGNORE NULLS OVER w", None),
        ("a", "sum(k) OVER w", None),
        ("a", "row_number() OVER w", None),
        ("a", "sum(k) OVER (w ROWS BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING)", None),
        ("a", "sum(k) OVER (w ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING)", ("ROWS", 0, 3)),
        ("a", "sum(k) OVER (w GROUPS CURRENT ROW) AS p, lag(k) OVER w AS q", ("GROUPS", 1, 0)),
        ("a", "max(k) OVER (w RANGE CURRENT ROW) AS p, lead(k) OVER w AS q", ("GROUPS", 0, 1)),
        ("a", "max(k) OVER (w RANGE 2 PRECEDING) AS p, lead(k) OVER w AS q", None),
        ("m", "max(k) OVER (w RANGE 0.5 PRECEDING)", ("RANGE", Decimal("0.5"), 0)),
        ("ts", "max(k) OVER (w RANGE '1 minute' PRECEDING)", ("RANGE", MINUTE, 0)),
        ("d", "max(k) OVER (w RANGE '2 months' PRECEDING)", ("RANGE", 62 * DAY, 0)),
    ],
)
def test_distances_are_told_in_one_unit(
    order: str, calls: str, expected: tuple[str, Decimal, Decimal] | None
) -> None:
    assert reach_of(window_of(order, calls)) == (expected and Reach(*expected))


def test_files_far_from_a_change_are_not_read() -> None:
    ahead = window_of("ts", "sum(k) OVER (w RANGE BETWEEN CURRENT ROW AND '1 minute' FOLLOWING)")
    reach = reach_of(ahead)
    assert reach is not None
    noon = datetime(2024, 1, 1, 12)
    around = {"ts": (datetime(2024, 1, 1, 11, 59), datetime(2024, 1, 1, 12, 1))}
    assert affected_frames.near(ahead, reach, {"ts": (noon, noon), "k": (1, 1)}) == around
    assert affected_frames.near(ahead, reach, {"k": (1, 1)}) == {}


def test_a_part_of_a_day_is_a_day() -> None:
    node = window_of("d", "sum(k) OVER (w RANGE '1 hour' PRECEDING)")
    reach = reach_of(node)
    assert reach is not None
    day = date(2024, 2, 29)
    assert affected_frames.near(node, reach, {"d": (day, day)}) == {
        "d": (date(2024, 2, 28), date(2024, 3, 1))
    }
