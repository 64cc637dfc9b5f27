"""Statements of several columns or objects, of what is not there, and of indexes; no Spark."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from floodmark.errors import FloodmarkError
from floodmark.session.ddl.deployment import DeploymentPlan, plan_files, plan_statement
from floodmark.session.ddl.desired import read_files
from floodmark.sql.parse import parse_script
from floodmark.storage.logs.catalog import CatalogLog
from floodmark.warehouse.deployed import EMPTY, Deployed, load, statements_of

SQL = """
CREATE TABLE src (k INT PRIMARY KEY, v INT, n VARCHAR);
CREATE MATERIALIZED VIEW m AS SELECT k, v FROM src;
CREATE TABLE t (k INT PRIMARY KEY, v INT);
CREATE SINK a INTO t AS SELECT k, v FROM m;
CREATE SINK b INTO t AS SELECT k + 10, v FROM m;
CREATE SINK outside AS SELECT k FROM src
    WITH (connector = 'files', path = '/nowhere', format = 'json', force_append_only = 'true');
CREATE INDEX by_n ON src (lower(n)) INCLUDE (v);
CREATE VIEW seen AS SELECT k, v FROM m;
CREATE INDEX by_v ON seen (v DESC);
"""


@pytest.fixture
def deployed(tmp_path: Path) -> Deployed:
    """Return what the statements define, as a warehouse loads it."""
    found = EMPTY
    for number, statement in enumerate(parse_script(SQL), 1):
        found = _after(tmp_path, plan_statement(statement, found), found, number)
    return found


def _after(root: Path, plan: DeploymentPlan | None, known: Deployed, number: int) -> Deployed:
    assert plan is not None
    log = CatalogLog(root / "warehouse")
    log.append(number, statements_of(plan.catalog), datetime(2024, 1, 1, tzinfo=UTC))
    version = log.latest()
    assert version is not None
    return load(version, known)


def _plan(text: str, deployed: Deployed) -> DeploymentPlan | None:
    (statement,) = parse_script(text)
    return plan_statement(statement, deployed)


def _refused(text: str, deployed: Deployed) -> tuple[str, str]:
    with pytest.raises(FloodmarkError) as refused:
        _plan(text, deployed)
    assert refused.value.span is not None and refused.value.hint
    assert "sink:" not in str(refused.value)
    return str(refused.value.code), refused.value.span.text


def test_columns_come_and_go_in_one_change(deployed: Deployed) -> None:
    plan = _plan("ALTER TABLE src ADD a INT DEFAULT 1, ADD b INT, DROP COLUMN n", deployed)
    assert plan is not None
    assert [f.name for f in plan.pipeline["src"].relation.visible] == ["k", "v", "a", "b"]
    change = plan.changes[0]
    assert (change.key, change.action) == ("src", "alter")
    assert change.reason == "column a is added, column b is added, column n goes: its rows stay"
    assert _plan("ALTER TABLE src ADD IF NOT EXISTS k INT, DROP IF EXISTS q", deployed) is None


REFUSED = [
    ("ALTER TABLE src ADD a INT, ADD a INT", "E0830", "a INT"),
    ("ALTER TABLE src DROP COLUMN n, ADD n VARCHAR", "E0844", "ADD n VARCHAR"),
    ("ALTER TABLE src DROP COLUMN n, DROP COLUMN v", "E0837", "DROP COLUMN v"),
    ("DROP TABLE t, src", "E0205", "t"),
    ("DROP SINK a, c", "E0201", "c"),
    ("DROP SINK a, t", "E0201", "t"),
    ("DROP TABLE t, m", "E0203", "m"),
    ("DROP SINK outside WITH ROWS", "E0342", "DROP SINK outside WITH ROWS"),
    ("CREATE INDEX i ON src (k, nn)", "E0852", "nn"),
    ("CREATE INDEX i ON src (k) INCLUDE (nn)", "E0852", "i"),
    ("ALTER TABLE m ADD COLUMN a INT", "E0203", "m"),
    ("CREATE MATERIALIZED VIEW w AS SELECT 1 FROM a", "E0201", "a"),
]


@pytest.mark.parametrize(("text", "code", "place"), REFUSED)
def test_what_is_refused(deployed: Deployed, text: str, code: str, place: str) -> None:
    assert _refused(text, deployed) == (code, place)


def test_several_objects_go_at_once(deployed: Deployed) -> None:
    plan = _plan("DROP SINK a, b WITH ROWS", deployed)
    assert plan is not None
    assert plan.catalog.objects["t"].past == (("withdrawn", "sink:a"), ("withdrawn", "sink:b"))
    plan = _plan("DROP TABLE IF EXISTS src, nope, t CASCADE", deployed)
    assert plan is not None and not plan.catalog.objects
    assert _plan("DROP TABLE IF EXISTS no, nope", deployed) is None


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE IF EXISTS nope ADD COLUMN a INT",
        "ALTER SINK IF EXISTS t AS SELECT 1 AS k",
        "ALTER MATERIALIZED VIEW IF EXISTS nope TO TABLE",
        "ALTER TABLE IF EXISTS nope RENAME TO t",
    ],
)
def test_what_is_not_there_is_not_altered(deployed: Deployed, text: str) -> None:
    assert _plan(text, deployed) is None


def test_an_index_goes_with_its_columns(deployed: Deployed, tmp_path: Path) -> None:
    plan = _plan("ALTER TABLE src DROP COLUMN n", deployed)
    assert plan is not None and "by_n" not in plan.catalog.objects
    assert "by_v" in plan.catalog.objects
    after = _after(tmp_path, plan, deployed, 20)
    assert after.pipeline.catalog.objects.keys() == plan.catalog.objects.keys()
    plan = _plan("ALTER VIEW seen AS SELECT k, v AS w FROM m", after)
    assert plan is not None and "by_v" not in plan.catalog.objects


def test_an_index_of_a_file_is_on_columns_that_are_there(tmp_path: Path) -> None:
    path, table = tmp_path / "a.sql", "CREATE TABLE src (k INT PRIMARY KEY{});"
    index = "CREATE INDEX by_n ON src (n);"
    path.write_text(table.format(", n INT") + index)
    deployed = _after(tmp_path, plan_files(read_files(tmp_path), EMPTY), EMPTY, 1)
    path.write_text(table.format("") + index)
    with pytest.raises(FloodmarkError) as refused:
        plan_files(read_files(tmp_path), deployed)
    assert refused.value.code == "E0852"
    path.write_text(table.format(""))
    assert plan_files(read_files(tmp_path), deployed).catalog.objects.keys() == {"src"}
