"""What lies among the pipeline files and is no file is named with a code. No Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from floodmark.errors import SqlSyntaxError
from floodmark.sql.files import read_sql

SECONDS = 60
THINGS: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to nothing": lambda path: path.symlink_to("nothing-of-that-name"),
    "a link to a pipe": lambda path: (os.mkfifo(path.with_name("p")), path.symlink_to("p")),
}
COMMANDS = {
    "lint": ("lint", "pipelines"),
    "lint of another": ("lint", "pipelines/x.sql"),
    "plan": ("plan",),
    "apply": ("plan", "--apply"),
    "run": ("run",),
    "doctor": ("doctor",),
}


@pytest.mark.parametrize("thing", THINGS)
def test_what_is_no_file_is_named_at_once(thing: str, tmp_path: Path) -> None:
    THINGS[thing](tmp_path / "x.sql")
    with pytest.raises(SqlSyntaxError, match=r"E0150.*x\.sql"):
        read_sql(tmp_path / "x.sql")


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_that_read_pipelines_do_not_wait(command: str, tmp_path: Path) -> None:
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "a.sql").write_text("CREATE TABLE t (k INT PRIMARY KEY);")
    os.mkfifo(tmp_path / "pipelines" / "x.sql")
    done = subprocess.run(
        [sys.executable, "-c", "from floodmark.cli.app import app; app()", *COMMANDS[command]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 1 and "E0150" in said and "x.sql" in said
    assert not (tmp_path / "warehouse").exists()
