"""Backups beside running statements and damaged ones, and where a restore goes."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from floodmark.api import connect
from floodmark.cli.app import app
from floodmark.errors import FloodmarkError
from floodmark.limits import Limits
from floodmark.storage.backup.backup import MANIFEST, back_up, backups, copy_out
from floodmark.storage.backup.restore import restore
from floodmark.storage.logs.epochs import EpochLog
from floodmark.storage.objects.memory import MemoryObjects

pytestmark = pytest.mark.spark
_EIGHT = Limits(backup_chunk_bytes=8)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a warehouse of one table, without rows."""
    with connect(tmp_path / "warehouse") as fm:
        fm.execute("CREATE TABLE t (k INT)")
    return tmp_path / "warehouse"


def test_a_statement_that_runs_is_in_no_backup(root: Path, tmp_path: Path) -> None:
    written = root / "_floodmark" / "dml" / "public.t-1" / "_temporary"
    written.mkdir(parents=True)
    (written / "part-0.parquet").touch()
    names = iter(range(1, 10_000))

    def go_on(name: str, done: int, total: int) -> None:
        (part,) = written.iterdir()
        part.rename(written / f"part-{next(names)}.parquet")

    made = back_up(root, tmp_path / "backups", go_on)
    assert not list(made.folder.rglob("_temporary"))


def test_rows_of_statements_that_an_epoch_names_are_in_a_backup(root: Path, tmp_path: Path) -> None:
    rows = root / "_floodmark" / "dml" / "public.t-1" / "a.parquet"
    rows.parent.mkdir(parents=True)
    rows.write_bytes(b"rows")
    log = EpochLog(root)
    now = log.open_record(1).now
    entry = {"table": "public.t", "paths": [str(rows)], "rows": 1, "start": 0}
    log.open(2, now, 1, now, dml=[entry])
    before = back_up(root, tmp_path / "backups")
    assert not (before.folder / rows.relative_to(root)).exists()
    log.seal(2, list(log.seal_record(1).objects.values()), now)
    made = back_up(root, tmp_path / "backups")
    assert (made.folder / rows.relative_to(root)).read_bytes() == b"rows"
    rows.unlink()
    with pytest.raises(FloodmarkError, match=r"E0441.*a\.parquet"):
        back_up(root, tmp_path / "backups")


def test_a_backup_goes_by_the_limits_of_its_connection(root: Path, tmp_path: Path) -> None:
    begun = list[str]()

    def lose(name: str, done: int, total: int) -> None:
        begun.append(name)
        raise FileNotFoundError(errno.ENOENT, "not there", name)

    with (
        connect(root, limits=Limits(backup_tries=2)) as fm,
        pytest.raises(FloodmarkError, match="E0441"),
    ):
        fm.back_up(tmp_path / "backups", lose)
    assert len(begun) == 2


@pytest.mark.parametrize("text", [None, "", "[]", "{", '{"format": 2}'])
def test_a_backup_that_cannot_be_read_stops_nothing(
    text: str | None, root: Path, tmp_path: Path
) -> None:
    target = tmp_path / "backups"
    first, second = (back_up(root, target) for _ in range(2))
    (second.folder / MANIFEST).unlink()
    if text is not None:
        (second.folder / MANIFEST).write_text(text)
    assert backups(target) == [first]
    third = back_up(root, target)
    assert third.copied_bytes == 0
    shown = CliRunner().invoke(app, ["backup", str(target), "--list"]).stdout
    why = "newer" if text and "format" in text else "damaged"
    assert f"{second.folder.name}  {why}" in shown
    assert shown.index(first.folder.name) < shown.index(third.folder.name)
    listed = CliRunner().invoke(app, ["backup", str(target), "--list", "--json"]).stdout
    assert [Path(b["folder"]).name for b in json.loads(listed) if why in b] == [second.folder.name]
    shutil.rmtree(third.folder)
    arguments = ["restore", str(target), "--warehouse", str(tmp_path / "again")]
    restored = CliRunner().invoke(app, arguments)
    assert restored.exit_code == 0 and second.folder.name in restored.stderr
    assert str(first.folder) in restored.stdout


