"""RENAME TO in definitions: what reads the object follows, in statements and in pipeline files."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from floodmark.errors import FloodmarkError
from floodmark.session.ddl.deployment import (
    DeploymentPlan,
    defines_else,
    plan_files,
    plan_statement,
)
from floodmark.session.ddl.desired import read_files
from floodmark.session.ddl.file_objects import drift
from floodmark.sql.parse import parse_script
from floodmark.storage.logs.catalog import CatalogLog
from floodmark.warehouse.deployed import EMPTY, Deployed, load, statements_of

NOW = datetime(2024, 1, 1, tzinfo=UTC)
SQL = """
CREATE TABLE t (k INT PRIMARY KEY, n INT, m INT AS (t.n * 2))
ON CONFLICT DO UPDATE SET n = t.n + EXCLUDED.n WHERE t.n < 10;
CREATE SOURCE s (id INT, ts TIMESTAMP, WATERMARK FOR ts AS s.ts - INTERVAL '5 seconds')
WITH (connector = 'files', path = 'x') FORMAT PLAIN ENCODE JSON
TRANSFORM USING (SELECT s.id, ts FROM s WHERE s.id > 3);
CREATE MATERIALIZED VIEW v AS
WITH u AS (SELECT t.k FROM t), t2 AS (SELECT 1 AS a)
SELECT u.k, x.n FROM u JOIN t AS x ON x.k = u.k JOIN t ON t.k = x.k;
CREATE MATERIALIZED VIEW w AS
SELECT window_start, max(s.id) AS m FROM TUMBLE(s, ts, INTERVAL '1 hour') GROUP BY window_start;
CREATE VIEW p AS SELECT k, n FROM t WHERE n IN (SELECT n FROM public.t);
CREATE TABLE g (a INT PRIMARY KEY, b INT);
CREATE SINK k INTO g (a, b) AS SELECT t.k, n FROM public.t;
CREATE SINK kk INTO g FROM p;
CREATE INDEX i ON t (n);
"""
RENAMES = """
ALTER TABLE t RENAME TO "Order items"; ALTER SINK k RENAME TO kx; ALTER SOURCE s RENAME TO u;
ALTER MATERIALIZED VIEW v RENAME TO t; ALTER TABLE "Order items" RENAME TO t2;
ALTER TABLE g RENAME TO h; ALTER INDEX i RENAME TO j; ALTER VIEW p RENAME TO g;
"""


class Warehouse:
    """The definitions of a warehouse, through its catalog log, and a folder of pipeline files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log = CatalogLog(root / "warehouse")
        self.deployed: Deployed = EMPTY

    def write(self, text: str) -> DeploymentPlan:
        (self.root / "a.sql").write_text(text)
        return self.planned()

    def planned(self) -> DeploymentPlan:
        return plan_files(read_files(self.root), self.deployed)

    def apply(self, plan: DeploymentPlan) -> None:
        known = self.deployed
        defined = statements_of(plan.catalog, plan.pins(known), plan.corrections(known))
        self.deployed = load(self.log.append(1, defined, NOW, plan.renamed), known)

    def execute(self, text: str) -> list[DeploymentPlan]:
        done = []
        for statement in parse_script(text):
            plan = plan_statement(statement, self.deployed)
            assert plan is not None
            self.apply(plan)
            done.append(plan)
        return done

    def keys(self) -> list[str]:
        return list(self.deployed.catalog.objects)

    def sql(self, key: str) -> str:
        return " ".join(self.deployed.catalog.objects[key].sql.split())


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    found = Warehouse(tmp_path)
    found.apply(found.write(SQL))
    return found


