"""Every program runs on Spark: incrementally, in batch, and with other epoch boundaries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from floodmark.catalog.objects import SINK_PREFIX
from floodmark.epochs import run as epoch_run
from floodmark.errors import NotSupported
from floodmark.spark.session import Sessions
from floodmark.testing.program import Program, load
from floodmark.testing.text import encode
from tests.explained_state import explained_roles, written_state
from tests.in_process import SideBySide
from tests.program_reference import compile_sql
from tests.program_spark import (
    Case,
    Outcome,
    Run,
    case_of,
    has_own_clock,
    isolated,
    mismatches,
    partitions_of,
    run_all,
    single,
    unequal,
    whole,
)

PROGRAMS = sorted(Path(__file__).parent.glob("*.txt"))
FEW = 2
"""Programs of so many rows also run row by row."""
WRITTEN, OTHERWISE = 6, 12
"""Of so many programs one is in the daily set: as it is written, and with other epoch boundaries or
compared with its queries in batch. The nightly set has all of them."""
CONNECTED = 4
"""Of so many programs as written, one has a connector for each table that is only inserted into."""

LONG = [pytest.mark.long]

# The first test of all runs all that are chosen.
pytestmark = [pytest.mark.spark, pytest.mark.timeout(2400)]


def refusal(program: Program) -> str | None:
    """Return why a program cannot run on Spark, or None."""
    try:
        compile_sql(program.sql)
    except NotSupported as error:
        return error.message
    if len(partitions_of(program)) > 1:
        return "a folder of files is one partition"
    return None


def one_in(share: int) -> list[Any]:
    """Return all programs as parameters of a test; one of so many is in the daily set."""
    return [
        pytest.param(
            path, id=path.stem, marks=[] if crc32(path.stem.encode()) % share == 0 else LONG
        )
        for path in PROGRAMS
    ]


Results = Mapping[str, tuple[Case, Outcome]]


@dataclass
class Runs:
    """The runs of all chosen programs, each started at its first use.

    As they are written they run in `sessions`, which interpret, and those that are `compared` are
    compared with batch. `in_one` and `row_by_row` name those with other epoch boundaries, which run
    in `compiling` sessions.
    """

    programs: Mapping[str, Program]
    compared: Collection[str]
    in_one: Collection[str]
    row_by_row: Collection[str]
    root: Path
    sessions: Sessions
    compiling: Sessions
    as_written: list[tuple[Run, Outcome]] = field(default_factory=list)

    @cached_property
    def written(self) -> Results:
        """Return the programs as written."""
        return self._results("written", lambda p: p, self.programs)

    @cached_property
    def whole(self) -> Results:
        """Return the programs in one epoch."""
        return self._results("whole", whole, {n: self.programs[n] for n in self.in_one})

    @cached_property
    def single(self) -> Results:
        """Return the programs of few rows, row by row."""
        chosen = {n: self.programs[n] for n in self.row_by_row}
        few = {n: p for n, p in chosen.items() if len(single(p).epochs) <= FEW}
        return self._results("single", single, few)

    def _results(
        self,
        label: str,
        change: Callable[[Program], Program],
        programs: Mapping[str, Program],
    ) -> Results:
        """Run together what has the same clock; all but programs that say what time it is."""
        groups: dict[str, list[Case]] = {}
        for i, (name, program) in enumerate(programs.items()):
            group = name if has_own_clock(program) else "shared"
            folder = self.root / label / group
            # A connector costs each table a query more per epoch: most have one in one epoch, the
            # others in all.
            by_hand = (i % CONNECTED > 0) == (label == "written")
            case = case_of(change(program), program, f"p{i:02}_", folder, use_dml=by_hand)
            groups.setdefault(group, []).append(case)
        out: dict[str, tuple[Case, Outcome]] = {}
        for group, cases in groups.items():
            sessions = self.sessions if label == "written" else self.compiling
            run = run_all(cases, self.root / label / group, sessions)
            outcome = run.outcome()
            if label == "written":
                self.as_written.append((run, outcome))
                compared = [case for case in cases if case.program.name in self.compared]
                outcome = replace(outcome, unequal=unequal(run, outcome, compared))
            out.update({case.program.name: (case, outcome) for case in cases})
        return out


@pytest.fixture(scope="module")
def runs(
    request: pytest.FixtureRequest,
    sessions: Sessions,
    compiling_sessions: Sessions,
    side_by_side: SideBySide,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Runs]:
    """Yield the runs of the programs that this session of pytest selected."""
    chosen: dict[str, set[Path]] = {}
    for item in request.session.items:
        if isinstance(item, pytest.Function) and item.path == Path(__file__):
            paths: set[Path] = (
                {item.callspec.params["path"]} if hasattr(item, "callspec") else set()
            )
            chosen.setdefault(item.originalname, set()).update(paths)
    files = sorted(set[Path]().union(*chosen.values())) or PROGRAMS
    programs = {path.stem: load(path) for path in files}
    programs = {name: p for name, p in programs.items() if refusal(p) is None}
    compared, in_one, row_by_row = (
        [name for name in programs if any(p.stem == name for p in chosen.get(test.__name__, ()))]
        for test in (
            test_views_equal_their_queries_in_batch,
            test_one_epoch_gives_the_same_final_rows,
            test_single_rows_give_the_same_final_rows,
        )
    )
    root = tmp_path_factory.mktemp("programs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(epoch_run, "advance_object", isolated(epoch_run.advance_object))
        side_by_side.install(patch)
        yield Runs(programs, compared, in_one, row_by_row, root, sessions, compiling_sessions)


@pytest.fixture(scope="module")
def side_by_side(sessions: Sessions, tmp_path_factory: pytest.TempPathFactory) -> SideBySide:
    """Return what compares each query that is computed here with Spark."""
    return SideBySide(sessions, tmp_path_factory.mktemp("spark"))


def _case(results: Results, path: Path) -> tuple[Case, Outcome]:
    refused = refusal(load(path))
    if refused is not None:
        pytest.skip(refused)
    case, outcome = results[path.stem]
    broken = {k: text for k, text in outcome.broken.items() if case.owns(k)}
    assert not broken, "\n\n".join(f"{k}: {text}" for k, text in broken.items())
    return case, outcome


@pytest.mark.parametrize("path", one_in(WRITTEN))
def test_spark_emits_what_the_program_says(runs: Runs, path: Path) -> None:
    case, outcome = _case(runs.written, path)
    found = list(mismatches(case, outcome))
    assert not found, "\n\n".join(found)
    # P5: what came is counted, over all epochs, and where the counts say.
    assert not {k: faults for k, faults in outcome.faults.items() if case.owns(k)}


def test_queries_that_are_computed_here_have_the_rows_of_spark(
    runs: Runs, side_by_side: SideBySide
) -> None:
    assert runs.written
    assert not side_by_side.differences, "\n\n".join(side_by_side.differences[:3])
    assert side_by_side.counts["computed"] > side_by_side.counts["sent"] > 0


@pytest.mark.parametrize("path", one_in(OTHERWISE))
def test_views_equal_their_queries_in_batch(runs: Runs, path: Path) -> None:
    case, outcome = _case(runs.written, path)
    assert {at: n for at, n in outcome.unequal.items() if case.owns(at[0])} == {}


@pytest.mark.long
def test_views_equal_their_queries_in_batch_after_each_epoch(runs: Runs) -> None:
    assert runs.written
    assert [unequal(run, outcome, run.cases, every=True) for run, outcome in runs.as_written] == [
        {} for _ in runs.as_written
    ]


def test_the_state_that_explain_names_is_what_is_written(runs: Runs) -> None:
    assert runs.written
    named, kept = set[str](), set[str]()
    for run, _ in runs.as_written:
        roles = explained_roles(run.pipeline)
        written = written_state(run.fm.store, run.pipeline)
        assert written - {*roles} == set()
        named |= {*roles.values()}
        kept |= {roles[table] for table in written}
    # A table without rows is not written; of each role some have rows.
    assert kept == named


@pytest.mark.parametrize("path", one_in(OTHERWISE))
def test_one_epoch_gives_the_same_final_rows(runs: Runs, path: Path) -> None:
    _skip_if_not_cut_free(path)
    assert _final(runs.whole, path) == _final(runs.written, path)


@pytest.mark.parametrize("path", one_in(OTHERWISE))
def test_single_rows_give_the_same_final_rows(runs: Runs, path: Path) -> None:
    _skip_if_not_cut_free(path)
    if len(single(load(path)).epochs) > FEW:
        pytest.skip("too many rows for an epoch each")
    assert _final(runs.single, path) == _final(runs.written, path)


def _skip_if_not_cut_free(path: Path) -> None:
    if "not cut-free" in load(path).title:
        pytest.skip("the program says that it is not cut-free")


def _final(results: Results, path: Path) -> dict[str, Counter[Any]]:
    """Return the rows of each object, numbers by value and doubles to 9 digits."""
    case, outcome = _case(results, path)
    return {
        key.removeprefix(SINK_PREFIX).removeprefix(case.prefix): Counter(
            tuple(map(_plain, row)) for row in found.rows
        )
        for key, found in outcome.found.items()
        if case.owns(key)
    }


def _plain(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float) else encode(value)


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
