"""Whatever a script says, it is planned or ends in a coded error, and soon."""

from __future__ import annotations

import time

import pytest

from floodmark.errors import FloodmarkError
from tests.sql.mutations import mutated
from tests.sql.planned_scripts import Planner

_LONGEST_S = 10


def check(text: str) -> None:
    """Plan a script; anything but success or a coded error that can be shown fails."""
    started = time.process_time()
    try:
        Planner().script(text)
    except FloodmarkError as error:
        assert error.code.startswith("E") and error.render()
    assert time.process_time() - started < _LONGEST_S, text


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_mutated_scripts_are_planned_or_refused(first: int) -> None:
    for seed in range(first, first + 50):
        check(mutated(seed))


@pytest.mark.long
@pytest.mark.parametrize("first", range(1_000, 11_000, 500))
def test_ten_thousand_mutated_scripts_are_planned_or_refused(first: int) -> None:
    for seed in range(first, first + 500):
        check(mutated(seed))
