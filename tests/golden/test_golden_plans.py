"""Plans, properties and refusals stay what they are until someone reviews the difference."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.golden.cases import Case, actual, load


@pytest.mark.parametrize("case", load(), ids=lambda c: f"{c.file}-{c.name}".replace(" ", "_"))
def test_plan(case: Case) -> None:
    assert actual(case) == case.expect, "make golden rewrites it; review the difference"


RECOMPUTED = [case for case in load() if re.search(r"\nhelp: .*WITH \(refresh =", case.expect)]


@pytest.mark.parametrize("case", RECOMPUTED, ids=lambda c: c.name.replace(" ", "_"))
def test_what_a_hint_says_can_be_recomputed_can_be(case: Case) -> None:
    plain = re.sub(r" WITH \(determinism = '\w+'\)", "", case.sql)
    recomputed = re.sub(r"(VIEW \w+) AS", r"\1 WITH (refresh = 'full') AS", plain)
    assert recomputed != case.sql
    assert not actual(replace(case, sql=recomputed, runs=True)).startswith("error")
