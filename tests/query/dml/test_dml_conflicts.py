"""Statements into tables with ON CONFLICT: what RETURNING gives, and what a transaction sees."""

from __future__ import annotations

from typing import Any

import pytest

from floodmark.errors import BindError
from tests.warehouses import Site

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


def test_an_append_only_table_with_a_key_keeps_the_first_row(site: Site) -> None:
    site.define()
    with site.connect() as fm:
        fm.execute("CREATE TABLE t (k INT PRIMARY KEY, v INT) APPEND ONLY")
        fm.execute("CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n, sum(v) AS v FROM t")
        assert fm.execute("INSERT INTO t VALUES (1, 1), (1, 2), (2, 3) RETURNING *").rows == (
            (1, 1), (2, 3),
        )  # fmt: skip
        fm.execute("BEGIN")
        assert fm.execute("INSERT INTO t VALUES (2, 9), (3, 4) RETURNING k").rows == ((3,),)
        assert list(fm.execute("SELECT * FROM t ORDER BY k").rows) == [(1, 1), (2, 3), (3, 4)]
        fm.execute("COMMIT")
        assert list(fm.execute("SELECT * FROM t ORDER BY k").rows) == [(1, 1), (2, 3), (3, 4)]
        assert fm.execute("SELECT * FROM n").rows == ((3, 8),)
        for refused in ("DELETE FROM t", "UPDATE t SET v = 0"):
            with pytest.raises(BindError, match="E0232"):
                fm.execute(refused)
        changes = fm.execute("SELECT kind, k, v FROM t__changes ORDER BY k").rows
        assert changes == (("+I", 1, 1), ("+I", 2, 3), ("+I", 3, 4))
        assert all(r.result.name == "SAME" for r in fm.replay(sample=9))


def test_columns_are_set_behind_the_name_of_their_table(site: Site) -> None:
    site.define()
    with site.connect() as fm:
        fm.execute("CREATE TABLE t (k INT PRIMARY KEY, v INT)")
        fm.execute("INSERT INTO t VALUES (1, 1)")
        fm.execute("UPDATE t AS a SET a.v = a.v + 1 WHERE a.k = 1")
        fm.execute("UPDATE public.t SET public.t.v = v + 1")
        assert fm.execute("SELECT v FROM t").rows == ((3,),)
        with pytest.raises(BindError, match="E0208"):
            fm.execute("UPDATE t AS a SET b.v = 1")
