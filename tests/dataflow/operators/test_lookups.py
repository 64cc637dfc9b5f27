"""Lookup joins in a warehouse: what is asked elsewhere, crashes, replays, queries."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from floodmark import failpoints
from floodmark.api import Floodmark
from floodmark.connectors.lookup.connector import Lookup, LookupKey, RowValues
from floodmark.errors import TransientError, UserError
from floodmark.limits import Limits
from tests.warehouses import NOW, READINGS, Site, put

pytestmark = pytest.mark.spark
Rows = list[tuple[Any, ...]]

NAMED = """
CREATE TABLE dim (k INT PRIMARY KEY, name VARCHAR)
    WITH (connector = 'lookup', store = 'sqlite', path = '{file}', busy_seconds = 0.1);
CREATE TABLE many (k INT, name VARCHAR)
    WITH (connector = 'lookup', store = 'sqlite', path = '{file}', table = 'dim');
CREATE TABLE fixed (k INT, name VARCHAR)
    WITH (connector = 'lookup', store = 'sqlite', path = '{file}', table = 'dim', static = 'true');
CREATE TABLE t (pk INT PRIMARY KEY, k INT);
"""
ONLY_ADDED = """
CREATE MATERIALIZED VIEW a AS SELECT s.id, d.name FROM s
    LEFT JOIN dim FOR SYSTEM_TIME AS OF PROCTIME() d ON s.v = d.k;
"""
STORED = """
CREATE MATERIALIZED VIEW u AS SELECT t.pk, d.name FROM t
    LEFT JOIN dim FOR SYSTEM_TIME AS OF PROCTIME() d ON t.k = d.k;
"""
UPDATED = """
CREATE MATERIALIZED VIEW m AS SELECT d.name, count(*) AS n FROM t
    JOIN many FOR SYSTEM_TIME AS OF PROCTIME() d ON t.k = d.k GROUP BY d.name;
CREATE MATERIALIZED VIEW f AS SELECT t.pk, d.name FROM t
    JOIN fixed FOR SYSTEM_TIME AS OF PROCTIME() d ON t.k = d.k;
"""


class Names:
    """A SQLite file with names, which tests change."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.execute("CREATE TABLE dim (k INTEGER, name TEXT)")

    def execute(self, *statements: str) -> None:
        """Run and commit statements."""
        with closing(sqlite3.connect(self.path)) as connection:
            for statement in statements:
                connection.execute(statement)
            connection.commit()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let nobody read."""
        with closing(sqlite3.connect(self.path)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            yield


@pytest.fixture
def names(site: Site) -> Names:
    """Return a file with the names of 1 and 2."""
    names = Names(site.root / "names.sqlite")
    names.execute("INSERT INTO dim VALUES (1, 'a'), (2, 'b')")
    return names


def _define(site: Site, names: Names, *texts: str) -> None:
    site.define(*(text.replace("{file}", str(names.path)) for text in (READINGS, NAMED, *texts)))


def _rows(fm: Floodmark, sql: str) -> Rows:
    return sorted((tuple(row) for row in fm.execute(sql).rows), key=repr)


class _Broken:
    """Fails at one pass of a failpoint, as a crash would."""

    def __init__(self, patch: pytest.MonkeyPatch, name: str, passes: int = 1) -> None:
        self.name = name
        self.left = passes
        patch.setattr(failpoints, "reach", self.reach)

    def reach(self, name: str) -> None:
        """Count, and fail."""
        self.left -= name == self.name
        if name == self.name and self.left == 0:
            raise TransientError("E0505", "a test's fault", hint="again")


class _Failing:
    """Lets the first fetched rows be lost before they are recorded."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.fetch, self.fails = Lookup.fetch, True
        patch.setattr(Lookup, "fetch", lambda *args: self.once(*args))

    def once(
        self, lookup: Lookup, by: Sequence[str], keys: Sequence[LookupKey]
    ) -> Iterator[RowValues]:
        """Fetch, and fail the first time."""
        rows = list(self.fetch(lookup, by, keys))
        if self.fails:
            self.fails = False
            raise TransientError("E0505", "a test's fault", hint="again")
        return iter(rows)


def test_what_is_kept_elsewhere(site: Site, names: Names) -> None:
    _define(site, names, ONLY_ADDED, UPDATED)
    put(site.landing, "0", [(0, "a", 0, 1), (1, "b", 1, 3), (2, "c", 2, None)])
    with site.connect() as fm:
        fm.execute("INSERT INTO t VALUES (1, 1), (2, 2), (3, 7), (4, NULL)")
        fm.advance(now=NOW)
        assert _rows(fm, "SELECT * FROM a") == [(0, "a"), (1, None), (2, None)]
        names.execute("UPDATE dim SET name = 'A' WHERE k = 1", "INSERT INTO dim VALUES (7, 'g')")
        fm.execute("UPDATE t SET k = 7 WHERE pk = 2")
        assert _rows(fm, "SELECT * FROM a") == [(0, "a"), (1, None), (2, None)]
        assert _rows(fm, "SELECT * FROM m") == [("a", 1), ("g", 1)]
        assert _rows(fm, "SELECT * FROM f") == [(1, "a"), (2, "g")]
        query = "SELECT x, d.name FROM (VALUES (1), (9)) AS v(x) LEFT JOIN dim {} d ON x = d.k"
        found = _rows(fm, query.format("FOR SYSTEM_TIME AS OF PROCTIME()"))
        assert found == [(1, "A"), (9, None)]
        assert not fm.warehouse.log.suspensions()


