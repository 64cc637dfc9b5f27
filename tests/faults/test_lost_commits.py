"""A newest commit that is gone or empty is seen before anything follows it, whoever names it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from floodmark.api import connect
from floodmark.cli.app import app
from floodmark.storage.backup.backup import back_up
from floodmark.storage.logs.backfills import BackfillLog, BackfillStep
from floodmark.storage.logs.correction_versions import CorrectedTables
from floodmark.storage.logs.epochs import ObjectRecord
from tests.warehouses import dying_at


def lose(root: Path, table: str) -> None:
    """Remove the newest commit of a table."""
    max((root / table / "_delta_log").glob("*.json")).unlink()


def empty(root: Path, table: str) -> None:
    """Leave the newest commit of a table without a byte."""
    max((root / table / "_delta_log").glob("*.json")).write_bytes(b"")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    with connect(tmp_path / "warehouse") as fm:
        fm.execute("CREATE TABLE t (k INT)")
        fm.execute("CREATE TABLE u (k INT)")
    return tmp_path / "warehouse"


@pytest.mark.parametrize("table", ["_rows/public/t", "_changes/public/t"])
def test_a_table_that_no_epoch_touches_is_suspended(root: Path, table: str) -> None:
    lose(root, table)
    with connect(root) as fm:
        fm.execute("CREATE TABLE w (k INT)")
        assert {k: e.code for k, e in fm.warehouse.log.suspensions().items()} == {"t": "E0434"}
        assert {f.object for f in fm.verify()} == {"t"}
    told = CliRunner().invoke(app, ["doctor", "-w", str(root)])
    assert f"{table} ends at version" in told.output


@pytest.mark.parametrize("table", ["_rows/public/t", "_changes/public/u"])
@pytest.mark.parametrize(
    ("damage", "code", "says"),
    [(lose, "E0434", "older than the log"), (empty, "E0435", "is empty")],
)
def test_a_run_that_finds_nothing_new_sees_a_damaged_table(
    table: str,
    damage: Callable[[Path, str], None],
    code: str,
    says: str,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(root.parent)
    for damaged in (False, True):
        if damaged:
            damage(root, table)
        told = CliRunner().invoke(app, ["run", "-w", str(root)])
        assert "nothing new" in told.output
        assert told.exit_code == (2 if damaged else 0) and (says in told.output) == damaged
    with connect(root) as fm:
        before = fm.warehouse.log.head()
        assert fm.advance() == [] and fm.warehouse.log.head() == before
        (event,) = fm.warehouse.log.suspensions().values()
        assert event.code == code and event.tries == 1
        assert len(fm.warehouse.log.events(before.sealed + 1)) == 1


def test_status_shows_the_others_beside_a_table_that_cannot_be_read(root: Path) -> None:
    empty(root, "_rows/public/t")
    told = CliRunner().invoke(app, ["status", "-w", str(root)])
    states = dict(line.split()[::2][:2] for line in told.output.splitlines() if " table " in line)
    assert told.exit_code == 0 and states == {"t": "unreadable", "u": "active"}
    assert "unreadable (E0435)" in told.output
    told = CliRunner().invoke(app, ["status", "-w", str(root), "--json"])
    assert [o["rows"] for o in json.loads(told.output)["objects"]] == [None, 0]


def test_what_a_selection_has_advanced_is_done_again(root: Path) -> None:
    with connect(root) as fm:
        log = fm.warehouse.log
        with dying_at("before_seal"):
            fm.execute("CREATE TABLE w (k INT)")
        version = fm.store.open("_rows/public/w").version
        log.record_advanced(3, [ObjectRecord("w", {"_rows/public/w": version}, position=3)])
    lose(root, "_rows/public/w")
    with connect(root) as fm:
        assert {f.table for f in fm.verify()} == {"_rows/public/w"}
        fm.loop.complete()
        assert list(fm.verify()) == []
        assert fm.store.open("_rows/public/w").version == version
        assert not log.suspensions()


def test_a_lost_correction_is_known(root: Path) -> None:
    table = "_corrections/public/u"
    with connect(root) as fm:
        made = fm.store.create(table, fm.store.open("_rows/public/u").schema)
        done = fm.store.commit(made, app="u/corrections", epoch=1, metadata={"backfill": 1})
        CorrectedTables(root).record_version(table, done.version)
        assert list(fm.verify()) == []
        lose(root, table)
        assert [(f.object, f.table) for f in fm.verify()] == [("u", table)]
        told = CliRunner().invoke(app, ["doctor", "-w", str(root)])
        assert told.exit_code == 1 and f"{table} ends at version" in told.output
        fm.execute("DROP TABLE u")
        assert not (root / table).exists()
        assert list(fm.verify()) == [] and CorrectedTables(root).versions() == {}


def test_a_backup_lacks_no_correction_that_is_made_meanwhile(root: Path, tmp_path: Path) -> None:
    table = "_corrections/public/u"
    with connect(root) as fm:
        fm.store.create(table, fm.store.open("_rows/public/u").schema)

        def correct(path: str, number: int, of: int) -> None:
            handle = fm.store.open(table)
            if number == 1:
                done = fm.store.commit(handle, app="u/corrections", epoch=1, metadata={})
                CorrectedTables(root).record_version(table, done.version)

        CorrectedTables(root).record_version(table, 0)
        made = back_up(root, tmp_path / "backups", correct)
    with connect(made.folder) as fm:
        assert fm.store.open(table).version == 0
        assert list(fm.verify()) == []


def test_what_a_backfill_has_written_is_known(root: Path) -> None:
    backfill = BackfillLog(root, "v", 2)
    backfill.begin(0, BackfillStep(2))
    backfill.finish(0, ObjectRecord("v", {"_rows/public/u": 9}))
    with connect(root) as fm:
        found = [(f.object, f.table) for f in fm.verify()]
        assert found == [("v", "_rows/public/u")]
