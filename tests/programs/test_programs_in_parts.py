"""Programs emit the same when whatever an operator reads is written first and read back."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest

from floodmark.epochs import run as epoch_run
from floodmark.limits import Limits
from floodmark.spark.session import Sessions
from floodmark.testing.program import load
from tests.program_spark import (
    Case,
    case_of,
    has_own_clock,
    isolated,
    mismatches,
    partitions_of,
    run_all,
)
from tests.programs.test_programs_spark import PROGRAMS, refusal

pytestmark = [pytest.mark.spark, pytest.mark.timeout(2400)]


DAILY = (
    "dead_rows_of_a_subplan_read_twice", "join_three_with_padding", "top_of_what_only_grows",
)  # fmt: skip


@pytest.mark.parametrize(
    "names", [pytest.param(DAILY, id="some"), pytest.param((), id="all", marks=pytest.mark.long)]
)
def test_queries_in_parts_emit_what_the_programs_say(
    names: tuple[str, ...], sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(epoch_run, "advance_object", isolated(epoch_run.advance_object))
    cases = cases_of(names, tmp_path)
    outcome = run_all(cases, tmp_path, sessions, Limits(plan_nodes=1)).outcome()
    assert not outcome.broken
    assert not [text for case in cases for text in mismatches(case, outcome)]


def cases_of(names: Collection[str], folder: Path) -> list[Case]:
    """Return the programs of these names, or all, that one warehouse runs, as they are written."""
    programs = [load(path) for path in PROGRAMS if not names or path.stem in names]
    runs = [p for p in programs if refusal(p) is None and not has_own_clock(p)]
    cases = [
        case_of(program, program, f"p{i:03}_", folder, use_dml=False)
        for i, program in enumerate(runs)
        if len(partitions_of(program)) == 1
    ]
    assert len(cases) >= len(names)
    return cases
