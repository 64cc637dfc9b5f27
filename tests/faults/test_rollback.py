"""A change of definitions that is logged and cannot be applied is taken back; all else goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from floodmark.api import connect
from floodmark.cli.app import app
from floodmark.errors import DataError, FloodmarkError, UserError
from floodmark.spark.session import Sessions
from floodmark.storage.backup.backup import back_up
from floodmark.storage.backup.restore import restore
from floodmark.storage.logs.catalog import AppliedStatement
from tests.children import floodmark
from tests.warehouses import NOW, dying_at, numbers

REFUSED = "CREATE MATERIALIZED VIEW v AS SELECT no_function_any_more(k) FROM t"
DEFECT = "SELECT 1"
"""What a log never has: reading it is an error without a code."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    with connect(tmp_path / "warehouse") as fm:
        fm.execute("CREATE TABLE t (k INT PRIMARY KEY)")
        fm.execute("CREATE TABLE d (k INT)")
    return tmp_path / "warehouse"


def log(root: Path, sql: str, *, opened: bool = False, drops: str = "d") -> None:
    """Log a version by which an object goes and another comes that no version can read any more."""
    with connect(root) as fm:
        warehouse = fm.warehouse
        latest = warehouse.catalogs.latest()
        assert latest is not None
        kept = [s for s in latest.statements if s.object != drops]
        new = AppliedStatement(sql, None, "statement", "v")
        warehouse.pending_drops.write(latest.version + 1, [f"_rows/public/{drops}"])
        warehouse.catalogs.append(3, [*kept, new], NOW)
        if opened:
            warehouse.log.open(3, fm.clock.now(), 3, NOW, restarted=["v"])


def as_before(root: Path, *more: str) -> None:
    """Check that nothing of what was logged is there, and nothing is wrong."""
    with connect(root) as fm:
        assert fm.warehouse.log.head().open is None
        assert list(fm.verify()) == []
        assert set(fm.status()) == {"t", "d", *more}
        assert fm.store.exists("_rows/public/d")
        assert fm.warehouse.pending_drops.pending() is None


def ended(root: Path, *arguments: str, failpoint: str | None = None) -> tuple[int, str]:
    done = floodmark(*arguments, "-w", str(root), failpoint=failpoint, folder=root.parent)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("opened", [False, True])
def test_what_another_version_refuses_is_taken_back(root: Path, opened: bool) -> None:
    log(root, REFUSED, opened=opened)
    with connect(root) as fm:
        assert set(fm.deployed.pipeline.objects) == {"t", "d"}
        assert fm.has_new()
        told = fm.loop.complete()
        assert told is not None
        assert told.epoch == 3
        assert len(told.notes) == 1
        assert "taken back: create v, drop d: [E0" in told.notes[0]
        before, record = (fm.warehouse.log.open_record(epoch) for epoch in (2, 3))
        assert list(record.notes) == told.notes
        assert not any((record.restarted, record.dml, record.renamed, record.backfills))
        assert (record.positions, record.catalog_version) == (before.positions, 4)
        fm.execute("CREATE TABLE w (k INT)")
    as_before(root, "w")
    made = back_up(root, root.with_name("backups"))
    restore(made.folder, root.with_name("again"))
    as_before(root.with_name("again"), "w")


def test_every_statement_takes_it_back_first(root: Path) -> None:
    log(root, REFUSED)
    with connect(root) as fm:
        fm.execute("CREATE TABLE w (k INT)")
    as_before(root, "w")


def test_a_defect_waits_for_a_person(root: Path) -> None:
    log(root, DEFECT, opened=True)
    for _ in range(2):
        with connect(root) as fm, pytest.raises(DataError) as raised:
            fm.execute("CREATE TABLE w (k INT)")
        assert raised.value.code == "E0437"
        assert "`floodmark rollback` rolls them back: create v, drop d" in str(raised.value.hint)
    told = CliRunner().invoke(app, ["rollback", "-w", str(root), "--json"])
    assert told.exit_code == 0
    assert json.loads(told.stdout)["notes"] == ["taken back: create v, drop d: at a person's word"]
    as_before(root)
    again = CliRunner().invoke(app, ["rollback", "-w", str(root)])
    assert "nothing to take back" in again.stdout


@pytest.mark.parametrize(
    ("step", "opened"),
    [
        ("change_taken_back", True),
        ("epoch_undone", True),
        pytest.param("change_taken_back", False, marks=pytest.mark.long),
        pytest.param("before_seal", True, marks=pytest.mark.long),
        pytest.param("after_seal", False, marks=pytest.mark.long),
    ],
)
def test_a_rollback_is_whole_whenever_it_is_killed(root: Path, step: str, opened: bool) -> None:
    log(root, REFUSED, opened=opened)
    ended(root, "rollback", failpoint=step)
    code, text = ended(root, "run")
    assert code == 0, text
    as_before(root)


