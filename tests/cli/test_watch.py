"""What changes in an object, printed as epochs seal."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from floodmark.api import connect
from floodmark.cli.app import app

LAST = 8


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a warehouse in the current folder: t changes in epochs 5 to 7, log in 8."""
    monkeypatch.chdir(tmp_path)
    with connect(tmp_path / "warehouse") as fm:
        fm.execute_script(
            "CREATE TABLE t (k INT PRIMARY KEY, v VARCHAR); CREATE TABLE log (line VARCHAR) "
            "APPEND ONLY; CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM t;"
            "CREATE VIEW plain AS SELECT k FROM t;"
        )
        fm.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
        fm.execute("UPDATE t SET v = 'c' WHERE k = 1")
        fm.execute("DELETE FROM t WHERE k = 2")
        fm.execute("INSERT INTO log VALUES ('one')")
        assert fm.warehouse.log.head().sealed == LAST
    return tmp_path / "warehouse"


def _changes(*arguments: str) -> list[tuple[int, str, dict[str, object]]]:
    found = call("watch", *arguments, "--json")
    assert found.exit_code == 0, found.stderr
    lines = map(json.loads, found.stdout.splitlines())
    return [(line["epoch"], line["kind"], line["row"]) for line in lines]


@pytest.mark.spark
@pytest.mark.usefixtures("warehouse")
def test_changes_of_epochs_that_are_sealed() -> None:
    inserted = [(5, "+I", {"k": 1, "v": "a"}), (5, "+I", {"k": 2, "v": "b"})]
    assert sorted(_changes("t", "--from-epoch", "5", "--epochs", "1"), key=str) == inserted
    assert _changes("t", "--from-epoch", "6", "--epochs", "3") == [
        (6, "-U", {"k": 1, "v": "a"}),
        (6, "+U", {"k": 1, "v": "c"}),
        (7, "-D", {"k": 2, "v": "b"}),
    ]
    assert _changes("log", "--from-epoch", "1", "--epochs", "8") == [(8, "+I", {"line": "one"})]
    text = call("watch", "n", "--from-epoch", "7", "--epochs", "1").stdout.splitlines()
    assert text[0].startswith("epoch 7, ") and text[3:5] == [" -U | 2", " +U | 1"]
    assert "E0376" in call("watch", "plain").stderr
    assert call("watch", "nothing").exit_code == 1


@pytest.mark.spark
def test_it_follows_until_it_is_interrupted(warehouse: Path) -> None:
    command = [sys.executable, "-c", "from floodmark.cli import main; main()", "watch", "n"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stderr.readline() == "watching n from epoch 9 on; Ctrl-C ends it\n"
        with connect(warehouse) as fm:
            fm.execute("INSERT INTO t VALUES (3, 'd')")
        lines = [process.stdout.readline() for _ in range(5)]
        assert lines[0].startswith("epoch 9, ") and lines[3:] == [" -U | 1\n", " +U | 2\n"]
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr.read() == ""
