"""Sinks that own columns while definitions, other programs and maintenance come between."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from floodmark import failpoints
from floodmark.api import Floodmark
from floodmark.epochs.backfill.choice import VARIABLE
from floodmark.errors import FloodmarkError, TransientError
from floodmark.limits import Limits
from floodmark.session.audit.audit import ReplayOutcome
from tests.warehouses import NOW, Site

pytestmark = pytest.mark.spark
BARE = """
CREATE TABLE x (k INT PRIMARY KEY, v INT);
CREATE TABLE y (k INT PRIMARY KEY, w INT);
CREATE TABLE t (k INT PRIMARY KEY, v INT, w INT, u INT, g INT AS (coalesce(w, 0) * 2));
CREATE MATERIALIZED VIEW m AS SELECT k, v, w, u FROM t;
"""
OF_X = "CREATE SINK a INTO t (k, v) AS SELECT k, v FROM x WITH (on_delete = 'columns');"
OF_Y = "CREATE SINK b INTO t (k, w) AS SELECT k, w FROM y WITH (on_delete = 'columns');"
ROWS = [(1, 10, None, None), (2, 20, 22, None), (3, None, 33, None), (4, None, None, 4)]


@pytest.fixture
def fm(site: Site) -> Iterator[Floodmark]:
    """Yield an engine with a row of each owner, one of both, and one of a statement."""
    site.define()
    with site.connect() as opened:
        opened.execute_script(BARE + OF_X + OF_Y)
        _fill(opened)
        yield opened


def _fill(fm: Floodmark) -> None:
    fm.execute("INSERT INTO x VALUES (1, 10), (2, 20)")
    fm.execute("INSERT INTO y VALUES (2, 22), (3, 33)")
    fm.execute("INSERT INTO t (k, u) VALUES (4, 4)")
    assert _rows(fm) == ROWS


def _rows(fm: Floodmark, query: str = "SELECT k, v, w, u FROM t") -> list[tuple[Any, ...]]:
    """Return the rows of the table, once what follows it and what replay makes of it is the same.

    All that has come has been taken in.
    """
    rows = sorted((tuple(row) for row in fm.execute(query).rows), key=repr)
    if query == "SELECT k, v, w, u FROM t":
        assert rows == _rows(fm, "SELECT * FROM m")
        assert {r.result for r in fm.replay()} <= {ReplayOutcome.SAME}
    return rows


def _folder(site: Site, name: str) -> str:
    return str(site.root / "warehouse/public" / name)


@pytest.mark.long
def test_drop_sink_leaves_the_rows_or_clears_what_it_owned(fm: Floodmark) -> None:
    fm.execute("DROP SINK b")
    fm.execute("DELETE FROM x WHERE k = 2")
    assert _rows(fm) == [ROWS[0], (2, None, 22, None), *ROWS[2:]]
    fm.execute("DROP SINK a WITH ROWS")
    assert _rows(fm) == [(2, None, 22, None), *ROWS[2:]]
    fm.execute("INSERT INTO t (k, u) VALUES (2, 2)")
    assert _rows(fm)[0] == (2, None, None, 2)


def test_both_owners_can_take_their_rows(fm: Floodmark) -> None:
    fm.execute("DROP SINK a WITH ROWS")
    assert _rows(fm) == [(2, None, 22, None), *ROWS[2:]]
    fm.execute("DROP SINK b WITH ROWS")
    assert _rows(fm) == [ROWS[3]]


@pytest.mark.long
def test_a_sink_of_the_name_takes_the_rows_over(fm: Floodmark) -> None:
    fm.execute("DROP SINK b WITH ROWS")
    fm.execute("DROP SINK a")
    fm.execute("DELETE FROM x WHERE k = 1")
    fm.execute(OF_X)
    fm.execute("DELETE FROM x")
    assert _rows(fm) == [ROWS[0], ROWS[3]]


def test_a_table_comes_to_have_an_owner(site: Site) -> None:
    site.define()
    with site.connect() as fm:
        fm.execute_script(BARE)
        fm.execute("INSERT INTO t (k, v, u) VALUES (1, 1, 1), (4, 4, 4)")
        fm.execute("INSERT INTO x VALUES (1, 10), (2, 20)")
        fm.execute(OF_X)
        assert _rows(fm) == [(1, 10, None, 1), (2, 20, None, None), (4, 4, None, 4)]
        fm.execute("DELETE FROM x")
        assert _rows(fm) == [(1, None, None, 1), (4, 4, None, 4)]
        shown = [column.name for column in fm.execute("SELECT * FROM t").columns]
        assert shown == ["k", "v", "w", "u", "g"]
        with pytest.raises(FloodmarkError, match="E0206"):
            fm.execute("SELECT __owners FROM t")


@pytest.mark.long
def test_names_and_columns_come_and_go(fm: Floodmark) -> None:
    fm.execute("ALTER TABLE t RENAME COLUMN v TO value")
    fm.execute("ALTER SINK a RENAME TO of_x")
    fm.execute("ALTER TABLE t ADD COLUMN z INT DEFAULT 3")
    fm.execute("DELETE FROM x WHERE k = 2")
    fm.execute("INSERT INTO x VALUES (5, 50)")
    query = "SELECT k, value, w, u, z FROM t"
    rows = [(1, 10, None, None, 3), (2, None, 22, None, 3), (3, None, 33, None, 3)]
    assert _rows(fm, query) == [*rows, (4, None, None, 4, 3), (5, 50, None, None, 3)]
    fm.execute("DELETE FROM x")
    fm.execute("DELETE FROM y WHERE k = 3")
    assert _rows(fm, query) == [rows[1], (4, None, None, 4, 3)]
    with pytest.raises(FloodmarkError, match="value"):
        fm.execute("ALTER TABLE t DROP COLUMN value")


def test_another_query_of_an_owner_is_an_update_of_its_rows(fm: Floodmark) -> None:
    fm.execute("ALTER SINK a AS SELECT k, v + 1 FROM x WHERE k <> 1")
    assert _rows(fm) == [(2, 21, 22, None), *ROWS[2:]]
    fm.execute("ALTER SINK a AS SELECT k + 2, v FROM x")
    assert _rows(fm) == [(2, None, 22, None), (3, 10, 33, None), (4, 20, None, 4)]


@pytest.mark.parametrize(
    ("clause", "code"), [("ON CONFLICT DO NOTHING", "E0783"), ("SET (ttl = '1 day')", "E0783")]
)
def test_a_table_with_owners_stays_one_that_can_have_them(
    fm: Floodmark, clause: str, code: str
) -> None:
    with pytest.raises(FloodmarkError, match=code):
        fm.execute(f"ALTER TABLE t {clause}")
    with pytest.raises(FloodmarkError, match="E0785"):
        fm.execute(OF_X.replace("SINK a", "SINK c"))


@pytest.mark.long
def test_files_give_the_owners_other_columns(site: Site) -> None:
    site.define(BARE, OF_X, OF_Y)
    with site.connect() as fm:
        _fill(fm)
        site.define(BARE, OF_X.replace("(k, v)", "(k, w)"), OF_Y)
        with pytest.raises(FloodmarkError, match="E0785"):
            fm.apply(site.pipelines)
        site.define(BARE, OF_X.replace("(k, v)", "(k, w)"), OF_Y.replace("(k, w)", "(k, v)"))
        assert {c.action for c in fm.apply(site.pipelines).changes} == {"replace"}
        rows = [(1, None, 10, None), (2, 22, 20, None), (3, 33, None, None), ROWS[3]]
        assert _rows(fm) == rows
        fm.execute("DELETE FROM x")
        fm.execute("DELETE FROM y WHERE k = 3")
        assert _rows(fm) == [(2, 22, None, None), ROWS[3]]


@pytest.mark.long
def test_a_view_that_catches_up_sees_no_holds(
    fm: Floodmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "0")
    fm.execute("CREATE MATERIALIZED VIEW n AS SELECT k, v, w FROM t")
    # All that follows is taken at once by the view, which is filled afterwards.
    fm.execute("INSERT INTO x VALUES (6, NULL), (7, NULL), (8, 80)")
    fm.execute("INSERT INTO y VALUES (6, NULL), (7, NULL)")  # another holder, no change
    fm.execute("UPDATE x SET v = 60 WHERE k = 6")
    fm.execute("DELETE FROM y WHERE k = 6")
    fm.execute("DELETE FROM x WHERE k = 7")
    for _ in fm.epochs(now=NOW):
        pass
    rows = [row[:3] for row in ROWS]
    rows += [(6, 60, None), (7, None, None), (8, 80, None)]
    assert _rows(fm, "SELECT * FROM n") == rows
    changes = [(r["__kind"], r["k"], r["v"]) for r in fm.changes("n").collect() if r["k"] > 5]
    assert sorted(changes) == [("+I", 6, 60), ("+I", 7, None), ("+I", 8, 80)]


def _sealed(fm: Floodmark) -> int:
    return fm.warehouse.log.head().sealed


@pytest.mark.long
def test_maintenance_keeps_who_holds_rows(fm: Floodmark) -> None:
    fm.warehouse.limits = Limits(compact_files=1)
    fm.execute("INSERT INTO x VALUES (3, NULL)")  # another holder, no change
    fm.maintain()
    assert _rows(fm) == ROWS
    fm.execute("DELETE FROM y")
    assert _rows(fm) == [*ROWS[:1], (2, 20, None, None), (3, None, None, None), ROWS[3]]
    fm.maintain()
    fm.execute("DELETE FROM x")
    assert _rows(fm) == [ROWS[3]]
    epochs = range(_sealed(fm) - 3, _sealed(fm) + 1)
    outcomes = {r.result for epoch in epochs for r in fm.replay(epoch=epoch)}
    assert outcomes == {ReplayOutcome.SAME}


@pytest.mark.parametrize(
    "point",
    [
        "first_table_committed",
        pytest.param("files_written", marks=pytest.mark.long),
        pytest.param("state_committed", marks=pytest.mark.long),
    ],
)
def test_a_killed_epoch_holds_rows_once(
    site: Site, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    site.define(BARE, OF_X, OF_Y)
    with site.connect() as fm:
        _fill(fm)

        def die(name: str) -> None:
            if name == point:
                raise TransientError("E0515", "killed")

        with monkeypatch.context() as patched, pytest.raises(TransientError):
            patched.setattr(failpoints, "reach", die)
            fm.execute("DELETE FROM x")
    with site.connect() as fm:
        fm.advance()
        if fm.execute("SELECT * FROM x").rows:  # the statement may not have been logged
            fm.execute("DELETE FROM x")
        assert _rows(fm) == [(2, None, 22, None), *ROWS[2:]]
        fm.execute("DELETE FROM y")
        assert _rows(fm) == [ROWS[3]]


def test_statements_hold_a_row_as_a_whole(fm: Floodmark, tmp_path: Path) -> None:
    fm.execute("BEGIN")
    told = fm.execute("UPDATE t SET u = 1 WHERE k = 1 RETURNING k, v, u")
    assert told.rows == ((1, 10, 1),)
    fm.execute("DELETE FROM t WHERE k = 2")
    assert [row[:4] for row in fm.execute("SELECT * FROM t WHERE k < 3").rows] == [(1, 10, None, 1)]
    fm.execute("COMMIT")
    path = tmp_path / "rows.csv"
    path.write_text("k,u\n3,3\n")
    fm.execute(f"COPY t (k, u) FROM '{path}' (FORMAT csv, HEADER)")
    assert _rows(fm) == [(1, 10, None, 1), (3, None, None, 3), ROWS[3]]
    fm.execute("UPDATE x SET v = 21 WHERE k = 2")
    assert _rows(fm)[1] == (2, 21, None, None), "made anew, with its own columns alone"
    fm.execute("DELETE FROM x")
    fm.execute("DELETE FROM y")
    assert _rows(fm) == [(1, None, None, 1), (3, None, None, 3), ROWS[3]]


@pytest.mark.long
def test_returning_of_rows_that_meet_those_of_owners(fm: Floodmark) -> None:
    fm.execute("ALTER TABLE t ON CONFLICT DO UPDATE IF NOT NULL")
    asked = "INSERT INTO t (k, v, u) VALUES (1, 10, NULL), (2, NULL, 2) RETURNING k, v, w, u"
    assert fm.execute(asked).rows == ((2, 20, 22, 2),), "the other one changes nothing"
    fm.execute("DELETE FROM x")
    assert _rows(fm) == [(1, None, None, None), (2, None, 22, 2), *ROWS[2:]]


@pytest.mark.long
def test_what_another_program_writes_is_held_as_a_whole(site: Site, fm: Floodmark) -> None:
    folder = _folder(site, "t")
    DeltaTable(folder).update(updates={"u": "7"}, predicate="k = 1")
    DeltaTable(folder).delete("k = 3")
    fm.advance()
    assert _rows(fm) == [(1, 10, None, 7), ROWS[1], ROWS[3]]
    fm.execute("DELETE FROM x")
    assert _rows(fm) == [(1, None, None, 7), (2, None, 22, None), ROWS[3]]