def test_a_manifest_that_ends_early_gives_nothing_to_link_to(root: Path, tmp_path: Path) -> None:
    first, second = (back_up(root, tmp_path / "backups") for _ in range(2))
    lines = (second.folder / MANIFEST).read_text().splitlines(keepends=True)
    (second.folder / MANIFEST).write_text("".join(lines[:-1]))
    assert backups(tmp_path / "backups") == [first]
    assert back_up(root, tmp_path / "backups").copied_bytes == 0
    os.truncate(first.folder / "_floodmark" / "warehouse.json", 3)
    made = back_up(root, tmp_path / "backups")
    restore(made.folder, tmp_path / "again")


@pytest.mark.parametrize("field", ["epoch", "made_at", "files", "bytes", "copied_bytes"])
@pytest.mark.parametrize("value", [None, "x", [1], 0.5])
def test_a_manifest_of_another_form_is_damaged(
    field: str, value: object, root: Path, tmp_path: Path
) -> None:
    made = back_up(root, tmp_path / "backups")
    head, *lines = (made.folder / MANIFEST).read_text().splitlines()
    said = {**json.loads(head), field: value}
    (made.folder / MANIFEST).write_text("\n".join([json.dumps(said), *lines, ""]))
    shown = CliRunner().invoke(app, ["backup", str(tmp_path / "backups"), "--list"])
    assert f"{made.folder.name}  damaged" in shown.stdout and shown.exit_code == 0
    with pytest.raises(FloodmarkError, match="E0444"):
        restore(tmp_path / "backups", tmp_path / "again")


@pytest.mark.parametrize("cut", [1, 2, 40, -1])
def test_a_list_names_a_backup_whose_manifest_is_cut(root: Path, tmp_path: Path, cut: int) -> None:
    made = back_up(root, tmp_path / "backups")
    manifest = made.folder / MANIFEST
    size = manifest.stat().st_size
    os.truncate(manifest, size - cut if cut > 0 else manifest.read_bytes().index(b"\n") + 1)
    shown = CliRunner().invoke(app, ["backup", str(tmp_path / "backups"), "--list"])
    assert f"{made.folder.name}  damaged" in shown.stdout and "not whole" in shown.stdout
    with pytest.raises(FloodmarkError, match="E0444"):
        restore(tmp_path / "backups", tmp_path / "again")


