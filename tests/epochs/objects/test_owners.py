"""Sinks that own columns, while definitions, files and tables at rest change around them."""

from __future__ import annotations

import pytest

from floodmark.api import Floodmark
from floodmark.session.audit.audit import ReplayOutcome
from tests.warehouses import Site

pytestmark = pytest.mark.spark
TABLES = """
CREATE TABLE x (k INT PRIMARY KEY, v INT);
CREATE TABLE y (k INT PRIMARY KEY, u INT);
CREATE TABLE t (k INT PRIMARY KEY, v INT, u INT, n INT);
CREATE MATERIALIZED VIEW seen AS SELECT count(*) AS rows, count(v) AS vs, sum(u) AS us FROM t;
INSERT INTO t VALUES (9, 90, 91, 92);
INSERT INTO x VALUES (1, 10), (2, 20);
INSERT INTO y VALUES (2, 21), (3, 31);
"""
A = "CREATE SINK a INTO t (k, v) AS SELECT k, v FROM x WITH (on_delete = 'columns')"
B = "CREATE SINK b INTO t (k, u) AS SELECT k, u FROM y WITH (on_delete = 'columns')"
FILLED = ((1, 10, None, None), (2, 20, 21, None), (3, None, 31, None), (9, 90, 91, 92))


def run(fm: Floodmark, script: str) -> None:
    for statement in filter(str.strip, script.split(";")):
        fm.execute(statement)


def rows(fm: Floodmark) -> tuple[tuple[object, ...], ...]:
    """Return the table's rows, when what follows has counted them right and a replay agrees."""
    found = fm.execute("SELECT * FROM t ORDER BY k").rows
    totals = fm.execute("SELECT count(*), count(v), sum(u) FROM t").rows
    assert fm.execute("SELECT * FROM seen").rows == totals
    return found


@pytest.fixture
def fm(site: Site):  # type: ignore[no-untyped-def]
    site.define()
    with site.connect() as connection:
        run(connection, TABLES)
        run(connection, f"{A}; {B}")
        yield connection


@pytest.mark.long
def test_rows_of_before_are_held_as_a_whole(fm: Floodmark) -> None:
    assert rows(fm) == FILLED
    run(fm, "INSERT INTO x VALUES (9, 99); DELETE FROM x WHERE k IN (1, 9)")
    assert rows(fm) == ((2, 20, 21, None), (3, None, 31, None), (9, None, 91, 92))
    columns = [c.name for c in fm.execute("SELECT * FROM t__changes LIMIT 1").columns]
    assert columns == ["epoch", "kind", "k", "v", "u", "n"]


def test_what_statements_write_is_held_as_a_whole(fm: Floodmark) -> None:
    run(fm, "UPDATE t SET n = 5 WHERE k = 1; DELETE FROM x; DELETE FROM t WHERE k = 3")
    assert rows(fm) == ((1, None, None, 5), (2, None, 21, None), (9, 90, 91, 92))
    run(fm, "UPDATE y SET u = u + 1; DELETE FROM y WHERE k = 2")
    assert rows(fm) == ((1, None, None, 5), (3, None, 32, None), (9, 90, 91, 92))


def test_a_sink_goes_and_leaves_its_rows(fm: Floodmark) -> None:
    run(fm, "DROP SINK a; DELETE FROM y")
    assert rows(fm) == ((1, 10, None, None), (2, 20, None, None), (9, 90, 91, 92))
    run(fm, f"DROP SINK b; INSERT INTO t (k, n) VALUES (1, 7); {A}; DELETE FROM x WHERE k = 2")
    assert rows(fm) == ((1, 10, None, 7), (9, 90, 91, 92))


@pytest.mark.long
def test_a_sink_goes_with_what_it_has_written(fm: Floodmark) -> None:
    run(fm, "DROP SINK b WITH ROWS")
    assert rows(fm) == ((1, 10, None, None), (2, 20, None, None), (9, 90, 91, 92))
    run(fm, "DROP SINK a WITH ROWS")
    assert rows(fm) == ((9, 90, 91, 92),)


def test_another_query_sets_and_clears_what_differs(fm: Floodmark) -> None:
    run(fm, "ALTER SINK a AS SELECT k, v + 1 FROM x WHERE k > 1")
    assert rows(fm) == ((2, 21, 21, None), (3, None, 31, None), (9, 90, 91, 92))
    run(fm, "DELETE FROM y WHERE k = 2; DELETE FROM x WHERE k = 2")
    assert rows(fm) == ((3, None, 31, None), (9, 90, 91, 92))


@pytest.mark.long
def test_names_change_and_owners_stay(fm: Floodmark) -> None:
    run(fm, "ALTER TABLE t RENAME COLUMN v TO w; ALTER SINK a RENAME TO c")
    run(fm, "ALTER TABLE t ADD COLUMN z INT; INSERT INTO x VALUES (3, 30); DELETE FROM y")
    found = fm.execute("SELECT k, w, u, n, z FROM t ORDER BY k").rows
    assert found[:3] == (
        (1, 10, None, None, None),
        (2, 20, None, None, None),
        (3, 30, None, None, None),
    )
    run(fm, "DELETE FROM x WHERE k < 3")
    assert [row[0] for row in fm.execute("SELECT k FROM t ORDER BY k").rows] == [3, 9]


def test_a_transaction_sees_and_makes_whole_rows(fm: Floodmark) -> None:
    run(fm, "BEGIN; UPDATE t SET n = k; INSERT INTO t VALUES (4, 1, 2, 3)")
    assert fm.execute("SELECT sum(n) FROM t").rows == ((1 + 2 + 3 + 9 + 3,),)
    run(fm, "DELETE FROM t WHERE k = 9; COMMIT; DELETE FROM x; DELETE FROM y")
    assert rows(fm) == ((1, None, None, 1), (2, None, None, 2), (3, None, None, 3), (4, 1, 2, 3))


def test_epochs_replay_and_tables_are_kept(fm: Floodmark) -> None:
    run(fm, "DELETE FROM x WHERE k = 2; INSERT INTO x VALUES (2, 22); DELETE FROM y")
    before = rows(fm)
    assert {done.result for done in fm.replay()} == {ReplayOutcome.SAME}
    fm.maintain()
    assert rows(fm) == before
    run(fm, "DELETE FROM x")
    assert rows(fm) == ((9, 90, 91, 92),)
