"""Every program runs on the reference interpreter."""

from __future__ import annotations

from pathlib import Path

import pytest

from floodmark.testing.program import load
from tests.program_reference import run_rebatched, run_reference

PROGRAMS = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_reference_emits_what_the_program_says(path: Path) -> None:
    found = run_reference(load(path))
    assert not found, "\n\n".join(found)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_final_rows_do_not_depend_on_epoch_boundaries(path: Path) -> None:
    program = load(path)
    if "not cut-free" in program.title:
        pytest.skip("the program says that it is not cut-free")
    assert not run_rebatched(program)
