"""Programs emit the same when all that is read again for few changes is read by their keys."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from floodmark.dataflow import keyed_reads
from floodmark.dataflow.context import EpochContext
from floodmark.epochs import run as epoch_run
from floodmark.limits import Limits
from floodmark.spark.session import Sessions
from floodmark.storage.files import key_search
from floodmark.tables import keyed_rows
from floodmark.tables.keyed_rows import Narrow
from tests.program_spark import isolated, mismatches, run_all
from tests.programs.test_programs_spark import cases_of

pytestmark = [pytest.mark.spark, pytest.mark.timeout(2400)]

DAILY = (
    "join_three_with_padding", "join_semi_and_anti", "join_outer_over_aggregates",
    "join_full_padding", "aggregate_wide_sums",
)  # fmt: skip
SHARED, APART = 0, 10**9
"""How many times the rows of its keys a table has that is read once for all views."""
HERE, BY_SPARK = 2**29, 0
"""How many bytes of files are looked through in the engine's process."""
WAYS = {
    "here-shared": (HERE, SHARED),
    "spark-apart": (BY_SPARK, APART),
    "here-apart": (HERE, APART),
    "spark-shared": (BY_SPARK, SHARED),
}


@pytest.mark.parametrize(
    ("names", "lookup", "factor"),
    [
        *(pytest.param(DAILY, *WAYS[way], id=f"some-{way}") for way in list(WAYS)[:2]),
        *(pytest.param((), *WAYS[w], id=f"all-{w}", marks=pytest.mark.long) for w in WAYS),
    ],
)
def test_rows_read_by_key_are_those_of_the_programs(
    names: tuple[str, ...],
    lookup: int,
    factor: int,
    sessions: Sessions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called = Counter[str]()

    def count(place: Any, name: str, kind: str) -> None:
        function = getattr(place, name)

        def counted(*arguments: Any) -> Any:
            found = function(*arguments)
            # What has no keys leaves nothing out.
            called[kind] += bool(found.frames) if isinstance(found, Narrow) else found is not None
            return found

        monkeypatch.setattr(place, name, counted)

    count(keyed_reads, "route_rows", "shared")
    count(EpochContext, "narrow", "apart")
    count(key_search, "copy_rows", "here")
    count(keyed_rows, "rows_of_keys", "spark")
    monkeypatch.setattr(epoch_run, "advance_object", isolated(epoch_run.advance_object))
    cases = cases_of(names, tmp_path)
    limits = Limits(reread_bytes=0, keyed_factor=factor, search_bytes=lookup, search_share=1)
    if lookup:
        limits = replace(limits, search_rows=0)
        limits = replace(limits, layer_bytes=0, layer_factor=0, layer_share=0, layer_epochs=3)
    outcome = run_all(cases, tmp_path, sessions, limits).outcome()
    assert not outcome.broken
    assert not [text for case in cases for text in mismatches(case, outcome)]
    assert called["apart"] and called["spark"]
    assert bool(called["shared"]) == (factor == SHARED)
    assert bool(called["here"]) == (lookup == HERE)
