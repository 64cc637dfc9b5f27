"""Each planted bug makes the tests fail that are named for it, in a copy of the package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from floodmark.spark.session import Sessions
from tests.mutants.closing import CLOSING
from tests.mutants.ending import ENDING
from tests.mutants.imported import SAYS
from tests.mutants.logs import LOGS
from tests.mutants.owning import OWNING
from tests.mutants.planted import PLANTED as OTHERS
from tests.mutants.planted import Planted
from tests.mutants.tables import TABLES
from tests.mutants.temporal import TEMPORAL
from tests.mutants.thinning import THINNING
from tests.mutants.watermarks import WATERMARKS

PLANTED = (*OTHERS, *CLOSING, *ENDING, *LOGS, *OWNING, *TABLES, *TEMPORAL, *THINNING, *WATERMARKS)
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FAILED, PASSED = 1, 0
"""How pytest ends."""
_NO_BUG = re.compile(r"SyntaxError|NameError|ImportError|AnalysisException|ParseException")
"""What is no wrong result: such a bug would be found whatever the tests compare."""


def changed(bug: Planted) -> str:
    """Return the text of the bug's file with the bug."""
    return (ROOT / "floodmark" / bug.file).read_text().replace(bug.right, bug.wrong)


def test_there_are_enough_of_them() -> None:
    assert len({bug.name for bug in PLANTED}) == len(PLANTED) >= 30


@pytest.mark.parametrize("bug", PLANTED, ids=lambda bug: bug.name)
def test_a_bug_fits_the_code(bug: Planted) -> None:
    text = (ROOT / "floodmark" / bug.file).read_text()
    assert text.count(bug.right) == 1, f"`right` has to be in {bug.file} once: adapt the bug"
    compile(changed(bug), bug.file, "exec")
    assert all((ROOT / test.partition("::")[0]).is_file() for test in bug.tests)


def run(folder: Path, tests: Iterable[str]) -> subprocess.CompletedProcess[str]:
    """Run tests on a copy of the package in a folder that nobody else sees."""
    command = [
        sys.executable, "-m", "pytest", "-p", "imported", "-p", "no:cacheprovider", "-x",
        "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT),
        *(str(ROOT / test) for test in tests),
    ]  # fmt: skip
    environ = {**os.environ, "PYTHONPATH": f"{folder}:{HERE}:{ROOT}"}
    ended = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, timeout=1500, check=False
    )
    assert f"{SAYS}{folder / 'floodmark'}" in ended.stdout, ended.stdout + ended.stderr
    return ended


def copied(folder: Path) -> Path:
    """Copy the package into a folder; what is compiled already stays valid."""
    shutil.copytree(ROOT / "floodmark", folder / "floodmark")
    return folder


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(1800)
def test_without_a_bug_all_pass(tmp_path: Path, sessions: Sessions) -> None:
    ended = run(copied(tmp_path), dict.fromkeys(test for bug in PLANTED for test in bug.tests))
    assert ended.returncode == PASSED, ended.stdout


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize("bug", PLANTED, ids=lambda bug: bug.name)
def test_the_tests_catch(bug: Planted, tmp_path: Path, sessions: Sessions) -> None:
    (copied(tmp_path) / "floodmark" / bug.file).write_text(changed(bug))
    ended = run(tmp_path, bug.tests)
    assert ended.returncode == FAILED and " failed" in ended.stdout, ended.stdout
    assert not _NO_BUG.search(ended.stdout), ended.stdout