def test_definitions_follow_and_plans_stay(warehouse: Warehouse) -> None:
    before = warehouse.deployed
    for plan in warehouse.execute(RENAMES):
        assert [c.action for c in plan.changes] == ["rename"]
        again = load(warehouse.log.get(warehouse.deployed.version))
        assert again.catalog.objects == warehouse.deployed.catalog.objects
        # The files still have the old names: that is no change.
        assert warehouse.planned().changes == ()
        assert not defines_else(warehouse.planned(), warehouse.deployed)
    assert warehouse.keys() == ["t2", "u", "t", "w", "g", "h", "sink:kx", "sink:kk", "j"]
    assert "m int AS (t2.n * 2)" in warehouse.sql("t2")
    assert warehouse.sql("t2").endswith("SET n = t2.n + excluded.n WHERE t2.n < 10")
    assert "u.ts - INTERVAL" in warehouse.sql("u")
    assert warehouse.sql("u").endswith("(SELECT s.id, ts FROM u AS s WHERE s.id > 3)")
    # The query has a CTE of the new name.
    assert "JOIN public.t2 AS x ON x.k = u.k JOIN public.t2 AS t ON" in warehouse.sql("t")
    assert "TUMBLE(u, ts, INTERVAL '1 hour') AS s" in warehouse.sql("w")
    assert "INTO h (a, b) AS SELECT t.k, n FROM t2 AS t" in warehouse.sql("sink:kx")
    assert warehouse.sql("sink:kk") == "CREATE SINK kk INTO h FROM g"
    assert warehouse.sql("j") == "CREATE INDEX j ON t2 (n)"
    old, new = before.pipeline.objects.values(), warehouse.deployed.pipeline.objects.values()
    for was, found in zip(old, new, strict=True):
        assert found.object.storage_key == was.key
        assert found.object.storage_name == was.name
        for plans in [(was.plan, found.plan)] if was.plan is not None else []:
            names = [[s.name for n in p.nodes for s in p[n].state] for p in plans if p]
            assert names[0] == names[1]


def test_a_name_that_is_free_again_does_not_get_the_others_rows(warehouse: Warehouse) -> None:
    warehouse.execute("ALTER TABLE t RENAME TO r; CREATE TABLE t (a INT);")
    warehouse.execute(
        'ALTER TABLE t RENAME TO q; CREATE TABLE t (a INT); CREATE TABLE "t__2" (a INT)'
    )
    stored = {
        k: warehouse.deployed.catalog.objects[k].storage_name for k in ("r", "q", "t", "t__2")
    }
    assert stored == {"r": "t", "q": "t__2", "t": "t__3", "t__2": "t__2__2"}
    warehouse.execute("DROP TABLE t; ALTER TABLE r RENAME TO t;")
    assert warehouse.deployed.catalog.objects["t"].stored is None


def test_two_objects_change_names(warehouse: Warehouse) -> None:
    warehouse.write(
        "CREATE TABLE a (x INT); CREATE TABLE b (y INT);"
        "CREATE MATERIALIZED VIEW c AS SELECT a.x, b.y FROM a JOIN b ON a.x = b.y;"
    )
    warehouse.apply(warehouse.planned())
    warehouse.execute(
        "ALTER TABLE a RENAME TO z; ALTER TABLE b RENAME TO a; ALTER TABLE z RENAME TO b"
    )
    assert warehouse.sql("c").endswith("FROM b AS a JOIN a AS b ON a.x = b.y")
    assert warehouse.planned().changes == ()
    # The files are brought up to date.
    warehouse.write(
        "CREATE TABLE b (x INT); CREATE TABLE a (y INT);"
        "CREATE MATERIALIZED VIEW c AS SELECT b.x, a.y FROM b JOIN a ON b.x = a.y;"
    )
    plan = warehouse.planned()
    assert plan.changes == () and defines_else(plan, warehouse.deployed)
    warehouse.apply(plan)
    assert warehouse.deployed.catalog.objects["b"].stored == "a"
    assert not defines_else(warehouse.planned(), warehouse.deployed)


