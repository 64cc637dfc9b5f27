"""Programs emit the same when whatever an operator reads is written first and read back."""

from __future__ import annotations

from pathlib import Path

import pytest

from floodmark.epochs import run as epoch_run
from floodmark.limits import Limits
from floodmark.spark.session import Sessions
from tests.program_spark import isolated, mismatches, run_all
from tests.programs.test_programs_spark import cases_of

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
