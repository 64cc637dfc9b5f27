"""Programs whose first epoch an older version has run; run it with the code of that version.

    PYTHONPATH=/path/to/that/version python tests/upgrade/former_programs.py NAME.programs.tar.xz

An archive has the texts of its programs, too: those of `tests/programs` may change. Together they
have each role of state tables. It is made in the folder `PLACE`, because records name the paths of
what connectors read.
"""

from __future__ import annotations

import dataclasses
import shutil
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

from floodmark.spark.confs import default_config
from floodmark.spark.session import Sessions, open_sessions
from floodmark.testing.program import load
from tests.program_spark import Case, Run, case_of
from tests.upgrade.make_warehouse import of_nobody

PLACE = Path("/var/tmp/floodmark-former")
CHOSEN = (
    "aggregate_approximately_distinct",
    "aggregate_extremum_over_groups_with_dead_arguments",
    "close_joins",
    "close_session",
    "dead_volatile_guarded",
    "over_sessions",
    "sink_append_only",
    "sink_to_files_forced",
    "temporal_joins_and_groups",
)


def cases_in(root: Path) -> list[Case]:
    """Return the programs whose texts lie in a folder."""
    programs = [load(path) for path in sorted(root.glob("*.txt"))]
    return [case_of(p, p, f"p{i:02}_", root, use_dml=True) for i, p in enumerate(programs)]


def advance(run: Run, cases: Sequence[Case], number: int) -> None:
    """Run an epoch of every program that has one of this number."""
    running = [case for case in cases if len(case.program.epochs) >= number]
    run.epoch(number, [(case, case.program.epochs[number - 1]) for case in running])


def make(root: Path, programs: Path, sessions: Sessions) -> None:
    """Run the first epoch of the chosen programs."""
    for name in CHOSEN:
        shutil.copy(programs / f"{name}.txt", root)
    cases = cases_in(root)
    run = Run(root, sessions, cases)
    advance(run, cases, 1)
    run.fm.close()


if __name__ == "__main__":
    PLACE.mkdir()
    config = dataclasses.replace(default_config(), shuffle_partitions=2)
    with open_sessions(config) as opened:
        make(PLACE, Path(__file__).parents[1] / "programs", opened)
    with tarfile.open(sys.argv[1], "w:xz") as archive:
        archive.add(PLACE, ".", filter=of_nobody)
    shutil.rmtree(PLACE)
