"""Every program emits the same when what an epoch touches is layered, and folded now and then."""

from __future__ import annotations

from pathlib import Path

import pytest

from floodmark.epochs import run as epoch_run
from floodmark.limits import Limits
from floodmark.spark.session import Sessions
from floodmark.testing.program import load
from tests.program_spark import case_of, has_own_clock, isolated, mismatches, partitions_of, run_all
from tests.programs.test_programs_spark import PROGRAMS, refusal

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(2400)]


def test_layered_objects_emit_what_the_programs_say(
    sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(epoch_run, "advance_object", isolated(epoch_run.advance_object))
    limits = Limits(layer_bytes=0, layer_factor=0, layer_share=0, layer_epochs=3)
    programs = [p for p in map(load, PROGRAMS) if refusal(p) is None]
    chosen = [p for p in programs if not has_own_clock(p) and len(partitions_of(p)) == 1]
    cases = [
        case_of(program, program, f"p{i:03}_", tmp_path, use_dml=False)
        for i, program in enumerate(chosen)
    ]
    outcome = run_all(cases, tmp_path, sessions, limits).outcome()
    assert not outcome.broken
    assert not [text for case in cases for text in mismatches(case, outcome)]
