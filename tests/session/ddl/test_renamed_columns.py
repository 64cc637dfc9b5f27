"""RENAME COLUMN: what reads the column goes on as it is; other columns can go afterwards."""

from __future__ import annotations

import pytest

from tests.warehouses import Site

pytestmark = pytest.mark.spark
OBJECTS = """
CREATE TABLE l (id INT, g INT, v INT, w INT) APPEND ONLY;
CREATE MATERIALIZED VIEW plain AS SELECT id, v FROM l WHERE v > 0;
CREATE MATERIALIZED VIEW sums AS SELECT g, sum(v) AS s, count(DISTINCT v) AS n FROM l GROUP BY g;
CREATE MATERIALIZED VIEW pairs AS SELECT a.id, b.v FROM l AS a JOIN l AS b ON a.v = b.v;
CREATE MATERIALIZED VIEW firsts AS
    SELECT * FROM (SELECT g, v, row_number() OVER (PARTITION BY g ORDER BY v, id) AS r FROM l) AS x
    WHERE r = 1;
CREATE SINK f FROM l
    WITH (connector = 'files', path = '{out}/f', type = 'append-only') FORMAT PLAIN ENCODE JSON;
CREATE SINK p FROM plain
    WITH (connector = 'files', path = '{out}/p', type = 'append-only') FORMAT PLAIN ENCODE JSON;
CREATE SINK s AS SELECT g, sum(v) AS s FROM l GROUP BY g
    WITH (connector = 'files', path = '{out}/s', type = 'retract') FORMAT PLAIN ENCODE JSON;
INSERT INTO l VALUES (1, 1, 1, 1), (2, 1, 2, 2), (3, 2, 2, 3);
"""
VIEWS = {
    "plain": "SELECT id, {} FROM l WHERE {} > 0",
    "sums": "SELECT g, sum({}), count(DISTINCT {}) FROM l GROUP BY g",
    "pairs": "SELECT a.id, b.{} FROM l AS a JOIN l AS b ON a.{} = b.{}",
    "firsts": "SELECT * FROM (SELECT g, {}, row_number() OVER (PARTITION BY g ORDER BY {}, id)"
    " AS r FROM l) AS x WHERE r = 1",
}


def test_readers_go_on_and_files_have_no_row_twice(site: Site) -> None:
    site.define()
    out = site.root / "out"
    with site.connect() as fm:
        for statement in filter(str.strip, OBJECTS.replace("{out}", str(out)).split(";")):
            fm.execute(statement)
        for old, new in (("v", "x"), ("x", "y"), ("y", "v")):
            files = {path.name for path in out.rglob("*.json")}
            fm.execute(f"ALTER TABLE l RENAME COLUMN {old} TO {new}")
            assert {path.name for path in out.rglob("*.json")} == files, new
            fm.execute("INSERT INTO l VALUES (4, 1, 1, 4), (5, 3, 5, 5)")
            for view, query in VIEWS.items():
                rows = fm.execute(f"SELECT * FROM {view}").rows
                wanted = fm.execute(query.replace("{}", new)).rows
                assert sorted(rows) == sorted(wanted), (view, new)
        fm.execute("ALTER TABLE l DROP COLUMN w")
        assert [c.name for c in fm.execute("SELECT * FROM l LIMIT 1").columns] == ["id", "g", "v"]
        fm.execute("INSERT INTO l VALUES (6, 1, 1)")
        lines = [line for path in (out / "f").glob("*.json") for line in path.open()]
        assert sum(line.startswith("{") for line in lines if '"id"' in line) >= 10
