"""Programs emit the same when all that is read again for few changes is read by their keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from floodmark.dataflow import output
from floodmark.dataflow.key_sets import rows_of_keys
from floodmark.epochs import run as epoch_run
from floodmark.limits import Limits
from floodmark.spark.session import Sessions
from tests.program_spark import isolated, mismatches, run_all
from tests.programs.test_programs_spark import cases_of

pytestmark = [pytest.mark.spark, pytest.mark.timeout(2400)]

DAILY = (
    "join_three_with_padding", "join_semi_and_anti", "join_outer_over_aggregates",
    "join_full_padding",
)  # fmt: skip


@pytest.mark.parametrize(
    "names", [pytest.param(DAILY, id="some"), pytest.param((), id="all", marks=pytest.mark.long)]
)
def test_rows_read_by_key_are_those_of_the_programs(
    names: tuple[str, ...], sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def reading(rows: Any, columns: Any, keys: Any) -> Any:
        asked.extend(column for column in columns if column in keys)
        return rows_of_keys(rows, columns, keys)

    monkeypatch.setattr(output, "rows_of_keys", reading)
    monkeypatch.setattr(epoch_run, "advance_object", isolated(epoch_run.advance_object))
    cases = cases_of(names, tmp_path)
    outcome = run_all(cases, tmp_path, sessions, Limits(reread_bytes=0)).outcome()
    assert not outcome.broken
    assert not [text for case in cases for text in mismatches(case, outcome)]
    assert asked