def test_a_file_that_changes_what_was_renamed(warehouse: Warehouse) -> None:
    warehouse.execute("ALTER TABLE t RENAME TO r; ALTER MATERIALIZED VIEW v RENAME TO vv")
    changed = SQL.replace("SELECT u.k, x.n FROM", "SELECT u.k, x.n + 1 AS n FROM")
    plan = warehouse.write(changed)
    assert [(c.action, c.key) for c in plan.changes] == [("replace", "vv")]
    warehouse.apply(plan)
    assert warehouse.planned().changes == ()
    assert warehouse.deployed.catalog.objects["vv"].stored == "v"
    # One that the files no longer have is dropped by the name that it has now.
    without = changed.replace("CREATE INDEX i ON t (n);", "").replace(
        "CREATE MATERIALIZED VIEW w AS", "CREATE MATERIALIZED VIEW w2 AS"
    )
    assert [(c.action, c.key) for c in warehouse.write(without).changes] == [
        ("drop", "w"),
        ("create", "w2"),
    ]


def test_a_table_of_a_query_follows(warehouse: Warehouse) -> None:
    text = "CREATE TABLE t (k INT PRIMARY KEY, n INT); CREATE TABLE c AS SELECT t.k, n FROM t;"
    warehouse.apply(warehouse.write(text))
    for rename in ("TABLE t RENAME TO r", "TABLE c RENAME TO d", "SINK c RENAME TO e"):
        warehouse.execute(f"ALTER {rename}")
        assert warehouse.planned().changes == (), rename
        assert not defines_else(warehouse.planned(), warehouse.deployed), rename
    assert warehouse.sql("sink:e").endswith("FROM r AS t")


def test_what_files_do_not_know_yet_is_told(warehouse: Warehouse) -> None:
    assert drift(warehouse.deployed.catalog) == []
    warehouse.execute("ALTER TABLE t RENAME TO r; ALTER SINK k RENAME TO l")
    told = [(d.key, d.what, d.line) for d in drift(warehouse.planned().catalog)]
    assert told == [
        ("r", "t has been renamed to r", 2),
        ("sink:l", "k has been renamed to l", 14),
    ]
    warehouse.execute("ALTER TABLE g ON CONFLICT DO NOTHING")
    assert [d.what for d in drift(warehouse.planned().catalog)][1] == "g has been altered"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("ALTER TABLE t RENAME TO v", "E0202"),
        ("ALTER TABLE t RENAME TO i", "E0202"),
        ("ALTER SINK k RENAME TO kk", "E0202"),
        ("ALTER TABLE nothing RENAME TO x", "E0201"),
        ("ALTER VIEW t RENAME TO x", "E0203"),
        ("ALTER TABLE t RENAME TO t__late", "E0128"),
        ("ALTER TABLE t RENAME TO __t", "E0128"),
        ("ALTER TABLE t RENAME TO other.t", "E0794"),
        ("ALTER FUNCTION f RENAME TO g", "E0790"),
        ("ALTER SOURCE a1 RENAME TO x", "E0791"),
        ("ALTER SOURCE a2 RENAME TO x", "E0791"),
        ("ALTER TABLE t RENAME TO a2", "E0202"),
    ],
)
def test_what_keeps_its_name(warehouse: Warehouse, text: str, code: str) -> None:
    warehouse.execute(
        "CREATE SOURCE a2 WITH (connector = 'files', path = '{table}') "
        "FORMAT PLAIN ENCODE JSON "
        "FOR TABLES (a1 (x INT) TRANSFORM USING (SELECT x FROM a1), b1 (y INT))"
    )
    with pytest.raises(FloodmarkError) as refused:
        for statement in parse_script(text):
            plan_statement(statement, warehouse.deployed)
    assert refused.value.code == code
    assert refused.value.span is not None and refused.value.hint


def test_the_name_that_it_has_is_nothing_to_do(warehouse: Warehouse) -> None:
    (statement,) = parse_script("ALTER TABLE t RENAME TO t")
    assert plan_statement(statement, warehouse.deployed) is None
