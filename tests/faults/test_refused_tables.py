"""Refused definitions at rest of what needs no Spark: tables, sources, plain views."""

from __future__ import annotations

from pathlib import Path

import pytest

from floodmark.api import connect
from floodmark.errors import UserError
from floodmark.session.ddl.file_objects import drift
from tests.refused_at_rest import rewrite_at_rest
from tests.warehouses import dying_at

FILES = """
CREATE TABLE ft (k INT PRIMARY KEY, v INT);
CREATE VIEW fv AS SELECT k FROM ft;
CREATE SOURCE s (k INT) WITH (connector = 'files', path = 'in') FORMAT PLAIN ENCODE PARQUET;
CREATE TABLE wt (k INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '1 hour') APPEND ONLY;
"""


@pytest.fixture(name="project")
def make_project(tmp_path: Path) -> Path:
    """Apply the files in a folder of their own."""
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "in").mkdir()
    (tmp_path / "pipelines" / "all.sql").write_text(FILES)
    with connect(tmp_path / "warehouse") as fm:
        fm.apply(tmp_path / "pipelines")
    return tmp_path


@pytest.mark.parametrize("unread", [False, True])
@pytest.mark.parametrize("point", ["", "change_logged", "offsets_logged", "before_seal"])
def test_files_mend_tables_and_sources(project: Path, unread: bool, point: str) -> None:
    root, files = project / "warehouse", project / "pipelines"
    rewrite_at_rest(root, "ft", "v INT)", "v NO_TYPE" if unread else "v NO_TYPE)")
    rewrite_at_rest(root, "s", "(k INT)", "(k NO_TYPE)")
    with connect(root) as fm:
        assert {k: e.code for k, e in fm.warehouse.suspensions().items()} == {
            "ft": "E0113", "s": "E0113"
        }  # fmt: skip
        actions = {c.key: c.action for c in fm.plan(files).changes}
        assert actions == {"ft": "alter", "s": "alter", "fv": "rebuild"}
        if point:
            with dying_at(point):
                fm.apply(files)
        else:
            fm.apply(files)
    with connect(root) as fm:
        fm.loop.complete()
        assert not fm.warehouse.suspensions()
        assert not fm.plan(files).changes
        assert list(fm.verify()) == []


def test_an_altered_watermark_lifts_it(project: Path) -> None:
    root = project / "warehouse"
    rewrite_at_rest(root, "wt", "ts - INTERVAL '1 hour'", "no_function(ts)")
    with connect(root) as fm:
        with pytest.raises(UserError) as raised:
            fm.execute("ALTER TABLE wt RESUME")
        assert raised.value.code == fm.warehouse.suspensions()["wt"].code == "E0269"
        fm.execute("CREATE TABLE other (k INT)")
        fm.execute("ALTER TABLE wt ALTER WATERMARK FOR ts AS ts - INTERVAL '2 hours'")
        assert not fm.warehouse.suspensions()
        assert len({record.position for record in fm.status().values()}) == 1


@pytest.mark.parametrize(
    "sql",
    [
        "EXPLAIN ft",
        "EXPLAIN fv",
        "CREATE VIEW w AS SELECT k FROM ft",
        "ALTER TABLE ft RENAME TO other",
        "ALTER TABLE ft RESUME",
        "INSERT INTO ft VALUES (1, 2)",
        "CREATE TABLE fresh (k INT, v NO_TYPE)",
    ],
)
def test_statements_tell_the_refusal_and_log_nothing(project: Path, sql: str) -> None:
    root = project / "warehouse"
    rewrite_at_rest(root, "ft", "v INT)", "v NO_TYPE")
    with connect(root) as fm:
        with pytest.raises(UserError) as raised:
            fm.execute(sql)
        assert raised.value.code == "E0113"
        assert fm.warehouse.catalogs.last() == fm.deployed.version == 1
        assert [row[0] for row in fm.execute("DESCRIBE ft").rows] == ["k", "v"]


@pytest.mark.parametrize(
    "point", ["change_logged", "offsets_logged", "table_emptied", "before_seal"]
)
@pytest.mark.parametrize("unread", [False, True])
def test_a_rebuilt_table_is_rebuilt_again_after_a_crash(
    project: Path, unread: bool, point: str
) -> None:
    """Tables of the first attempt fit the new definition; the log says that they began anew."""
    root, files = project / "warehouse", project / "pipelines"
    (files / "all.sql").write_text(FILES.replace("v INT", "v VARCHAR"))
    rewrite_at_rest(root, "ft", "v INT)", "v NO_TYPE" if unread else "v NO_TYPE)")
    with connect(root) as fm:
        fm.execute("CREATE TABLE other (k INT)")
        assert {c.key: c.action for c in fm.plan(files).changes}["ft"] == "rebuild"
        with dying_at(point):
            fm.apply(files)
    with connect(root) as fm:
        fm.loop.complete()
        sealed = fm.warehouse.log.head().sealed
        change = fm.warehouse.change_at(sealed, fm.deployed.version)
        assert {*fm.warehouse.log.open_record(sealed).restarted} == change.new_keys >= {"ft"}
        assert not fm.warehouse.suspensions()
        assert list(fm.verify()) == []