def test_a_damaged_table_waits_for_a_person(root: Path) -> None:
    with connect(root) as fm, dying_at("change_logged"):
        fm.execute("ALTER TABLE t ADD COLUMN a INT")
    newest = max((root / "_rows/public/t/_delta_log").glob("*.json"))
    text = newest.read_text()
    newest.write_text("{")
    with connect(root) as fm, pytest.raises(UserError) as raised:
        fm.execute("CREATE TABLE w (k INT)")
    assert "`floodmark rollback` takes back what the open epoch is to do: alter t" in str(
        raised.value.hint
    )
    assert CliRunner().invoke(app, ["rollback", "-w", str(root)]).exit_code == 0
    with connect(root) as fm:
        fm.execute("CREATE TABLE w (k INT)")
    newest.write_text(text)
    as_before(root, "w")


@pytest.mark.parametrize("what", ["emptied", "written"])
def test_what_is_done_already_is_not_taken_back(root: Path, what: str) -> None:
    log(root, REFUSED, opened=True)
    with connect(root) as fm:
        if what == "emptied":
            fm.store.drop("_rows/public/t")
        else:
            handle = fm.store.open("_rows/public/t")
            opened = fm.warehouse.log.head().open
            assert opened is not None
            said = {"epoch": 3, "attempt": 1, "record": opened.id}
            fm.store.commit(handle, app="t", epoch=3, metadata=said)
    with connect(root) as fm, pytest.raises(FloodmarkError) as refused:
        fm.loop.complete()
    assert f"epoch 3 cannot be rolled back: it has {what} _rows/public/t" in str(
        refused.value.detail
    )
    told: Any = CliRunner().invoke(app, ["rollback", "-w", str(root)])
    assert told.exit_code == 1
    assert "E0438" in told.output
    with connect(root) as fm:
        assert fm.warehouse.log.head().open is not None


@pytest.mark.spark
@pytest.mark.parametrize("step", [None, "columns_restored"])
def test_columns_that_rows_were_given_go_again(
    tmp_path: Path, sessions: Sessions, step: str | None
) -> None:
    root = tmp_path / "warehouse"
    with connect(root, sessions=lambda: sessions) as fm:
        fm.execute("CREATE TABLE t (k INT PRIMARY KEY)")
        fm.execute("INSERT INTO t VALUES (1), (2)")
        with dying_at("reshaped"):
            fm.execute("ALTER TABLE t ADD COLUMN a INT DEFAULT 7")
    if step is not None:
        ended(root, "rollback", failpoint=step)
    assert CliRunner().invoke(app, ["rollback", "-w", str(root)]).exit_code == 0
    with connect(root, sessions=lambda: sessions) as fm:
        assert list(fm.verify()) == []
        assert numbers(fm, "t", "k") == [1, 2]
        with pytest.raises(FloodmarkError):
            fm.execute("SELECT a FROM t")
        fm.execute("INSERT INTO t VALUES (3)")
        fm.execute("ALTER TABLE t ADD COLUMN a INT DEFAULT 8")
        assert numbers(fm, "t", "a") == [8, 8, 8]


@pytest.mark.spark
def test_a_change_that_has_emptied_a_state_is_finished(tmp_path: Path, sessions: Sessions) -> None:
    root = tmp_path / "warehouse"
    view = "CREATE MATERIALIZED VIEW v AS SELECT k, count(DISTINCT {}) AS n FROM t GROUP BY k"
    with connect(root, sessions=lambda: sessions) as fm:
        fm.execute("CREATE TABLE t (k INT, a INT)")
        fm.execute("INSERT INTO t VALUES (1, 1), (1, -1)")
        fm.execute(view.format("a"))
        pipelines = tmp_path / "pipelines"
        pipelines.mkdir()
        new = "CREATE TABLE t (k INT, a INT); " + view.format("abs(a)")
        (pipelines / "all.sql").write_text(new)
        with dying_at("table_emptied"):
            fm.apply(pipelines)
    told = CliRunner().invoke(app, ["rollback", "-w", str(root)])
    assert "E0438" in told.output
    with connect(root, sessions=lambda: sessions) as fm:
        fm.loop.complete()
        assert fm.warehouse.log.suspensions() == {}
        assert fm.execute("SELECT * FROM v").rows == ((1, 1),)
