"""Programs with hopping windows emit the same when every epoch adds up by panes."""

from __future__ import annotations

from pathlib import Path

import pytest

from floodmark.epochs import run as epoch_run
from floodmark.limits import Limits
from floodmark.spark.session import Sessions
from floodmark.testing.program import load
from tests.program_spark import case_of, isolated, mismatches, run_all
from tests.programs.test_programs_spark import PROGRAMS

pytestmark = pytest.mark.spark


def test_sums_by_panes_are_those_of_the_programs(
    sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(epoch_run, "advance_object", isolated(epoch_run.advance_object))
    chosen = [load(path) for path in PROGRAMS if path.name.startswith("hop_")]
    cases = [
        case_of(program, program, f"p{i}_", tmp_path, use_dml=False)
        for i, program in enumerate(chosen)
    ]
    assert len(cases) >= 3
    outcome = run_all(cases, tmp_path, sessions, Limits(distinct_rows=0)).outcome()
    assert not outcome.broken
    assert not [text for case in cases for text in mismatches(case, outcome)]
