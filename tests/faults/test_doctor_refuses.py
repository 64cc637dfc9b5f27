"""What every run refuses, `doctor` and `plan` refuse: nobody is told that all is well. No Spark."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from floodmark.api import connect
from floodmark.cli.app import app
from floodmark.errors import FloodmarkError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a project whose table is deployed and has commits; it is the present."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "a.sql").write_text("CREATE TABLE t (k INT);")
    with connect(tmp_path / "warehouse") as fm:
        fm.apply("pipelines")
        for epoch in (2, 3):
            fm.execute(f"CREATE TABLE u{epoch} (k INT)")
    return tmp_path


def call(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def files(home: Path) -> list[Path]:
    return sorted(p for p in home.rglob("*") if "lease" not in p.parts)


def refused_by(command: str) -> str:
    """Return the code with which a command ends, or a check of `doctor` fails; "" for none."""
    shown = call(command, "--json")
    if command == "doctor":
        failed = [c["message"] for c in json.loads(shown.stdout) if c["state"] == "fail"]
        assert shown.exit_code == (1 if failed else 0)
        return failed[0][1:6] if failed else ""
    if shown.exit_code == 0:
        return ""
    assert shown.exit_code == 1
    return str(json.loads(shown.stderr)["error"]["code"])


def _without(place: str) -> Callable[[Path], None]:
    return lambda home: shutil.rmtree(home / "warehouse" / "_floodmark" / place)


def _with(name: str, text: str) -> Callable[[Path], object]:
    return lambda home: (home / "warehouse" / "_floodmark" / name).write_text(text)


BREAKS: dict[str, tuple[Callable[[Path], object], str]] = {
    "no catalog": (_without("catalog"), "E0431"),
    "no epochs": (_without("epochs"), "E0433"),
    "an empty record of what is kept": (_with("kept.json", ""), "E0409"),
    "one without fields of what is kept": (_with("kept.json", '{"format": 0}'), "E0409"),
    "an empty record of what leaves": (_with("leaving.json", ""), "E0409"),
    "an empty record of the warehouse": (_with("warehouse.json", "{}"), "E0409"),
}


@pytest.mark.parametrize("what", BREAKS)
@pytest.mark.parametrize("command", ["doctor", "plan", "run"])
def test_what_every_command_refuses_is_refused(home: Path, what: str, command: str) -> None:
    breaks, code = BREAKS[what]
    assert refused_by("doctor") == refused_by("plan") == ""
    breaks(home)
    before = files(home)
    assert refused_by(command) == code
    assert files(home) == before


@pytest.mark.parametrize(
    ("variable", "value", "code"),
    [
        ("FLOODMARK_DURABLE", "maybe", "E0436"),
        ("FLOODMARK_IN_PROCESS", "maybe", "E0452"),
        ("FLOODMARK_BACKFILL_BYTES", "x", "E0881"),
        ("FLOODMARK_BACKFILL_BYTES", "", "E0881"),
        ("FLOODMARK_BACKFILL_BYTES", "-1", "E0881"),
    ],
)
@pytest.mark.parametrize("command", ["doctor", "plan", "run"])
def test_so_is_an_environment_that_a_run_refuses(
    home: Path, variable: str, value: str, code: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    assert refused_by(command) == code


def test_pipelines_that_are_gone_are_told_where_objects_come_from_them(home: Path) -> None:
    shutil.rmtree(home / "pipelines")
    assert refused_by("doctor") == refused_by("plan") == "E0365"


def test_a_warehouse_of_statements_alone_needs_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with connect(tmp_path / "warehouse") as fm:
        fm.execute("CREATE TABLE t (k INT)")
    assert refused_by("doctor") == ""
    with connect(tmp_path / "warehouse") as fm, pytest.raises(FloodmarkError, match="E0365"):
        fm.plan("pipelines")
