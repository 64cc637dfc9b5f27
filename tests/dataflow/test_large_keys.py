"""A million rows of one key, and strings of a megabyte: views stay equal to their queries."""

from __future__ import annotations

from pathlib import Path

import pytest

from floodmark.api import connect
from floodmark.spark.session import Sessions
from floodmark.tools.equivalence import differences

pytestmark = [pytest.mark.spark, pytest.mark.long]
MANY = 1_000_000
OF_ONE_KEY = {
    "summed": "SELECT g, count(*) AS n, sum(k) AS s, max(k) AS m FROM t GROUP BY g",
    "joined": "SELECT k, name FROM t JOIN u ON t.g = u.g",
    "newest": "SELECT DISTINCT ON (g) g, k FROM t ORDER BY g, k DESC",
    "neighbours": "SELECT k, k - lag(k) OVER (PARTITION BY g ORDER BY k) AS d FROM t",
}


def test_a_million_rows_of_one_key(sessions: Sessions, tmp_path: Path) -> None:
    with connect(tmp_path / "warehouse", sessions=lambda: sessions) as fm:
        fm.execute("CREATE TABLE t (k BIGINT PRIMARY KEY, g INT)")
        fm.execute("CREATE TABLE u (g INT PRIMARY KEY, name TEXT)")
        fm.execute(f"INSERT INTO t SELECT i, 1 FROM generate_series(1, {MANY}) AS s(i)")
        fm.execute("INSERT INTO u VALUES (1, 'one')")
        for name, query in OF_ONE_KEY.items():
            fm.execute(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        fm.execute(f"INSERT INTO t VALUES ({MANY + 1}, 1), (0, 1)")
        fm.execute(f"DELETE FROM t WHERE k = {MANY // 2}")
        assert fm.execute("SELECT count(*) FROM neighbours WHERE d = 2").rows == ((1,),)
        assert {name: differences(fm, name) for name in OF_ONE_KEY} == dict.fromkeys(OF_ONE_KEY, 0)


def test_strings_of_a_megabyte(sessions: Sessions, tmp_path: Path) -> None:
    with connect(tmp_path / "warehouse", sessions=lambda: sessions) as fm:
        fm.execute("CREATE TABLE t (s TEXT PRIMARY KEY, a INT)")
        fm.execute("CREATE MATERIALIZED VIEW v AS SELECT s, sum(a) AS n FROM t GROUP BY s")
        fm.execute(
            "INSERT INTO t SELECT repeat('x', 1048576) || i::text, i "
            "FROM generate_series(1, 3) AS x(i)"
        )
        fm.execute("UPDATE t SET a = 7 WHERE s LIKE '%x2'")
        fm.execute("DELETE FROM t WHERE s LIKE '%x3'")
        found = fm.execute("SELECT length(s), right(s, 2), n FROM v ORDER BY n").rows
        assert found == ((1048577, "x1", 1), (1048577, "x2", 7))
        assert differences(fm, "v") == 0
