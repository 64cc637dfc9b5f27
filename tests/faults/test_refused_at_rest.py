"""A definition at rest that this version refuses suspends its object; the warehouse opens."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from floodmark.api import connect
from floodmark.cli.app import app
from floodmark.errors import UserError
from floodmark.spark.session import Sessions
from tests.refused_at_rest import rewrite_at_rest
from tests.warehouses import Site, dying_at, numbers

pytestmark = pytest.mark.spark
MADE = (
    "CREATE TABLE t (k INT PRIMARY KEY, v INT)",
    "CREATE TABLE other (k INT PRIMARY KEY)",
    "CREATE SOURCE s (k INT) WITH (connector = 'files', path = '{landing}') "
    "FORMAT PLAIN ENCODE PARQUET",
    "CREATE MATERIALIZED VIEW m AS SELECT k, count(*) AS n FROM t GROUP BY k",
    "CREATE MATERIALIZED VIEW mm AS SELECT sum(n) AS n FROM m",
    "CREATE VIEW pv AS SELECT k FROM t",
    "CREATE MATERIALIZED VIEW over_pv AS SELECT k FROM pv",
    "CREATE TABLE into_t (k INT PRIMARY KEY)",
    "CREATE SINK ss INTO into_t AS SELECT k FROM t",
    "CREATE SINK out FROM m WITH "
    "(connector = 'files', path = '{out}', format = 'parquet', type = 'retract')",
    "CREATE FUNCTION f(a INT) RETURNS INT LANGUAGE sql IMMUTABLE AS 'SELECT a + 1'",
    "CREATE MATERIALIZED VIEW fm AS SELECT f(k) AS k FROM t",
    "CREATE TABLE wt (k INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '1 hour') APPEND ONLY",
    "CREATE MATERIALIZED VIEW over_wt AS SELECT k FROM wt",
)


@pytest.fixture(name="made", scope="module")
def make_warehouse(tmp_path_factory: pytest.TempPathFactory, sessions: Sessions) -> Path:
    """Make one warehouse; each test has a copy."""
    home = tmp_path_factory.mktemp("refused")
    places = {name: home / name for name in ("landing", "out")}
    for place in places.values():
        place.mkdir()
    with connect(home / "warehouse", sessions=lambda: sessions) as fm:
        for sql in MADE:
            fm.execute(sql.format(**places))
        fm.execute("INSERT INTO t VALUES (1, 10), (2, 20)")
        fm.execute("INSERT INTO wt VALUES (1, TIMESTAMP '2024-01-01 00:00:00')")
    return home / "warehouse"


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "warehouse"))


_BELOW_T = {"m", "mm", "over_pv", "into_t", "fm", "sink:out"}
REFUSED = {
    "t": (("v INT)", "v NO_TYPE)"), "t", _BELOW_T),
    "unread t": (("v INT)", "v INT"), "t", _BELOW_T),
    "s": (("(k INT)", "(k NO_TYPE)"), "s", set()),
    "m": (("count(*)", "no_function(k)"), "m", {"mm", "sink:out"}),
    "unread m": (("GROUP BY k", "GROUP BY BY"), "m", {"mm", "sink:out"}),
    "pv": (("SELECT k", "SELECT gone"), "pv", {"over_pv"}),
    "sink:ss": (("SELECT k", "SELECT gone"), "into_t", set()),
    "unread sink:ss": (("SELECT k FROM t", "SELECT FROM WHERE"), "into_t", set()),
    "sink:out": (("'parquet'", "'no_format'"), "sink:out", set()),
    "function:f": (("LANGUAGE sql", "LANGUAGE cobol"), "fm", set()),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_suspends_its_object(root: Path, sessions: Sessions, case: str) -> None:
    (old, new), home, waiting = REFUSED[case]
    key = case.removeprefix("unread ")
    rewrite_at_rest(root, key, old, new)
    with connect(root, sessions=lambda: sessions) as fm:
        event = fm.warehouse.suspensions()[home]
        assert set(fm.warehouse.suspensions()) == {home}
        assert event.code is not None and event.code.startswith("E")
        fm.execute("CREATE TABLE fresh (k INT PRIMARY KEY)")
        fm.execute("DROP TABLE fresh")
        assert set(fm.warehouse.suspensions()) == {home}
        assert not list(fm.epochs())
        sealed = fm.warehouse.log.head().sealed
        positions = {k: r.position for k, r in fm.status().items()}
        assert positions["other"] == sealed
        late = {k for k, position in positions.items() if position < sealed}
        assert late - {home} == waiting
        assert list(fm.verify()) == []
    runner = CliRunner()
    for command, exit_code in (("status", 0), ("doctor", 2), ("report", 0), ("plan", 0)):
        arguments = [command, "-w", str(root)]
        page, pipelines = root.parent / "r.html", root.parent / "pipelines"
        pipelines.mkdir(exist_ok=True)
        arguments += ["--out", str(page)] if command == "report" else []
        arguments += ["-p", str(pipelines)] if command == "plan" else []
        told = runner.invoke(app, arguments)
        assert told.exit_code == exit_code, (command, told.output, told.exception)
        shown = page.read_text() if command == "report" else told.output
        assert (event.code if command == "status" else "refuses the definition of") in shown


def _drops() -> dict[str, str]:
    return {
        "t": "DROP TABLE t CASCADE", "unread t": "DROP TABLE t CASCADE", "s": "DROP SOURCE s",
        "m": "DROP MATERIALIZED VIEW m CASCADE", "unread m": "DROP MATERIALIZED VIEW m CASCADE",
        "pv": "DROP VIEW pv CASCADE", "sink:ss": "DROP SINK ss", "unread sink:ss": "DROP SINK ss",
        "sink:out": "DROP SINK out", "function:f": "DROP FUNCTION f CASCADE",
    }  # fmt: skip


POINTS = ("", "change_logged", "before_seal", "table_dropped")
KILLED = ("t", "m", "function:f")
"""What is dropped in the daily set with a kill at each point, too; the others in the nightly."""


@pytest.mark.parametrize(
    ("case", "point"),
    [
        pytest.param(case, point, marks=[] if not point or case in KILLED else pytest.mark.long)
        for case in REFUSED
        for point in POINTS
    ],
)
def test_drop_lifts_it(root: Path, sessions: Sessions, case: str, point: str) -> None:
    (old, new), _, _ = REFUSED[case]
    key = case.removeprefix("unread ")
    rewrite_at_rest(root, key, old, new)
    if point == "table_dropped" and key in ("pv", "sink:ss", "sink:out"):
        return
    with connect(root, sessions=lambda: sessions) as fm:
        if point:
            with dying_at(point):
                fm.execute(_drops()[case])
        else:
            fm.execute(_drops()[case])
    with connect(root, sessions=lambda: sessions) as fm:
        fm.loop.complete()
        assert not fm.warehouse.suspensions()
        assert key not in fm.deployed.catalog.objects
        fm.execute("CREATE TABLE fresh (k INT PRIMARY KEY)")
        sealed = fm.warehouse.log.head().sealed
        assert {r.position for r in fm.status().values()} == {sealed}
        assert list(fm.verify()) == []


def _refused(root: Path, case: str) -> None:
    rewrite_at_rest(root, case.removeprefix("unread "), *REFUSED[case][0])


def test_rows_are_read_as_they_are_and_nothing_is_written(root: Path, sessions: Sessions) -> None:
    _refused(root, "t")
    rewrite_at_rest(root, "pv", *REFUSED["pv"][0])
    with connect(root, sessions=lambda: sessions) as fm:
        assert fm.execute("SELECT k, v FROM t ORDER BY k").rows == ((1, 10), (2, 20))
        assert fm.execute("SELECT k, n FROM m ORDER BY k").rows == ((1, 1), (2, 1))
        assert fm.execute("SELECT sum(v) FROM t JOIN other ON true").rows == ((None,),)
        assert [r[0] for r in fm.execute("DESCRIBE t").rows] == ["k", "v"]
        assert "NO_TYPE" in str(fm.execute("SHOW CREATE TABLE t").rows)
        (state,) = fm.execute("SELECT state FROM floodmark.objects WHERE name = 't'").rows
        assert state == ("suspended",)
        for sql in (
            "INSERT INTO t VALUES (3, 30)",
            "ALTER TABLE t RESUME",
            "EXPLAIN t",
            "CREATE MATERIALIZED VIEW w AS SELECT k FROM t",
            "CREATE SINK w INTO t AS SELECT k, k AS v FROM other",
        ):
            with pytest.raises(UserError) as raised:
                fm.execute(sql)
            assert raised.value.code == fm.warehouse.suspensions()["t"].code, sql
        with pytest.raises(UserError) as raised:
            fm.execute("SELECT * FROM pv")
        assert raised.value.code == fm.warehouse.suspensions()["t"].code
        with pytest.raises(UserError) as raised:
            fm.execute("CREATE TABLE nn (k INT PRIMARY KEY, v NO_TYPE)")
        assert "nn" not in fm.deployed.catalog.objects
        with pytest.raises(UserError, match="waits for t"):
            fm.execute("ALTER MATERIALIZED VIEW m RESUME")


def test_an_altered_watermark_keeps_the_rows(root: Path, sessions: Sessions) -> None:
    rewrite_at_rest(root, "wt", "ts - INTERVAL '1 hour'", "no_function(ts)")
    with connect(root, sessions=lambda: sessions) as fm:
        assert set(fm.warehouse.suspensions()) == {"wt"}
        fm.execute("INSERT INTO t VALUES (3, 30)")
        fm.execute("ALTER TABLE wt ALTER WATERMARK FOR ts AS ts - INTERVAL '2 hours'")
        assert not fm.warehouse.suspensions()
        fm.execute("INSERT INTO wt VALUES (2, TIMESTAMP '2024-01-01 00:00:00')")
        assert numbers(fm, "wt", "k") == [1, 2]
        assert numbers(fm, "over_wt", "k") == [1, 2]
        assert list(fm.verify()) == []


FILES = """
CREATE TABLE ft (k INT PRIMARY KEY, v INT);
CREATE MATERIALIZED VIEW fv AS SELECT k, v FROM ft;
"""


@pytest.mark.parametrize("key", ["ft", "fv"])
@pytest.mark.parametrize(
    ("unread", "point"),
    [
        *((False, point) for point in ("", "change_logged", "before_seal")),
        (True, ""),
        pytest.param(True, "change_logged", marks=pytest.mark.long),
        pytest.param(True, "before_seal", marks=pytest.mark.long),
    ],
)
def test_a_changed_file_lifts_it(site: Site, key: str, unread: bool, point: str) -> None:
    site.define(FILES)
    with site.connect() as fm:
        fm.execute("INSERT INTO ft VALUES (1, 10)")
    root = site.root / "warehouse"
    old, new = ("v INT)", "v NO_TYPE)") if key == "ft" else ("SELECT k,", "SELECT no_function(k),")
    refused = (old, new.replace("(k)", "(").replace("E)", "E")) if unread else (old, new)
    rewrite_at_rest(root, key, *refused)
    with connect(root, sessions=lambda: site.sessions) as fm:
        plan = fm.plan(site.pipelines)
        assert next((c.key, c.action) for c in plan.changes) == (
            key, "alter" if key == "ft" else "rebuild"
        )  # fmt: skip
        if point:
            with dying_at(point):
                fm.apply(site.pipelines)
        else:
            fm.apply(site.pipelines)
    with connect(root, sessions=lambda: site.sessions) as fm:
        fm.loop.complete()
        assert not fm.warehouse.suspensions()
        fm.execute("INSERT INTO ft VALUES (2, 20)")
        assert numbers(fm, "ft", "k") == numbers(fm, "fv", "k") == [1, 2]
        assert list(fm.verify()) == []


def test_a_file_that_is_as_deployed_stays_refused(site: Site) -> None:
    site.define(FILES)
    with site.connect() as fm:
        fm.execute("INSERT INTO ft VALUES (1, 10)")
    root = site.root / "warehouse"
    rewrite_at_rest(root, "fv", "SELECT k,", "SELECT no_function(k) AS k,")
    site.define(FILES.replace("SELECT k,", "SELECT no_function(k) AS k,"))
    with connect(root, sessions=lambda: site.sessions) as fm:
        assert not fm.plan(site.pipelines).changes
        fm.apply(site.pipelines)
        assert set(fm.warehouse.suspensions()) == {"fv"}
        site.define(FILES.replace("SELECT k,", "SELECT no_function(k) AS k, 1 AS one,"))
        with pytest.raises(UserError):
            fm.plan(site.pipelines)


def test_what_a_later_version_accepts_again_goes_on(root: Path, sessions: Sessions) -> None:
    _refused(root, "m")
    with connect(root, sessions=lambda: sessions) as fm:
        fm.execute("INSERT INTO t VALUES (3, 30)")
        assert fm.execute("SELECT count(*) FROM m").rows == ((2,),)
    rewrite_at_rest(root, "m", "no_function(k)", "count(*)")
    with connect(root, sessions=lambda: sessions) as fm:
        assert not fm.warehouse.suspensions()
        fm.advance()
        assert fm.execute("SELECT k, n FROM m ORDER BY k").rows == ((1, 1), (2, 1), (3, 1))
        assert fm.execute("SELECT n FROM mm").rows == ((3,),)


@pytest.mark.parametrize(
    "point",
    [
        *("", "table_emptied"),
        pytest.param("change_logged", marks=pytest.mark.long),
        pytest.param("before_seal", marks=pytest.mark.long),
    ],
)
def test_an_altered_query_is_computed_anew(root: Path, sessions: Sessions, point: str) -> None:
    _refused(root, "m")
    alter = "ALTER MATERIALIZED VIEW m AS SELECT k, count(*) + 1 AS n FROM t GROUP BY k"
    with connect(root, sessions=lambda: sessions) as fm:
        fm.execute("DROP SINK out")
        fm.execute("INSERT INTO t VALUES (3, 30)")
        if point:
            with dying_at(point):
                fm.execute(alter)
        else:
            fm.execute(alter)
    with connect(root, sessions=lambda: sessions) as fm:
        fm.loop.complete()
        assert not fm.warehouse.suspensions()
        assert fm.execute("SELECT k, n FROM m ORDER BY k").rows == ((1, 2), (2, 2), (3, 2))
        fm.execute("INSERT INTO t VALUES (4, 40)")
        assert fm.execute("SELECT n FROM mm").rows == ((8,),)
        assert list(fm.verify()) == []