def test_what_reads_a_late_table_is_not_replaced(tmp_path: Path) -> None:
    root = tmp_path / "warehouse"
    with connect(root) as fm:
        for sql in (
            "CREATE TABLE t (k INT PRIMARY KEY)",
            "CREATE TABLE i (k INT PRIMARY KEY)",
            "CREATE SINK ss INTO i AS SELECT k FROM t",
            "CREATE MATERIALIZED VIEW v AS SELECT k, count(*) AS n FROM i GROUP BY k",
        ):
            fm.execute(sql)
    rewrite_at_rest(root, "sink:ss", "SELECT k", "SELECT gone")
    alter = "ALTER MATERIALIZED VIEW v AS SELECT k, count(*) + 1 AS n FROM i GROUP BY k"
    with connect(root) as fm:
        fm.execute("CREATE TABLE other (k INT)")
        assert set(fm.warehouse.suspensions()) == {"i"}
        with pytest.raises(UserError, match="i is suspended") as raised:
            fm.execute(alter)
        assert raised.value.code == "E0838"
        fm.execute("DROP SINK ss")
        fm.advance()
        assert not fm.warehouse.suspensions()
        fm.execute(alter)
        assert len({record.position for record in fm.status().values()}) == 1


def test_rows_that_a_refused_table_has_discarded_are_not_read_again(tmp_path: Path) -> None:
    root = tmp_path / "warehouse"
    with connect(root) as fm:
        fm.execute(
            "CREATE TABLE t (k INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '1 hour') "
            "APPEND ONLY WITH (ttl = '1 day')"
        )
        fm.execute("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")
    rewrite_at_rest(root, "t", "ts - INTERVAL '1 hour'", "no_function(ts)")
    with connect(root) as fm:
        with pytest.raises(UserError) as raised:
            fm.execute("ALTER TABLE t ALTER WATERMARK FOR ts AS ts - INTERVAL '2 hours'")
        assert raised.value.code == "E0854"
        fm.execute("DROP MATERIALIZED VIEW v")
        fm.execute("ALTER TABLE t ALTER WATERMARK FOR ts AS ts - INTERVAL '2 hours'")
        assert not fm.warehouse.suspensions()


@pytest.mark.parametrize("text", ["SELECT no_function(v) AS k FROM t", "SELECT v FROM t WHERE"])
def test_a_column_stays_that_a_refused_view_may_use(tmp_path: Path, text: str) -> None:
    root = tmp_path / "warehouse"
    with connect(root) as fm:
        fm.execute("CREATE TABLE t (k INT PRIMARY KEY, v INT)")
        fm.execute("CREATE VIEW pv AS SELECT v FROM t")
    rewrite_at_rest(root, "pv", "SELECT v FROM t", text)
    with connect(root) as fm:
        with pytest.raises(UserError) as raised:
            fm.execute("ALTER TABLE t DROP COLUMN v")
        assert raised.value.code == "E0837"
        fm.execute("ALTER TABLE t DROP COLUMN v CASCADE")
        assert set(fm.deployed.catalog.objects) == {"t"}


def test_a_file_that_is_not_read_any_more_says_something_else(project: Path) -> None:
    root, files = project / "warehouse", project / "pipelines"
    with connect(root) as fm:
        fm.execute("ALTER TABLE ft ADD COLUMN w INT")
    rewrite_at_rest(root, "ft", "v INT)", "v INT NO", "filed")
    with connect(root) as fm:
        assert not fm.warehouse.suspensions()
        assert [d.key for d in drift(fm.deployed.catalog)] == ["ft"]
        assert {c.key: c.action for c in fm.plan(files).changes}["ft"] == "alter"


def test_a_mend_has_to_hold_for_what_waits(project: Path) -> None:
    root, files = project / "warehouse", project / "pipelines"
    rewrite_at_rest(root, "ft", "v INT)", "v NO_TYPE)")
    (files / "all.sql").write_text(FILES.replace("(k INT PRIMARY KEY,", "(j INT PRIMARY KEY,"))
    with connect(root) as fm:
        with pytest.raises(UserError, match='"k"') as raised:
            fm.plan(files)
        assert raised.value.code == "E0206"
        assert set(fm.warehouse.suspensions()) == {"ft"}


@pytest.mark.parametrize("first", [True, False])
def test_resume_lifts_what_is_logged_beside_a_refusal(project: Path, first: bool) -> None:
    root = project / "warehouse"
    with connect(root) as fm:
        now = fm.warehouse.clock.now()
        fm.warehouse.log.record("suspend", now, "it fails", object="wt", code="E0601")
    rewrite_at_rest(root, "wt", "ts - INTERVAL '1 hour'", "no_function(ts)")
    alter = "ALTER TABLE wt ALTER WATERMARK FOR ts AS ts - INTERVAL '2 hours'"
    with connect(root) as fm:
        fm.execute("CREATE TABLE other (k INT)")
        if first:
            with pytest.raises(UserError, match="E0269"):
                fm.execute("ALTER TABLE wt RESUME")
            assert not fm.warehouse.log.suspensions()
        fm.execute(alter)
        if not first:
            fm.execute("ALTER TABLE wt RESUME")
        assert not fm.warehouse.suspensions()
        assert len({record.position for record in fm.status().values()}) == 1
