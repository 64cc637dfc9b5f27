"""How many random programs the properties of the reference were checked on, and what is in them."""

from __future__ import annotations

import pytest

from floodmark.plan import nodes as n
from tests.property import test_determinism_properties, test_reference_properties
from tests.property.plan_examples import CHECKED, OPERATORS

PROGRAMS = 2_000
OFTEN = 5
"""How many programs an operator has to be in."""
ELSEWHERE = {"Values", "TemporalFilter", "GrowingSeries", "SortBuffer", "CloseSession"}
"""A relation that never changes, and operators that random clocks and `closing_queries` try."""
REPAIRED = {"MaterializeProject"}
"""What `strict` makes of a projection, after the program is drawn."""


@pytest.fixture(autouse=True)
def _all_properties(request: pytest.FixtureRequest) -> None:
    """Skip where not all properties ran before, as they do where all files are selected."""
    assert set(CHECKED) <= {*dir(test_determinism_properties), *dir(test_reference_properties)}
    items = list(request.session.items)
    before = {item.name for item in items[: items.index(request.node)]}
    if not set(CHECKED) <= before:
        pytest.skip("not all properties ran before")


def test_at_least_2000_programs_run_through_the_reference() -> None:
    assert min(CHECKED.values()) > 0
    assert sum(CHECKED.values()) >= PROGRAMS, CHECKED


def test_every_operator_is_in_some_of_them() -> None:
    found = {name for name, count in OPERATORS.items() if count >= OFTEN}
    wanted = {c.__name__ for c in n.NODE_CLASSES} - ELSEWHERE - REPAIRED
    assert wanted <= {name.split()[0] for name in found}
    assert {f"Join {kind.value}" for kind in n.JoinKind} <= found
    assert {f"SetOperation {kind.value}" for kind in n.SetKind} <= found
