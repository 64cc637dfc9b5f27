"""A disk that refuses: every command ends with a code and the path, and no file is half-written."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from floodmark.api import connect
from floodmark.cli.app import app
from tests.faults.mounts import mounted_at

QUERY = "CREATE SOURCE s (a INT) WITH (connector = 'files', path = '{}') FORMAT PLAIN ENCODE JSON;"


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """Yield a small file system of its own."""
    with mounted_at(tmp_path / "disk", mebibytes=1) as place:
        yield place


def _run(root: Path, *command: str) -> Result:
    pipelines = root.parents[1] / "pipelines"
    pipelines.mkdir(exist_ok=True)
    (pipelines / "a.sql").write_text(QUERY.format(root.parents[1]))
    where = ["--warehouse", str(root), *(() if command[0] == "status" else ("-p", str(pipelines)))]
    return CliRunner().invoke(app, [*command, *where])


def _coded(done: Result, code: str, path: Path) -> None:
    assert isinstance(done.exception, SystemExit) and f"error[{code}]" in done.output, done.output
    assert str(path) in done.output and "help: " in done.output


def test_a_disk_that_turns_read_only(mounted: Path) -> None:
    root = mounted / "warehouse"
    connect(root).execute("CREATE TABLE t (k INT)")
    subprocess.run(["mount", "-o", "remount,ro", str(mounted)], check=True)
    _coded(_run(root, "run"), "E0545", root)
    assert _run(root, "status").exit_code == 0
    subprocess.run(["mount", "-o", "remount,rw", str(mounted)], check=True)
    with connect(root) as fm:
        fm.execute("CREATE TABLE u (k INT)")
        assert set(fm.status()) == {"t", "u"}


def test_a_disk_without_room(mounted: Path) -> None:
    root = mounted / "warehouse"
    connect(root).execute("CREATE TABLE t (k INT)")
    with (mounted / "ballast").open("wb", buffering=0) as ballast, pytest.raises(OSError):
        while True:
            ballast.write(b"0" * 4096)
    _coded(_run(root, "run"), "E0504", Path("the lease"))
    (mounted / "ballast").unlink()
    with connect(root) as fm:
        fm.execute("CREATE TABLE u (k INT)")
        assert set(fm.status()) == {"t", "u"}


@pytest.mark.parametrize("folder", ["lease", "epochs", "catalog"])
def test_a_file_where_a_folder_was(tmp_path: Path, folder: str) -> None:
    root = tmp_path / "disk" / "warehouse"
    (root / "_floodmark").mkdir(parents=True)
    (root / "_floodmark" / folder).write_text("in the way")
    _coded(_run(root, "run"), "E0455", root)
    (root / "_floodmark" / folder).unlink()
    assert _run(root, "plan").exit_code == 0


def test_a_log_that_may_not_be_read(tmp_path: Path) -> None:
    root = tmp_path / "disk" / "warehouse"
    connect(root).execute("CREATE TABLE t (k INT)")
    place = root / "_floodmark" / "catalog"
    record = next(place.glob("*.json"))
    shutil.move(record, tmp_path / "kept")
    record.mkdir()
    _coded(_run(root, "status"), "E0455", record)
    record.rmdir()
    shutil.move(tmp_path / "kept", record)
    assert _run(root, "status").exit_code == 0
    assert os.listdir(place) == [record.name]
