"""Statements into tables with ON CONFLICT: what RETURNING gives, and what a transaction sees."""

from __future__ import annotations

from typing import Any

import pytest
from warehouses import Site

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("clause", "given", "after"),
    [
        ("DO NOTHING", [(3, 3)], [(1, 10), (2, 20), (3, 3)]),
        ("DO UPDATE IF NOT NULL", [(1, 5), (3, 3)], [(1, 5), (2, 20), (3, 3)]),
        (
            "DO UPDATE SET v = t.v + EXCLUDED.v WHERE EXCLUDED.v IS NOT NULL",
            [(1, 15), (3, 3)],
            [(1, 15), (2, 20), (3, 3)],
        ),
        ("DO UPDATE FULL", [(1, 5), (2, None), (3, 3)], [(1, 5), (2, None), (3, 3)]),
    ],
)
def test_returning_gives_what_the_table_makes_of_rows(
    site: Site, clause: str, given: list[Any], after: list[Any]
) -> None:
    site.define()
    insert = "INSERT INTO t VALUES (1, 5), (2, NULL), (3, 3) RETURNING k, v"
    with site.connect() as fm:
        fm.execute(f"CREATE TABLE t (k INT PRIMARY KEY, v INT) ON CONFLICT {clause}")
        fm.execute("INSERT INTO t VALUES (1, 10), (2, 20)")
        fm.execute("BEGIN")
        assert list(fm.execute(insert).rows) == given
        assert list(fm.execute("SELECT * FROM t ORDER BY k").rows) == after
        fm.execute("ROLLBACK")
        assert list(fm.execute(insert).rows) == given
        assert list(fm.execute("SELECT * FROM t ORDER BY k").rows) == after
        told = fm.execute("UPDATE t SET v = NULL WHERE k = 1 RETURNING *")
        assert (told.rows, told.rowcount) == (((1, None),), 1)
        assert fm.execute("SELECT v FROM t WHERE k = 1").rows == ((None,),)
