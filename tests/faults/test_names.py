"""Definitions that cannot be stored are refused before the log; names of any length are stored."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest

from floodmark.api import Floodmark, connect
from floodmark.errors import DataError, FloodmarkError
from floodmark.session.ddl import deployment
from floodmark.spark.session import Sessions
from floodmark.sql.parse import parse_statement
from floodmark.warehouse.deployed import statements_of
from floodmark.warehouse.version_change import VersionChange
from tests.warehouses import Site

NAMES = ("é" * 34, "数" * 23, "n" * 200, "é" * 100, "a b/c".replace("/", "|"), "a.", "a-b", "..x")
REFUSED = {
    'CREATE TABLE t ("a b" INT)': "E0403",
    'CREATE TABLE t (a INT, "A" INT)': "E0403",
    'CREATE TABLE ".known" (k INT)': "E0461",
    "CREATE TABLE floodmark.epochs (k INT)": "E0202",
    "CREATE VIEW information_schema.v AS SELECT k FROM known": "E0202",
    "CREATE SINK x AS SELECT k FROM known WITH (connector = 'files', path = '{root}/in', "
    "type = 'upsert') FORMAT PLAIN ENCODE JSON": "E0740",
    "CREATE SOURCE s (a INT) WITH (connector = 'nothing')": "",
}


def _log(fm: Floodmark) -> tuple[int, int]:
    head, latest = fm.warehouse.log.head(), fm.warehouse.catalogs.latest()
    assert head.open is None
    return head.sealed, 0 if latest is None else latest.version


@pytest.mark.parametrize("sql", REFUSED)
def test_what_is_refused_leaves_nothing_in_the_log(tmp_path: Path, sql: str) -> None:
    root = tmp_path / "warehouse"
    with connect(root) as fm:
        fm.execute("CREATE TABLE known (k INT PRIMARY KEY)")
        before = _log(fm)
        with pytest.raises(FloodmarkError) as refused:
            fm.execute(sql.replace("{root}", str(root)))
        assert refused.value.code == REFUSED[sql] or not REFUSED[sql]
        assert _log(fm) == before
        fm.execute("CREATE TABLE after (k INT)")


def test_what_an_epoch_could_not_work_out_is_not_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(change: VersionChange) -> NoReturn:
        raise DataError("E0402", "for the test")

    with connect(tmp_path / "warehouse") as fm:
        fm.execute("CREATE TABLE t (k INT)")
        before = _log(fm)
        with monkeypatch.context() as broken:
            broken.setattr(VersionChange, "new_keys", property(refuse))
            with pytest.raises(DataError, match="for the test"):
                fm.execute("CREATE TABLE u (k INT)")
        assert _log(fm) == before
        fm.execute("CREATE TABLE u (k INT)")


@pytest.mark.parametrize("name", NAMES)
def test_a_warehouse_that_a_name_had_stopped_comes_back(tmp_path: Path, name: str) -> None:
    """Former versions logged such a definition, and ended there at every command."""
    sql = f'CREATE TABLE "{name}" (k INT)'
    with connect(tmp_path / "warehouse") as fm:
        fm.execute("CREATE TABLE t (k INT)")
        plan = deployment.plan_statement(parse_statement(sql), fm.deployed)
        assert plan is not None
        warehouse = fm.warehouse
        warehouse.catalogs.append(2, statements_of(plan.catalog), fm.clock.now())
    with connect(tmp_path / "warehouse") as fm:
        fm.execute("CREATE TABLE u (k INT)")
        assert set(fm.status()) == {"t", name, "u"}
        fm.execute(f'DROP TABLE "{name}"')
        assert set(fm.status()) == {"t", "u"}


@pytest.mark.spark
def test_rows_of_long_names(tmp_path: Path, sessions: Sessions) -> None:
    site = Site(tmp_path, sessions)
    site.define()
    with site.connect() as fm:
        for name in ("é" * 34, "数" * 23):
            fm.execute(f'CREATE TABLE "{name}" (k INT PRIMARY KEY)')
            fm.execute(f'CREATE MATERIALIZED VIEW "{name}v" AS SELECT sum(k) AS s FROM "{name}"')
            fm.execute(f'INSERT INTO "{name}" VALUES (1), (2)')
            fm.execute(f'DELETE FROM "{name}" WHERE k = 1')
            assert fm.execute(f'SELECT s FROM "{name}v"').rows == ((2,),)
