"""Plans, properties and refusals stay what they are until someone reviews the difference."""

from __future__ import annotations

import pytest

from tests.golden.cases import Case, actual, load


@pytest.mark.parametrize("case", load(), ids=lambda c: f"{c.file}-{c.name}".replace(" ", "_"))
def test_plan(case: Case) -> None:
    assert actual(case) == case.expect, "make golden rewrites it; review the difference"
