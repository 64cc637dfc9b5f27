"""ALTER SINK … AS where the key of the query is not the table's: as a new sink would write."""

from __future__ import annotations

from pathlib import Path

import pytest

from floodmark.errors import FloodmarkError
from tests.warehouses import Site

pytestmark = pytest.mark.spark
QUERIES = {
    "SELECT id AS k, v FROM a": {(1, 10), (2, 20), (3, 30)},
    "SELECT k, v FROM a WHERE id = 2": {(1, 20)},
    "SELECT k, v FROM a WHERE id = 1": {(1, 10)},
    "SELECT k, v FROM a WHERE id <> 3": {(1, 20)},
    "SELECT k, -v FROM a": {(1, -20), (2, -30)},
    "SELECT k, v % 10 FROM a": {(1, 0), (2, 0)},
    "SELECT 5, v FROM a": {(5, 30)},
}


@pytest.mark.parametrize(
    "clause", ["ON CONFLICT DO UPDATE IF NOT NULL", pytest.param("", marks=pytest.mark.long)]
)
def test_the_last_row_of_a_key_stands(site: Site, clause: str) -> None:
    site.define()
    with site.connect() as fm:
        fm.execute("CREATE TABLE a (id INT PRIMARY KEY, k INT, v INT)")
        fm.execute(f"CREATE TABLE t (k INT PRIMARY KEY, v INT) {clause}")
        fm.execute("CREATE MATERIALIZED VIEW m AS SELECT count(*) AS n, sum(v) AS s FROM t")
        fm.execute("CREATE SINK s INTO t AS SELECT k, v FROM a")
        fm.execute("INSERT INTO a VALUES (1, 1, 10), (2, 1, 20), (3, 2, 30)")
        for query, rows in QUERIES.items():
            fm.execute(f"ALTER SINK s AS {query}")
            assert set(fm.execute("SELECT * FROM t").rows) == rows, query
            total = (len(rows), sum(v for _, v in rows))
            assert fm.execute("SELECT n, s FROM m").rows == (total,), query
            fm.execute("ALTER SINK s AS SELECT k, v FROM a")
            assert set(fm.execute("SELECT * FROM t").rows) == {(1, 20), (2, 30)}, query


def test_a_sink_without_a_snapshot_goes_on(site: Site) -> None:
    site.define()
    with site.connect() as fm:
        fm.execute_script("""
            CREATE TABLE a (id INT PRIMARY KEY, p VARCHAR);
            CREATE TABLE t (p VARCHAR PRIMARY KEY, n BIGINT);
            INSERT INTO a VALUES (1, 'old');
            CREATE SINK s INTO t AS SELECT p, 5 FROM a WITH (snapshot = false);
            INSERT INTO a VALUES (7, 'z');
        """)
        with pytest.raises(FloodmarkError, match="E0843"):
            fm.execute("ALTER SINK s AS SELECT p, 6 FROM a WITH (backfill = 'diff')")
        with pytest.raises(FloodmarkError, match="E0843"):
            fm.execute(
                "ALTER SINK s AS SELECT p, 6 FROM a WITH (snapshot = true, backfill = 'diff')"
            )
        fm.execute("ALTER SINK s AS SELECT p, 6 FROM a")
        assert fm.execute("SELECT * FROM t").rows == (("z", 5),)
        fm.execute("INSERT INTO a VALUES (8, 'y')")
        assert set(fm.execute("SELECT * FROM t").rows) == {("z", 5), ("y", 6)}
        with pytest.raises(FloodmarkError, match="E0856"):
            fm.execute("ALTER SINK s AS SELECT p, 7 FROM a WITH (snapshot = true)")
        fm.execute("DROP SINK s")
        fm.execute("CREATE SINK s INTO t AS SELECT p, 8 FROM a")
        assert set(fm.execute("SELECT * FROM t").rows) == {("old", 8), ("z", 8), ("y", 8)}


def test_a_sink_goes_on_where_its_path_is_written_otherwise(site: Site, tmp_path: Path) -> None:
    site.define()
    out = tmp_path / "out"
    with site.connect() as fm:
        fm.execute("CREATE TABLE a (id INT PRIMARY KEY)")
        fm.execute(
            "CREATE SINK o FROM a WITH (connector = 'files', format = 'csv', type = 'retract', "
            f"path = '{out}')"
        )
        fm.execute("INSERT INTO a VALUES (1)")
        fm.execute(f"ALTER SINK o SET (path = 'file://{out}')")
        fm.execute("INSERT INTO a VALUES (2)")
    lines = [line for file in out.rglob("*.csv") for line in file.read_text().splitlines()[1:]]
    assert sorted(lines) == ["+I,1", "+I,2"]
