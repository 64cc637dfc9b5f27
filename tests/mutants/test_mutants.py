"""Each planted bug makes the tests fail that are named for it, in a copy of the package."""

from __future__ import annotations

import ast
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
from tests.mutants.definition import ROOT, find
from tests.mutants.ending import ENDING
from tests.mutants.imported import SAYS
from tests.mutants.in_process import IN_PROCESS
from tests.mutants.logs import LOGS
from tests.mutants.owning import OWNING
from tests.mutants.plans import PLANS
from tests.mutants.planted import PLANTED as OTHERS, PROGRAMS, Planted
from tests.mutants.tables import TABLES
from tests.mutants.temporal import TEMPORAL
from tests.mutants.thinning import THINNING
from tests.mutants.watermarks import WATERMARKS

PLANTED = (
    *OTHERS,
    *CLOSING,
    *ENDING,
    *LOGS,
    *OWNING,
    *PLANS,
    *TABLES,
    *TEMPORAL,
    *THINNING,
    *IN_PROCESS,
    *WATERMARKS,
)
HERE = Path(__file__).parent
FAILED, PASSED = 1, 0
"""How pytest ends."""
PARTS = 6
"""Into how many runs the tests of all bugs are divided."""
_NO_BUG = re.compile(r"SyntaxError|NameError|ImportError|AnalysisException|ParseException")
"""What is no wrong result: such a bug would be found whatever the tests compare."""


def plant(bug: Planted, folder: Path) -> None:
    """Put the bug into a copy of the package."""
    definition = find(bug.at, bug.right)
    changed = definition.replace(bug.right, bug.wrong)
    (folder / definition.path.relative_to(ROOT)).write_text(changed)


def test_there_are_enough_of_them() -> None:
    assert len({bug.name for bug in PLANTED}) == len(PLANTED) >= 30


@pytest.mark.parametrize("bug", PLANTED, ids=lambda bug: bug.name)
def test_a_bug_fits_the_code(bug: Planted) -> None:
    definition = find(bug.at, bug.right)
    right = ast.unparse(definition.module)
    assert definition.replace(bug.right, bug.wrong) != right, f"{bug.at} stays as it is"


@pytest.mark.parametrize("bug", PLANTED, ids=lambda bug: bug.name)
def test_the_tests_of_a_bug_are_there(bug: Planted) -> None:
    for test in bug.tests:
        path, _, name = test.partition("::")
        name, _, case = name.partition("[")
        assert f"def {name}" in (ROOT / path).read_text(), f"name another test than {test}"
        if path in PROGRAMS:
            program = ROOT / "tests/programs" / f"{case.rstrip(']')}.txt"
            assert program.is_file(), f"name another program than {program.name}"


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
@pytest.mark.parametrize("part", range(PARTS))
def test_without_a_bug_all_pass(part: int, tmp_path: Path, sessions: Sessions) -> None:
    tests = sorted({test for bug in PLANTED for test in bug.tests})
    chosen = tests[part * len(tests) // PARTS : (part + 1) * len(tests) // PARTS]
    ended = run(copied(tmp_path), chosen)
    assert ended.returncode == PASSED, ended.stdout


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize("bug", PLANTED, ids=lambda bug: bug.name)
def test_the_tests_catch(bug: Planted, tmp_path: Path, sessions: Sessions) -> None:
    plant(bug, copied(tmp_path))
    ended = run(tmp_path, bug.tests)
    assert ended.returncode == FAILED and " failed" in ended.stdout, ended.stdout
    assert not _NO_BUG.search(ended.stdout), ended.stdout
