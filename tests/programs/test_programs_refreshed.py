"""Every program whose views can be recomputed emits the same with `refresh = 'full'` on each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from floodmark.epochs import run as epoch_run
from floodmark.errors import FloodmarkError
from floodmark.spark.session import Sessions
from floodmark.testing.program import Program, load
from tests.program_reference import compile_sql
from tests.program_spark import case_of, has_own_clock, isolated, mismatches, partitions_of, run_all

PROGRAMS = sorted(Path(__file__).parent.glob("*.txt"))
VIEW = re.compile(r"(CREATE MATERIALIZED VIEW \w+)( \([^)]*\))?( WITH \([^)]*\))?\s+AS\s")

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(2400)]


def _refreshed() -> Iterator[tuple[Program, Program]]:
    """Yield programs as written and with recomputed views, where none is refused."""
    for path in PROGRAMS:
        written = load(path)
        sql = VIEW.sub(lambda m: f"{m[1]}{m[2] or ''} WITH (refresh = 'full') AS ", written.sql)
        if sql == written.sql or has_own_clock(written) or len(partitions_of(written)) > 1:
            continue
        try:
            compile_sql(sql)
        except FloodmarkError:
            continue
        yield written, replace(written, sql=sql)


def test_recomputed_views_emit_what_the_programs_say(
    sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(epoch_run, "advance_object", isolated(epoch_run.advance_object))
    cases = [
        case_of(program, written, f"p{i:03}_", tmp_path, use_dml=False)
        for i, (written, program) in enumerate(_refreshed())
    ]
    assert len(cases) > len(PROGRAMS) // 2
    outcome = run_all(cases, tmp_path, sessions).outcome()
    assert not outcome.broken
    assert not [text for case in cases for text in mismatches(case, outcome)]
