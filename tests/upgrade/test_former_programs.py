"""Programs whose first epoch a former version has run go on as their files say."""

from __future__ import annotations

import tarfile
from collections import ChainMap
from dataclasses import replace
from pathlib import Path

import pytest

from floodmark.spark.session import Sessions
from floodmark.storage.records.text import from_text, parse_text, record_text, to_text
from floodmark.storage.warehouse import ENGINE, STATE
from floodmark.stream.properties.state import CLEANING
from floodmark.tables import layout
from tests.explained_state import explained_tables
from tests.program_spark import Run, mismatches, unequal
from tests.upgrade.former_programs import PLACE, advance, cases_in

pytestmark = pytest.mark.spark
ARCHIVES = sorted(Path(__file__).parent.glob("*.programs.tar.xz"))
PASSING = {"an epoch's rows", "an epoch's fetched rows"}
"""Roles of what no later epoch reads."""


def move_records(warehouse: Path, before: str, after: str) -> None:
    """Let the records name another folder: archives are made in one, tests run in others."""
    for path in (warehouse / ENGINE).rglob("*.json"):
        record = parse_text(path.read_text(), str(path))
        body = from_text(to_text(record.body).replace(before, after))
        path.write_text(record_text(path.name, replace(record, body=body)))


def explained(run: Run) -> dict[str, str]:
    """Return the role of each state table that EXPLAIN names."""
    planned = [obj for obj in run.pipeline.objects.values() if obj.plan is not None]
    return dict(ChainMap(*(explained_tables(obj, run.pipeline) for obj in planned)))


def state_tables(run: Run) -> set[str]:
    """Return the state tables that are written, but those of what sinks have sent."""
    planned = [obj for obj in run.pipeline.objects.values() if obj.external_sink]
    sent = {layout.sink_progress_table(obj) for obj in planned}
    return {table for table in run.fm.store.tables() if table.startswith(f"{STATE}/")} - sent


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name.partition(".")[0])
def test_the_state_of_a_former_version_is_gone_on_with(
    archive: Path, tmp_path: Path, sessions: Sessions
) -> None:
    with tarfile.open(archive) as found:
        found.extractall(tmp_path, filter="data")
    move_records(tmp_path / "warehouse", str(PLACE), str(tmp_path))
    cases = cases_in(tmp_path)
    run = Run(tmp_path, sessions, cases, done=1)
    roles = explained(run)
    assert {roles[table] for table in state_tables(run)} == CLEANING.keys() - PASSING
    for number in range(2, max(len(case.program.epochs) for case in cases) + 1):
        advance(run, cases, number)
    outcome = run.outcome()
    assert outcome.broken == {} and outcome.faults == {}
    assert [text for case in cases for text in mismatches(case, outcome)] == []
    assert unequal(run, outcome) == {}
    assert state_tables(run) <= roles.keys()
