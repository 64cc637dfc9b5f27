"""The demo from end to end, on its first days: through Dagster, printed, and nothing new after."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from demo.flights import write_landing

ROOT = Path(__file__).parents[2]
DAYS = 3
SECONDS_FOR_NOTHING_NEW = 5
pytestmark = pytest.mark.spark


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder like the project's, whose landing folder has the first days of January."""
    for name in ("definitions.py", "dagster.yaml"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("pipelines", "demo"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    write_landing(tmp_path / "landing", 1)
    for path in (tmp_path / "landing").glob("*/*-2013-*"):
        if int(path.stem[-2:]) > DAYS or "-2013-01-" not in path.name:
            path.unlink()
    return tmp_path


def demo(project: Path) -> str:
    """Run `floodmark demo` there and return what it prints."""
    command = [sys.executable, "-c", "from floodmark.cli import main; main()", "demo"]
    ended = subprocess.run(
        [*command, "--months", "1"], cwd=project, capture_output=True, text=True, timeout=500,
        env={**os.environ, "PYTHONPATH": f"{project}:{ROOT}"},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_the_demo_prints_what_came_out_and_then_that_nothing_is_new(project: Path) -> None:
    told = demo(project)
    lines = {line.split()[0]: line.split() for line in told.splitlines() if line.strip()}
    for name in (
        "departures",
        "departures_enriched",
        "hourly_departures",
        "troubled_routes",
        "airport_hours",
    ):
        assert int(lines[name][2].replace(",", "")) > 0, told
    late, dead = (int(lines[name][at]) for name, at in (("departures", 3), ("weather", 4)))
    assert late > 0 and dead == 1, told
    assert "Which airlines leave late?" in told and "United" in told
    assert "was it the weather?" in told and "visibility" in told
    assert (project / "report.html").stat().st_size > 10_000

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "nothing new" in demo(project)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert spent < SECONDS_FOR_NOTHING_NEW