def test_what_cannot_be_read_of_a_backup_is_not_blamed_on_the_warehouse(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = back_up(root, tmp_path / "backups")
    (held,) = made.folder.glob("_rows/public/t/_delta_log/*0.json")
    opens = Path.open

    def refused(path: Path, *args: Any, **kwargs: Any) -> Any:
        if path == held:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opens(path, *args, **kwargs)

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(FloodmarkError, match=r"E0444.*backup.*Permission denied"):
        restore(tmp_path / "backups", tmp_path / "again")


@pytest.mark.parametrize("folder", [False, True])
def test_what_a_killed_restore_left_goes_with_the_next(
    folder: bool, root: Path, tmp_path: Path
) -> None:
    target = tmp_path / "place" / "again"
    (target if folder else target.parent).mkdir(parents=True)
    back_up(root, tmp_path / "backups")
    code = (
        "import os, sys; from floodmark.storage.backup.restore import restore\n"
        "def die(name, done, total):\n"
        "    if done == total // 2: os.kill(os.getpid(), 9)\n"
        "restore(*sys.argv[1:3], None, die)"
    )
    command = [sys.executable, "-c", code, tmp_path / "backups", target]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert list(target.parent.rglob(".*restore-*"))
    restore(tmp_path / "backups", target)
    assert not list(target.parent.rglob(".*restore-*"))
    assert _names(target) == _names(root)


def test_an_empty_folder_stays_the_one_it_is(root: Path, tmp_path: Path) -> None:
    # Such as a disk that is mounted there: nothing takes its place, or fits beside it.
    back_up(root, tmp_path / "backups")
    place = tmp_path / "place"
    target = place / "disk"
    (target / "lost+found").mkdir(parents=True)
    place.chmod(0o555)
    inode, above = target.stat().st_ino, list[list[str]]()
    try:
        restore(tmp_path / "backups", target, None, lambda *_: above.append(os.listdir(place)))
    finally:
        place.chmod(0o755)
    assert above and all(names == ["disk"] for names in above)
    assert target.stat().st_ino == inode
    (target / "lost+found").rmdir()
    assert _names(target) == _names(root)


def test_what_a_restore_left_half_moved_is_not_written_over(root: Path, tmp_path: Path) -> None:
    back_up(root, tmp_path / "backups")
    (tmp_path / "again" / "public").mkdir(parents=True)
    with pytest.raises(FloodmarkError, match="E0443"):
        restore(tmp_path / "backups", tmp_path / "again")


def test_names_of_backups_and_of_what_is_restored_are_on_the_disk(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[tuple[Path, list[str]]] = []

    def fsync(handle: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        flushed.append((path, sorted(os.listdir(path)) if path.is_dir() else []))

    monkeypatch.setattr(os, "fsync", fsync)
    made = back_up(root, tmp_path / "backups")
    assert flushed[-1] == (tmp_path / "backups", [".lock", made.folder.name])
    (tmp_path / "empty").mkdir()
    for target in (tmp_path / "place" / "new", tmp_path / "empty"):
        restore(tmp_path / "backups", target)
    places = [names for path, names in flushed if path == tmp_path / "empty"]
    assert "_floodmark" not in places[0] and "public" in places[0]
    assert "_floodmark" in places[1]
    assert (tmp_path / "place", ["new"]) in [
        (p, [n for n in ns if n[0] != "."]) for p, ns in flushed
    ]


def test_backups_of_a_restored_warehouse_are_no_others(root: Path, tmp_path: Path) -> None:
    target, again = tmp_path / "backups", tmp_path / "again"
    back_up(root, target)
    restore(target, again)
    assert back_up(again, target).epoch == 1  # nothing has happened there: one history
    restore(target, tmp_path / "early")
    for place in (root, again):
        with connect(place) as fm:
            fm.execute("CREATE TABLE u (k INT)")
    first, second = (back_up(place, target) for place in (root, again))
    with connect(root) as fm:
        fm.execute("CREATE TABLE v (k INT)")
    third = back_up(root, target)
    for epoch, named in ((None, (second, third)), (2, (first, second))):
        with pytest.raises(FloodmarkError, match="E0446") as refused:
            restore(target, tmp_path / "new", epoch)
        assert all(backup.folder.name in refused.value.message for backup in named)
    assert not (tmp_path / "new").exists()
    assert restore(target, tmp_path / "new", 3) == third
    assert restore(second.folder, tmp_path / "other") == second
    assert restore(target, tmp_path / "before", 1).epoch == 1
    shown = CliRunner().invoke(app, ["backup", str(target), "--list"])
    assert f"histories end with {third.folder.name}, {second.folder.name}" in shown.stderr


def _names(root: Path) -> set[str]:
    """Return the files of a warehouse but those of one process, and of Delta's for itself."""
    found = (p.relative_to(root) for p in root.rglob("*") if p.is_file())
    return {str(p) for p in found if "lease" not in p.parts and p.name != MANIFEST}


@pytest.mark.parametrize("size", [0, 1, 7, 8, 16, 17])
def test_an_object_is_copied_in_chunks(size: int, tmp_path: Path) -> None:
    objects, data = MemoryObjects(), bytes(range(size))
    objects.create("a/b", data)
    crc = copy_out(objects, "a/b", tmp_path / "copy", _EIGHT)
    assert (tmp_path / "copy").read_bytes() == data and crc == zlib.crc32(data)


def test_what_is_another_while_it_is_copied_is_not_whole(tmp_path: Path) -> None:
    class Replaced(MemoryObjects):
        def get(self, key: str, start: int = 0, end: int | None = None) -> tuple[bytes, str] | None:
            found = super().get(key, start, end)
            self.upload(key, tmp_path / "other")
            return found

    (tmp_path / "other").write_bytes(bytes(20))
    objects = Replaced()
    objects.create("a", bytes(20))
    with pytest.raises(FileNotFoundError, match="not whole"):
        copy_out(objects, "a", tmp_path / "copy", _EIGHT)
    with pytest.raises(FileNotFoundError):
        copy_out(objects, "none", tmp_path / "copy", _EIGHT)
