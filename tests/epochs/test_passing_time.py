"""When an epoch of time alone is worth it: what it would close, without Spark."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from floodmark.epochs.clock_watermarks import advances_by_clock
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.stream.objects.analysed import Pipeline
from floodmark.tables.cut import Cut
from tests.program_reference import compile_sql

START = datetime(2024, 1, 1, tzinfo=UTC)
SOURCE = """
CREATE SOURCE {0} (ts TIMESTAMP, n INT, WATERMARK FOR ts AS ts - INTERVAL '1 minute')
WITH (connector = 'files', path = '{0}'{1}) FORMAT PLAIN ENCODE PARQUET;
"""
CLOCK = ", watermark.advance = 'now() - 10m'"
VIEWS = """
CREATE MATERIALIZED VIEW alone AS SELECT ts FROM a EMIT ON WINDOW CLOSE;
CREATE MATERIALIZED VIEW tens AS SELECT window_start, count(*) AS n
FROM TUMBLE(a, ts, INTERVAL '10 minutes') GROUP BY window_start EMIT ON WINDOW CLOSE;
CREATE MATERIALIZED VIEW merged AS
SELECT ts FROM a UNION ALL SELECT ts FROM b EMIT ON WINDOW CLOSE;
CREATE MATERIALIZED VIEW joined AS SELECT a.ts FROM a JOIN c ON a.ts = c.ts EMIT ON WINDOW CLOSE;
"""
PIPELINE = compile_sql(
    "".join((SOURCE.format("a", CLOCK), SOURCE.format("b", ""), SOURCE.format("c", CLOCK), VIEWS))
)


def _at(minutes: float) -> datetime:
    return (START + timedelta(minutes=minutes)).replace(tzinfo=None)


def _source(name: str, mark: float, high: float) -> ObjectRecord:
    """Return a source's record: its watermark, and its highest time."""
    return ObjectRecord(name, {}, watermarks={"ts": _at(mark)}, reached={"0": {"ts": _at(high)}})


def _closes(
    minutes: float,
    *records: ObjectRecord,
    nothing: Collection[str] = ("a", "b", "c"),
    select: Collection[str] | None = None,
    suspended: Collection[str] = (),
    pipeline: Pipeline = PIPELINE,
) -> bool:
    warehouse: Any = SimpleNamespace(
        deployed=lambda: SimpleNamespace(pipeline=pipeline),
        cut=lambda: Cut(1, {record.object: record for record in records}),
        splits=SimpleNamespace(sources_without_more=lambda taken: frozenset(nothing)),
        suspensions=lambda: dict.fromkeys(suspended),
    )
    return advances_by_clock(warehouse, START + timedelta(minutes=minutes), select)


def test_all_that_is_open_is_closed_at_once() -> None:
    a = _source("a", 4, 5)
    assert [_closes(m, a, select={"alone"}) for m in (14, 15, 15.01)] == [False, False, True]
    assert [_closes(m, a, select={"tens"}) for m in (19, 19.99, 20)] == [False, False, True]
    assert not _closes(60, _source("a", 10, 5), select={"tens"}), "it is closed already"


def test_a_source_that_may_have_something_waits() -> None:
    a = _source("a", 4, 5)
    assert not _closes(60, a, nothing=("b", "c"))
    assert not _closes(60, a, select={"alone"}, suspended=("a",))
    assert not _closes(60, a, select={"alone"}, suspended=("alone",))
    assert _closes(60, a, suspended=("alone",))
    assert not _closes(60)


def test_what_another_input_holds_back_is_closed_as_far_as_that_lets_it() -> None:
    a = _source("a", 4, 5)
    for mark, expected in ((3, False), (4, False), (4.5, True), (30, True)):
        found = _closes(60, a, _source("b", mark, mark + 1), select={"merged"})
        assert found == expected, mark
    b = _source("b", 4.5, 5.5)
    assert not _closes(14.4, a, b, select={"merged"}), "not yet as far as it may"
    assert _closes(14.5, a, b, select={"merged"})


def test_of_two_sources_that_are_joined_the_earlier_rows_count() -> None:
    a, c = _source("a", 4, 5), _source("c", 4, 8)
    assert [_closes(m, a, c, select={"joined"}) for m in (14.9, 15.01)] == [False, True]
    assert not _closes(60, a, select={"joined"}), "one has had no row, nor an epoch"


_FIVE = "INTERVAL '5 minutes'"


@pytest.mark.parametrize(
    ("query", "passed"),
    [
        (f"SELECT window_start, count(*) FROM TUMBLE(a, ts, {_FIVE}) GROUP BY 1", 5),
        (
            f"SELECT window_end, count(*) FROM HOP(a, ts, INTERVAL '1 minute', {_FIVE}) GROUP BY 1",
            5,
        ),
        (f"SELECT window_start, count(*) FROM HOP(a, ts, {_FIVE}, {_FIVE}) GROUP BY 1", 5),
        (f"SELECT window_end, count(*) FROM SESSION(a, ts, {_FIVE}) GROUP BY 1", 5),
        (f"SELECT n, ts, window_end FROM SESSION(a, ts, {_FIVE}, n)", 5),
        (f"SELECT ts, count(*) OVER (ORDER BY ts SESSION WITH GAP {_FIVE}) FROM a", 5),
        (
            "SELECT ts, count(*) OVER "
            f"(ORDER BY ts RANGE BETWEEN CURRENT ROW AND {_FIVE} FOLLOWING) FROM a",
            5,
        ),
        (
            f"SELECT x.ts, y.ts AS t FROM a x LEFT JOIN a y ON x.n = y.n "
            f"AND x.ts BETWEEN y.ts - {_FIVE} AND y.ts - INTERVAL '1 second'",
            5,
        ),
    ],
)
def test_what_has_rows_ahead_is_closed_when_they_have_passed(query: str, passed: float) -> None:
    view = f"CREATE MATERIALIZED VIEW v AS {query} EMIT ON WINDOW CLOSE;"
    pipeline = compile_sql(SOURCE.format("a", CLOCK) + view)

    def closes_at(minutes: float, mark: float) -> bool:
        return _closes(minutes, _source("a", mark, 0), nothing=("a",), pipeline=pipeline)

    for mark in (-1, 0, passed - 0.5):
        assert closes_at(10 + passed + 0.1, mark)
        assert not closes_at(10 + passed - 0.2, mark)
    assert not closes_at(1000, passed + 0.1)
