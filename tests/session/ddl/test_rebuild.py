"""An object that is dropped and created again, or whose file changed, begins anew."""

from __future__ import annotations

import pytest

from floodmark.api import connect
from floodmark.errors import UserError
from tests.warehouses import GROUPED, NOW, READINGS, SUNK, Site, put, readings, visible

pytestmark = pytest.mark.spark


def test_a_source_created_again_takes_everything_in_again(site: Site) -> None:
    site.define(READINGS, GROUPED, SUNK)
    put(site.landing, "0", readings(0, 15))
    with site.connect() as fm:
        fm.advance(now=NOW)
        before = {name: visible(site.root / "warehouse", name) for name in ("s", "st", "t")}
        source, view, sink = (fm.find(n).object.sql for n in ("s", "st", "sink:kk"))
        fm.execute("DROP SOURCE s CASCADE")
        for statement in (source, view, sink):
            fm.execute(statement)
        assert fm.execute("SELECT * FROM st").rows == ()
        fm.advance(now=NOW)
    for name, rows in before.items():
        assert visible(site.root / "warehouse", name) == rows, name


def test_a_changed_file_needs_an_apply_and_rebuilds_what_depends_on_it(site: Site) -> None:
    site.define(READINGS, GROUPED)
    put(site.landing, "0", readings(0, 15))
    with site.connect() as fm:
        fm.advance(now=NOW)
    site.define(READINGS, GROUPED.replace("count(*)", "count(v)::int"))
    with pytest.raises(UserError, match="E0361"):
        site.connect()
    with connect(site.root / "warehouse", sessions=lambda: site.sessions) as fm:
        plan = fm.apply(site.pipelines)
        assert [(c.action, c.key) for c in plan.changes] == [("rebuild", "st")]
        rows = fm.execute("SELECT k, n FROM st ORDER BY k").rows
        expected = fm.execute("SELECT k, count(v) AS n FROM s GROUP BY k ORDER BY k").rows
        assert rows == expected


def test_a_source_is_not_rebuilt_over_files_that_are_gone(site: Site) -> None:
    site.define(READINGS, GROUPED)
    put(site.landing, "0", readings(0, 15))
    put(site.landing, "1", readings(20, 5))
    with site.connect() as fm:
        fm.advance(now=NOW)
    stored = visible(site.root / "warehouse", "s")
    (site.landing / "0.parquet").unlink()
    site.define(READINGS.replace("v INT,", "v INT, w INT AS (v + 1),"), GROUPED)
    with connect(site.root / "warehouse", sessions=lambda: site.sessions) as fm:
        with pytest.raises(UserError, match=r"0\.parquet is gone") as raised:
            fm.apply(site.pipelines)
        assert raised.value.code == "E0379"
        assert visible(site.root / "warehouse", "s") == stored
        fm.apply(site.pipelines, discard_rows=True)
        fm.advance(now=NOW)
    assert len(visible(site.root / "warehouse", "s")) == 5


def test_a_source_is_not_rebuilt_over_rows_of_another_connector(site: Site) -> None:
    made = """
    CREATE SOURCE s (id BIGINT) WITH (connector = 'datagen', datagen.rows = '5');
    """
    site.define(made)
    with site.connect() as fm:
        fm.advance(now=NOW)
    site.landing.mkdir()
    site.define(READINGS)
    with connect(site.root / "warehouse", sessions=lambda: site.sessions) as fm:
        with pytest.raises(UserError, match="its rows came from datagen") as raised:
            fm.apply(site.pipelines)
        assert raised.value.code == "E0379"


MOVED = """
CREATE TABLE o (id INT PRIMARY KEY, v INT);
CREATE TABLE t (id INT PRIMARY KEY, v INT);
CREATE SINK s INTO t AS SELECT id, v FROM o;
"""


@pytest.mark.parametrize("other", ["CREATE TABLE u (id INT PRIMARY KEY, v INT);", ""])
def test_a_sink_into_another_table_fills_it(site: Site, other: str) -> None:
    site.define(other + MOVED)
    with site.connect() as fm:
        fm.execute("INSERT INTO o VALUES (1, 1), (2, 2)")
    moved = MOVED.replace("INTO t", "INTO u")
    site.define(other + moved if other else moved.replace("TABLE t", "TABLE u"))
    with connect(site.root / "warehouse", sessions=lambda: site.sessions) as fm:
        plan = fm.apply(site.pipelines)
        assert ("rebuild", "sink:s") in [(c.action, c.key) for c in plan.changes]
        assert fm.execute("SELECT * FROM u ORDER BY id").rows == ((1, 1), (2, 2))
        fm.execute("UPDATE o SET v = 3 WHERE id = 1")
        assert fm.execute("SELECT * FROM u ORDER BY id").rows == ((1, 3), (2, 2))
        if other:
            assert fm.execute("SELECT * FROM t ORDER BY id").rows == ((1, 1), (2, 2))
        assert fm.apply(site.pipelines).changes == ()


def test_a_table_with_rows_of_statements_does_not_go_unasked(site: Site) -> None:
    site.define("CREATE TABLE o (id INT PRIMARY KEY);\nCREATE TABLE p (id INT PRIMARY KEY);")
    with site.connect() as fm:
        fm.execute("INSERT INTO o VALUES (1), (2)")
    site.define("CREATE TABLE q (id INT PRIMARY KEY);")
    with connect(site.root / "warehouse", sessions=lambda: site.sessions) as fm:
        with pytest.raises(
            UserError, match=r"o goes, .* statements have written: 2 rows"
        ) as raised:
            fm.apply(site.pipelines)
        assert raised.value.code == "E0379"
        assert fm.execute("SELECT id FROM o ORDER BY id").rows == ((1,), (2,))
        fm.apply(site.pipelines, discard_rows=True)
        assert [o.name for o in fm.deployed.pipeline.writing_objects] == ["q"]
