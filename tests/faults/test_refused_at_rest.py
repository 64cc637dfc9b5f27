"""A definition at rest that this version refuses suspends its object; the warehouse opens."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from floodmark.api import connect
from floodmark.cli.app import app
from floodmark.spark.session import Sessions
from tests.refused_at_rest import rewrite_at_rest
from tests.warehouses import dying_at

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
    "CREATE SINK out FROM m WITH (connector = 'files', path = '{out}', format = 'parquet', type = 'retract')",
    "CREATE FUNCTION f(a INT) RETURNS INT LANGUAGE sql IMMUTABLE AS 'SELECT a + 1'",
    "CREATE MATERIALIZED VIEW fm AS SELECT f(k) AS k FROM t",
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
        sealed = fm.warehouse.log.head().sealed
        positions = {k: r.position for k, r in fm.status().items()}
        assert positions["other"] == sealed
        late = {k for k, position in positions.items() if position < sealed}
        assert late - {home} == waiting
        assert list(fm.verify()) == []
    runner = CliRunner()
    for command in ("status", "doctor", "report"):
        arguments = [command, "-w", str(root)]
        arguments += ["--output", str(root.parent / "r.html")] if command == "report" else []
        told = runner.invoke(app, arguments)
        assert told.exception is None or isinstance(told.exception, SystemExit), told.exception
        if command == "status" and home != "pv":
            assert f"suspended ({event.code})" in told.stdout
        if command == "doctor":
            assert event.message.splitlines()[0][:60] in told.output


def _drops() -> dict[str, str]:
    return {
        "t": "DROP TABLE t CASCADE", "unread t": "DROP TABLE t CASCADE", "s": "DROP SOURCE s",
        "m": "DROP MATERIALIZED VIEW m CASCADE", "unread m": "DROP MATERIALIZED VIEW m CASCADE",
        "pv": "DROP VIEW pv CASCADE", "sink:ss": "DROP SINK ss", "unread sink:ss": "DROP SINK ss",
        "sink:out": "DROP SINK out", "function:f": "DROP FUNCTION f CASCADE",
    }  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("point", ["", "change_logged", "before_seal", "table_dropped"])
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
