"""Backups: one cut while epochs go on, whole after any kill, and refused where a byte is wrong."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from floodmark.errors import FloodmarkError
from floodmark.session.audit import ReplayOutcome
from floodmark.spark.session import Sessions
from floodmark.storage.backup.backup import MANIFEST, back_up, backups
from floodmark.storage.backup.restore import restore
from tests.warehouses import (
    GROUPED,
    JOINED,
    NAMES,
    READINGS,
    RECOMPUTED,
    SUNK,
    WINDOWED,
    Site,
    digests,
    put,
    readings,
    visible,
)

pytestmark = pytest.mark.spark
VIEWS = ("j", "st", "h", "t", "f")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, sessions: Sessions) -> Site:
    """Return a warehouse of three epochs of files and one of a statement."""
    site = Site(tmp_path_factory.mktemp("backup"), sessions)
    site.define(READINGS, NAMES, JOINED, GROUPED, WINDOWED, SUNK, RECOMPUTED)
    with site.connect() as fm:
        fm.deploy(site.pipelines)
        for number in range(3):
            put(site.landing, str(number), readings(20 * number, 20))
            fm.advance()
        fm.execute("INSERT INTO d VALUES ('a', 'first')")
    return site


def folder(site: Site, tmp_path: Path) -> Path:
    """Return a warehouse of its own, a copy."""
    return Path(shutil.copytree(site.root / "warehouse", tmp_path / "warehouse"))


def test_a_restored_warehouse_has_the_same_rows_and_goes_on(site: Site, tmp_path: Path) -> None:
    first = back_up(site.root / "warehouse", tmp_path / "backups")
    restored = restore(tmp_path / "backups", site.root / "again")
    assert restored == first
    assert digests(site.root / "again") == digests(site.root / "warehouse")
    shutil.copytree(site.root / "warehouse", site.root / "undisturbed")
    put(site.landing, "later", readings(60, 20))
    for name in ("again", "undisturbed"):
        with site.connect(name) as fm:
            assert len(fm.advance()) == 1
    (site.landing / "later.parquet").unlink()
    assert digests(site.root / "again") == digests(site.root / "undisturbed")


def test_rows_of_statements_are_found_where_they_were_restored(site: Site, tmp_path: Path) -> None:
    back_up(site.root / "warehouse", tmp_path / "backups")
    root = restore_to(site, "moved", tmp_path / "backups")
    with site.connect("moved") as fm:
        (entry,) = fm.warehouse.log.open_record(fm.warehouse.log.head().sealed).dml
        assert all(path.startswith(str(root)) for path in entry["paths"])
        again = fm.replay(objects=["d"])
    assert [r.result for r in again] == [ReplayOutcome.SAME]


def restore_to(site: Site, name: str, backups_: Path) -> Path:
    """Restore the newest backup under another name."""
    restore(backups_, site.root / name)
    return site.root / name


def test_a_second_backup_copies_what_is_new(site: Site, tmp_path: Path) -> None:
    root = folder(site, tmp_path)
    first, second = (back_up(root, tmp_path / "backups") for _ in range(2))
    assert first.copied_bytes == _bytes_on_disk(first.folder) - _named(first.folder)
    assert second.copied_bytes == 0 and second.bytes == first.bytes
    assert backups(tmp_path / "backups") == [first, second]
    shutil.rmtree(first.folder)
    restore(tmp_path / "backups", tmp_path / "again")
    assert digests(tmp_path / "again") == digests(root)


@pytest.mark.long
def test_a_backup_beside_epochs_and_statements_is_one_cut(site: Site, tmp_path: Path) -> None:
    name = "beside"
    site.copy("warehouse", name)
    done = threading.Event()

    def copy_on() -> int:
        copies = 0
        while not done.is_set():
            back_up(site.root / name, tmp_path / "backups")
            copies += 1
        return copies

    with site.connect(name) as fm, ThreadPoolExecutor() as pool:
        rows = {fm.warehouse.log.head().sealed: _rows(site.root / name)}
        copies = pool.submit(copy_on)
        try:
            for number in range(3):
                put(site.landing, f"beside{number}", readings(100 + 10 * number, 10))
                (epoch,) = fm.advance()
                rows[epoch.epoch] = _rows(site.root / name)
                fm.execute(f"INSERT INTO d SELECT id::varchar, k FROM s WHERE id % 9 = {number}")
                rows[epoch.epoch + 1] = _rows(site.root / name)
        finally:
            done.set()
    for number in range(3):
        (site.landing / f"beside{number}.parquet").unlink()
    found = backups(tmp_path / "backups")
    assert copies.result() == len(found)
    assert len({b.epoch for b in found}) > 1
    for number, backup in enumerate(found):
        restore(backup.folder, tmp_path / str(number))
        assert _rows(tmp_path / str(number)) == rows[backup.epoch]
        shutil.rmtree(tmp_path / str(number))


def test_a_killed_backup_is_none(site: Site, tmp_path: Path) -> None:
    root, target, dice = site.root / "warehouse", tmp_path / "backups", random.Random(7)
    code = (
        "import os, sys; from floodmark.storage.backup.backup import back_up\n"
        "def die(name, done, total):\n"
        "    if done == int(total * float(sys.argv[3])): os.kill(os.getpid(), 9)\n"
        "back_up(*sys.argv[1:3], die)"
    )
    for share in (dice.uniform(0.1, 0.9), 1):
        killed = subprocess.run([sys.executable, "-c", code, root, target, str(share)], check=False)
        assert killed.returncode == -signal.SIGKILL
    assert backups(target) == []
    back_up(root, target)
    assert not list(target.glob(".partial-*"))
    restore(target, tmp_path / "again")
    assert digests(tmp_path / "again") == digests(root)


@pytest.mark.parametrize("damage", ["shorter", "other", "missing", "manifest"])
def test_a_damaged_backup_is_refused(damage: str, site: Site, tmp_path: Path) -> None:
    made = back_up(site.root / "warehouse", tmp_path / "backups")
    victim = max(made.folder.rglob("*.parquet"))
    match damage:
        case "shorter":
            os.truncate(victim, victim.stat().st_size - 1)
        case "other":
            victim.write_bytes(bytes(victim.stat().st_size))
        case "missing":
            victim.unlink()
        case _:
            text = (made.folder / MANIFEST).read_text().splitlines(keepends=True)
            (made.folder / MANIFEST).write_text("".join(text[:-1]))
    with pytest.raises(FloodmarkError) as refused:
        restore(tmp_path / "backups", tmp_path / "again")
    assert refused.value.code == "E0444"
    assert not (tmp_path / "again").exists() and not list(tmp_path.glob(".again*"))


def test_a_warehouse_that_lacks_a_file_is_not_backed_up(site: Site, tmp_path: Path) -> None:
    root = folder(site, tmp_path)
    next((root / "_rows" / "public" / "st").rglob("*.parquet")).unlink()
    with pytest.raises(FloodmarkError) as refused:
        back_up(root, tmp_path / "backups")
    assert refused.value.code == "E0441"
    assert backups(tmp_path / "backups") == []


def test_places_that_cannot_be(site: Site, tmp_path: Path) -> None:
    root = folder(site, tmp_path)
    made = back_up(root, tmp_path / "backups")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "x").touch()
    for code, call in (
        ("E0440", lambda: back_up(tmp_path / "none", tmp_path / "fresh")),
        ("E0442", lambda: restore(tmp_path / "none", tmp_path / "again")),
        ("E0442", lambda: restore(tmp_path / "backups", tmp_path / "again", epoch=99)),
        ("E0443", lambda: restore(tmp_path / "backups", tmp_path / "taken")),
        ("E0445", lambda: back_up(root, root / "backups")),
        ("E0445", lambda: restore(made.folder, made.folder / "again")),
    ):
        with pytest.raises(FloodmarkError) as refused:
            call()
        assert refused.value.code == code
    assert not (tmp_path / "again").exists() and not (tmp_path / "fresh").exists()


def _rows(root: Path) -> dict[str, list[tuple[object, ...]]]:
    return {name: visible(root, name) for name in VIEWS}


def _bytes_on_disk(backup: Path) -> int:
    """Return the bytes of a backup; files that two tables have are there once."""
    found = (p.stat() for p in backup.rglob("*") if p.is_file() and p.name != MANIFEST)
    return sum({s.st_ino: s.st_size for s in found}.values())


def _named(backup: Path) -> int:
    return sum(p.stat().st_size for p in backup.rglob("_last_checkpoint"))
