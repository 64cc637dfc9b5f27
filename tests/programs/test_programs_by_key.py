"""Programs emit the same when all that is read again for few changes is read by their keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from floodmark.dataflow import context, keyed_reads
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
SHARED, APART = 0, 10**9
"""How many times the rows of its keys a table has that is read once for all views."""


@pytest.mark.parametrize("factor", [SHARED, APART], ids=["shared", "apart"])
@pytest.mark.parametrize(
    "names", [pytest.param(DAILY, id="some"), pytest.param((), id="all", marks=pytest.mark.long)]
)
def test_rows_read_by_key_are_those_of_the_programs(
    names: tuple[str, ...],
    factor: int,
    sessions: Sessions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = {"shared": 0, "apart": 0}

    def count(module: Any, name: str, kind: str) -> None:
        reading = getattr(module, name)

        def counted(*arguments: Any) -> Any:
            read[kind] += bool(arguments[2])  # the keys
            return reading(*arguments)

        monkeypatch.setattr(module, name, counted)

    count(keyed_reads, "route_rows", "shared")
    count(context, "rows_of_keys", "apart")
    monkeypatch.setattr(epoch_run, "advance_object", isolated(epoch_run.advance_object))
    cases = cases_of(names, tmp_path)
    limits = Limits(reread_bytes=0, keyed_factor=factor)
    outcome = run_all(cases, tmp_path, sessions, limits).outcome()
    assert not outcome.broken
    assert not [text for case in cases for text in mismatches(case, outcome)]
    assert read["apart"]
    assert bool(read["shared"]) == (factor == SHARED)
