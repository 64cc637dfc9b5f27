"""Values and tables as psql shows them."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from floodmark.cli.rendering import cell, json_value, table


def test_a_table_is_aligned_as_psql_does() -> None:
    rows = [("a", 1, None), ("längst", 1000, datetime(2024, 1, 1, 10, 0, 0, 250000))]
    text = table(["name", "n", "at"], ["character varying", "bigint", "timestamp"], rows)
    assert text.splitlines() == [
        "  name  |  n   |           at",
        "--------+------+-------------------------",
        " a      |    1 | NULL",
        " längst | 1000 | 2024-01-01 10:00:00.250",
        "(2 rows)",
    ]


def test_a_value_of_several_lines_continues() -> None:
    text = table(["x"], ["character varying"], [("one\ntwo",)])
    assert text.splitlines()[2:] == [" one+", " two", "(1 row)"]


def test_values_by_their_type() -> None:
    assert cell(3_600_000_000, "time without time zone") == "01:00:00"
    assert cell((1, 2, 0), "interval") == "1 mon 2 days"
    assert cell(datetime(2024, 1, 1, 0, 0, 0, 1, tzinfo=UTC)) == "2024-01-01 00:00:00.000001+00"
    assert json_value([Decimal("1.0"), None, True], "numeric(2,1)[]") == ["1.0", None, True]
