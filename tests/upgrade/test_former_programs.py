"""Programs whose first epoch a former version has run go on as their files say."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from floodmark.spark.session import Sessions
from floodmark.stream.properties.state import CLEANING
from tests.explained_state import explained_roles, written_state
from tests.program_spark import Run, mismatches, unequal
from tests.upgrade.former_programs import PLACE, advance, cases_in
from tests.upgrade.rewriting import rewrite_records

pytestmark = pytest.mark.spark
ARCHIVES = sorted(Path(__file__).parent.glob("*.programs.tar.xz"))
PASSING = {"an epoch's rows", "an epoch's fetched rows"}
"""Roles of what no later epoch reads."""


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name.partition(".")[0])
def test_the_state_of_a_former_version_is_gone_on_with(
    archive: Path, tmp_path: Path, sessions: Sessions
) -> None:
    with tarfile.open(archive) as found:
        found.extractall(tmp_path, filter="data")
    rewrite_records(tmp_path / "warehouse", lambda text: text.replace(str(PLACE), str(tmp_path)))
    cases = cases_in(tmp_path)
    run = Run(tmp_path, sessions, cases, done=1)
    roles = explained_roles(run.pipeline)
    assert {
        roles[table] for table in written_state(run.fm.store, run.pipeline)
    } == CLEANING.keys() - PASSING
    for number in range(2, max(len(case.program.epochs) for case in cases) + 1):
        advance(run, cases, number)
    outcome = run.outcome()
    assert outcome.broken == {} and outcome.faults == {}
    assert [text for case in cases for text in mismatches(case, outcome)] == []
    assert unequal(run, outcome, run.cases) == {}
    assert written_state(run.fm.store, run.pipeline) <= roles.keys()
