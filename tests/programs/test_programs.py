"""Every program runs on the reference interpreter."""

from __future__ import annotations

from pathlib import Path

import pytest
from program_format import load
from program_reference import run_reference

PROGRAMS = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_reference_emits_what_the_program_says(path: Path) -> None:
    found = run_reference(load(path))
    assert not found, "\n\n".join(found)