def test_who_finishes_an_epoch_has_what_was_fetched(
    site: Site, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    _define(site, names, ONLY_ADDED)
    put(site.landing, "0", [(0, "a", 0, 1)])
    with site.connect() as fm:
        fm.advance(now=NOW)
        _Broken(monkeypatch, "first_table_committed")
        put(site.landing, "1", [(1, "a", 1, 1), (2, "a", 2, 2)])
        with pytest.raises(TransientError):
            fm.advance(now=NOW)
        names.execute("UPDATE dim SET name = name || '!'")
        fm.advance(now=NOW)
        assert _rows(fm, "SELECT * FROM a") == [(0, "a"), (1, "a"), (2, "b")]
        names.path.unlink()
        outcomes = {r.object: (r.result.value, r.cause) for r in fm.replay()}
        assert outcomes["a"] == ("same", ""), outcomes


def test_a_table_here_is_pinned_by_the_epoch(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.define(
        "CREATE TABLE t (pk INT PRIMARY KEY, k INT);",
        "CREATE TABLE d (k INT, name VARCHAR);",
        "CREATE MATERIALIZED VIEW v AS SELECT t.pk, d.name FROM t "
        "JOIN d FOR SYSTEM_TIME AS OF PROCTIME() ON t.k = d.k;",
    )
    with site.connect() as fm:
        fm.execute("INSERT INTO d VALUES (1, 'a')")
        _Broken(monkeypatch, "files_written")
        with pytest.raises(TransientError):
            fm.execute("INSERT INTO t VALUES (1, 1)")
        fm.execute("INSERT INTO d VALUES (1, 'b')")
        assert _rows(fm, "SELECT * FROM v") == [(1, "a")]
        fm.execute("UPDATE t SET k = 1, pk = 2")
        assert _rows(fm, "SELECT * FROM v") == [(2, "a"), (2, "b")]


def test_who_finishes_an_epoch_has_what_was_stored(
    site: Site, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    _define(site, names, STORED)
    site.landing.mkdir()
    with site.connect() as fm:
        fm.execute("INSERT INTO t VALUES (1, 1)")
        # The table t comes first, then the view has stored what it found.
        _Broken(monkeypatch, "state_committed", passes=2)
        with pytest.raises(TransientError):
            fm.execute("UPDATE t SET k = 2")
        names.execute("UPDATE dim SET name = name || '!'")
        fm.advance(now=NOW)
        assert _rows(fm, "SELECT * FROM u") == [(1, "b")]


def test_what_cannot_be_asked_stops_what_asks(site: Site, names: Names) -> None:
    _define(site, names, STORED)
    site.landing.mkdir()
    with site.connect() as fm:
        with names.locked(), pytest.raises(TransientError) as caught:
            fm.execute("INSERT INTO t VALUES (1, 1)")
        assert caught.value.code == "E0520"
        epoch = fm.warehouse.log.head().sealed + 1
        assert f"the INSERT is logged, as epoch {epoch}" in caught.value.message
        assert "do not execute the INSERT again" in str(caught.value.hint)
        with names.locked(), pytest.raises(TransientError, match="nothing of the DROP TABLE is"):
            fm.execute("DROP TABLE many")
        fm.advance(now=NOW)
        assert _rows(fm, "SELECT * FROM u") == [(1, "a")]
        names.execute("ALTER TABLE dim RENAME TO other")
        told = fm.execute("INSERT INTO t VALUES (2, 2)").notices
        assert [notice.partition(":")[0] for notice in told] == ["u is suspended since epoch 3"]
        assert fm.warehouse.log.suspensions()["u"].code == "E0490"
        with pytest.raises(UserError) as refused:
            fm.execute("INSERT INTO dim VALUES (3, 'c')")
        assert refused.value.code == "E0399"


def test_a_static_table_changes_until_it_is_looked_up(site: Site) -> None:
    site.define(
        "CREATE TABLE t (pk INT PRIMARY KEY, k INT);",
        "CREATE TABLE d (k INT, name VARCHAR) WITH (static = 'true');",
        "CREATE MATERIALIZED VIEW v AS SELECT t.pk, d.name FROM t "
        "JOIN d FOR SYSTEM_TIME AS OF PROCTIME() ON t.k = d.k;",
    )
    with site.connect() as fm:
        fm.execute("INSERT INTO d VALUES (1, 'a'), (2, 'b')")
        fm.execute("UPDATE d SET name = 'c' WHERE k = 1")
        fm.execute("INSERT INTO t VALUES (1, 1)")
        for statement in (
            "UPDATE d SET name = 'x'",
            "DELETE FROM d",
            "INSERT INTO d VALUES (1, 'z')",
        ):
            with pytest.raises(UserError) as refused:
                fm.execute(statement)
            assert refused.value.code == "E0237"
        fm.execute("DELETE FROM t")
        fm.execute("INSERT INTO d VALUES (1, 'z')")
        assert _rows(fm, "SELECT * FROM v") == []


def test_what_is_looked_up_first_and_rows_that_are_gone_look_nothing_up(
    site: Site,
) -> None:
    layered = Limits(layer_bytes=0, layer_factor=0, layer_share=0)
    site.define(
        "CREATE TABLE e (pk INT PRIMARY KEY, k INT);",
        "CREATE TABLE s1 (k INT, name VARCHAR) WITH (static = 'true');",
        "CREATE TABLE s2 (k INT, name VARCHAR) WITH (static = 'true');",
        "CREATE MATERIALIZED VIEW v AS SELECT e.pk, s1.name AS a, s2.name AS b FROM e "
        "JOIN s1 FOR SYSTEM_TIME AS OF PROCTIME() ON e.k = s1.k "
        "JOIN s2 FOR SYSTEM_TIME AS OF PROCTIME() ON e.k = s2.k;",
    )
    with site.connect(limits=layered) as fm:
        fm.execute("INSERT INTO s1 VALUES (1, 'a')")
        fm.execute("INSERT INTO s2 VALUES (1, 'b')")
        fm.execute("INSERT INTO e VALUES (1, 1)")
        with pytest.raises(UserError, match="looked rows of e, s1 up"):
            fm.execute("INSERT INTO s2 VALUES (1, 'z')")
        fm.execute("DELETE FROM e")
        assert "_layers/public/e" in [t.table for t in fm.sizes("e")]
        fm.execute("INSERT INTO s2 VALUES (1, 'z')")
        assert _rows(fm, "SELECT * FROM v") == []


def _outside(site: Site, path: str) -> None:
    write_deltalake(path, pa.table({"k": pa.array([1], pa.int32()), "name": ["a"]}))
    site.define(
        "CREATE TABLE t (pk INT PRIMARY KEY, k INT);",
        "CREATE TABLE d (k INT PRIMARY KEY, name VARCHAR) "
        f"WITH (connector = 'lookup', store = 'delta', path = '{path}');",
        "CREATE MATERIALIZED VIEW v AS SELECT t.pk, d.name FROM t "
        "JOIN d FOR SYSTEM_TIME AS OF PROCTIME() ON t.k = d.k;",
    )


@pytest.mark.parametrize("name", ["first_table_committed", "nothing_recorded"])
def test_who_finishes_an_epoch_asks_a_delta_table_as_it_was(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = str(tmp_path / "outside")
    _outside(site, path)
    with site.connect() as fm:
        if name == "nothing_recorded":
            _Failing(monkeypatch)
        else:
            _Broken(monkeypatch, name, passes=2)
        with pytest.raises(TransientError):
            fm.execute("INSERT INTO t VALUES (1, 1)")
        changed = pa.table({"k": pa.array([1], pa.int32()), "name": ["z"]})
        write_deltalake(path, changed, mode="overwrite")
        fm.advance(now=NOW)
        assert _rows(fm, "SELECT * FROM v") == [(1, "a")]
        epoch = fm.warehouse.log.head().sealed
        assert fm.warehouse.log.seal_record(epoch).objects["v"].asked == {"d": 0}
        assert [r.result.name for r in fm.replay(epoch, objects=["v"])] == ["SAME"]


def test_a_delta_table_from_outside(site: Site, tmp_path: Path) -> None:
    path = str(tmp_path / "outside")
    _outside(site, path)
    with site.connect() as fm:
        write_deltalake(
            path, pa.table({"k": pa.array([2], pa.int32()), "name": ["b"]}), mode="append"
        )
        fm.execute("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
        assert _rows(fm, "SELECT * FROM v") == [(1, "a"), (2, "b")]
        epoch = fm.warehouse.log.head().sealed
        write_deltalake(
            path, pa.table({"k": pa.array([1], pa.int32()), "name": ["z"]}), mode="overwrite"
        )
        assert fm.warehouse.log.seal_record(epoch).objects["v"].asked == {"d": 1}
        assert [r.result.name for r in fm.replay(epoch, objects=["v"])] == ["SAME"]
        fm.execute("UPDATE t SET k = 1")
        assert _rows(fm, "SELECT * FROM v") == [(1, "a"), (2, "z"), (3, "z")]
        assert fm.warehouse.log.seal_record(epoch + 1).objects["v"].asked == {"d": 2}
