"""Conditions that have been moved stay where they are: plain views are planned once more."""

from __future__ import annotations

from pathlib import Path

import pytest

from floodmark.plan import nodes as n
from floodmark.plan.rules.push_filters import push_all_filters
from floodmark.testing.program import load
from tests.program_reference import compile_sql

PROGRAMS = sorted((Path(__file__).parents[2] / "programs").glob("*.txt"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_plan_is_settled(path: Path) -> None:
    plans = (found.plan for found in compile_sql(load(path).sql).objects.values())
    for plan in plans:
        # What is stored is repaired, and planned no more.
        if plan is not None and not any(isinstance(p, n.MaterializeProject) for p in plan.nodes):
            assert push_all_filters(plan.root) == plan.root
