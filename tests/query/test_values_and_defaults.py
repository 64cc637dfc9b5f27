"""VALUES in an order and up to a number, DEFAULT of computed columns, names of windows, lengths."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pytest

from floodmark.api import Floodmark, connect
from floodmark.spark.session import Sessions

pytestmark = pytest.mark.spark

AT = datetime(2026, 1, 1, 0, 0, 1)
QUERIES = {
    "VALUES (1), (3), (2) ORDER BY 1 DESC LIMIT 2": [(3,), (2,)],
    "SELECT c FROM (VALUES (1), (3), (2) ORDER BY 1 OFFSET 2) AS v (c)": [(3,)],
    "SELECT 1 WHERE 2 IN (VALUES (1), (2) ORDER BY 1 LIMIT 1)": [],
    "SELECT h.w, h.k FROM TUMBLE(t, at, INTERVAL '1 hour') AS h (k, seen, from_, w)": [
        (datetime(2026, 1, 1, 1), 1),
    ],
    "SELECT TIMESTAMP '2026-01-01 00:00:00.500'::timestamp(0)": [(AT,)],
    "SELECT TIMESTAMP(3) '2026-01-01 00:00:00.9996'": [(AT,)],
    "SELECT TIMESTAMP '2026-01-01' + INTERVAL '1 second 500 ms' SECOND - TIMESTAMP '2026-01-01'"
    " = INTERVAL '1.5 seconds'": [(True,)],
    "SELECT TIMESTAMP '2026-01-01' + INTERVAL '1 day 2:03:04' HOUR": [
        (datetime(2026, 1, 2, 2),),
    ],
    "SELECT DATE '2026-01-01' + INTERVAL '14 months' YEAR": [(datetime(2027, 1, 1),)],
}  # fmt: skip


@pytest.fixture(scope="module")
def fm(sessions: Sessions, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Floodmark]:
    """Yield a warehouse with a row, and a table that computes a column in the middle."""
    root = tmp_path_factory.mktemp("values") / "warehouse"
    with connect(root, sessions=lambda: sessions) as connected:
        connected.execute("CREATE TABLE t (k INT PRIMARY KEY, at TIMESTAMP)")
        connected.execute("CREATE TABLE g (a INT PRIMARY KEY, b INT AS (a + 1), c INT DEFAULT 7)")
        connected.execute(f"INSERT INTO t VALUES (1, TIMESTAMP '{AT}')")
        yield connected


@pytest.mark.parametrize("query", QUERIES)
def test_rows(fm: Floodmark, query: str) -> None:
    assert [tuple(row) for row in fm.execute(query).rows] == QUERIES[query]


def test_default_of_a_computed_column_is_what_it_computes(fm: Floodmark) -> None:
    fm.execute("INSERT INTO g VALUES (1, DEFAULT, 5), (2, DEFAULT, DEFAULT), (3, DEFAULT, 9)")
    fm.execute("UPDATE g SET b = DEFAULT, c = 6 WHERE a = 3")
    rows = [tuple(row) for row in fm.execute("SELECT * FROM g ORDER BY a").rows]
    assert rows == [(1, 2, 5), (2, 3, 7), (3, 4, 6)]
    fm.execute("INSERT INTO g (a) VALUES (11), (12) ORDER BY 1 DESC LIMIT 1")
    assert fm.execute("SELECT a FROM g WHERE a > 10").rows == ((12,),)


def test_a_hint_is_told(fm: Floodmark) -> None:
    (told,) = fm.execute("WITH q AS NOT MATERIALIZED (SELECT 1) SELECT * FROM q").notices
    assert told.startswith("nothing follows from NOT MATERIALIZED")
    assert "nothing follows from an index" in str(fm.execute("CREATE INDEX i ON g (c)").notices)
