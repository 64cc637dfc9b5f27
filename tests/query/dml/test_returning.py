"""RETURNING: the rows that a statement wrote, as columns and rows of its result."""

from __future__ import annotations

from typing import Any

import pytest

from floodmark.api import Result
from tests.warehouses import Site

pytestmark = pytest.mark.spark


def _shown(result: Result) -> tuple[list[str], list[tuple[Any, ...]], int, str]:
    return [c.name for c in result.columns], list(result.rows), result.rowcount, result.status


def test_returning_of_a_keyed_table(site: Site) -> None:
    site.define()
    with site.connect() as fm:
        fm.execute("CREATE TABLE t (k INT PRIMARY KEY, v INT DEFAULT 7, w INT AS (v * 2))")
        fm.execute("CREATE TABLE u (k INT, a VARCHAR)")
        fm.execute("INSERT INTO u VALUES (1, 'one'), (1, 'uno'), (2, 'two')")

        told = fm.execute("INSERT INTO t (k) VALUES (2), (1) RETURNING *, k + v AS s, 'x', k")
        rows = [(2, 7, 14, 9, "x", 2), (1, 7, 14, 8, "x", 1)]
        assert _shown(told) == (["k", "v", "w", "s", "?column?", "k_1"], rows, 2, "INSERT 0 2")
        assert [c.type for c in told.columns][:1] == ["integer"]

        told = fm.execute("INSERT INTO t VALUES (1, 3), (3, 3), (1, DEFAULT) RETURNING k, v")
        assert _shown(told) == (["k", "v"], [(3, 3), (1, 7)], 3, "INSERT 0 3")

        told = fm.execute(
            "UPDATE t SET v = t.v + 1 FROM u WHERE u.k = t.k"
            " RETURNING t.k, t.w, u.a, upper(a), (SELECT count(*) FROM u AS c WHERE c.k = t.k) AS n"
        )
        rows = [(1, 16, "one", "ONE", 2), (2, 16, "two", "TWO", 1)]
        names = ["k", "w", "a", "upper", "n"]
        assert (_shown(told)[0], sorted(told.rows), told.status) == (names, rows, "UPDATE 2")

        told = fm.execute("UPDATE t SET k = k + 10 WHERE k = 1 RETURNING *")
        assert _shown(told) == (["k", "v", "w"], [(11, 8, 16)], 1, "UPDATE 1")

        told = fm.execute("DELETE FROM t USING u WHERE u.k = t.k RETURNING *")
        names = ["k", "v", "w", "k_1", "a"]
        assert _shown(told) == (names, [(2, 8, 16, 2, "two")], 1, "DELETE 1")

        told = fm.execute("DELETE FROM t WHERE k = 99 RETURNING k")
        assert _shown(told) == (["k"], [], 0, "DELETE 0")


def test_returning_gives_the_row_id_that_is_stored(site: Site) -> None:
    site.define()
    with site.connect() as fm:
        fm.execute("CREATE TABLE log (line VARCHAR, r DOUBLE)")
        told = fm.execute("INSERT INTO log SELECT 'a', random() RETURNING _row_id, line, r")
        told2 = fm.execute("INSERT INTO log VALUES ('b', random()) RETURNING _row_id, line, r")
        stored = fm.execute("SELECT _row_id, line, r FROM log ORDER BY line")
        assert (*told.rows, *told2.rows) == stored.rows
        changed = fm.execute("UPDATE log SET r = random() WHERE line = 'a' RETURNING r")
        assert changed.rows == fm.execute("SELECT r FROM log WHERE line = 'a'").rows
