"""Plans, properties and refusals stay what they are until someone reviews the difference."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product

import pytest

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.stream.printing.strategies import strategy_text
from floodmark.stream.properties.strategy import recomputes
from tests.golden.cases import Case, actual, explanation, load
from tests.stream.every_node import unanalysed


@pytest.mark.parametrize("case", load(), ids=lambda c: f"{c.file}-{c.name}".replace(" ", "_"))
def test_plan(case: Case) -> None:
    assert actual(case) == case.expect, "make golden rewrites it; review the difference"


def test_every_node_over_every_mode_is_among_them() -> None:
    plans = unanalysed()
    golden = {case.node for case in load()} & set(plans)
    assert golden == set(plans)
    modes = {(type(plans[name]), name.rpartition("/")[2]) for name in golden}
    assert modes == set(product(n.NODE_CLASSES, map(str, ChangelogMode)))


EXPLAINED = [case for case in load() if case.sql and not case.runs]


@pytest.mark.parametrize("case", EXPLAINED, ids=lambda c: c.name.replace(" ", "_"))
def test_what_is_explained_says_whether_it_is_refused(case: Case) -> None:
    refused = re.match(r"error\[(E\d+)\]: (.*)", actual(replace(case, runs=True)))
    said = refused and (f"A108  CREATE refuses it ({refused[1]}): {refused[2]}", refused[0])
    assert any(text in case.expect for text in said) if said else "A108" not in case.expect


PLANNED = [case for case in load() if not case.expect.startswith("error")]


@pytest.mark.parametrize("case", PLANNED, ids=lambda c: f"{c.file}-{c.name}".replace(" ", "_"))
def test_the_text_tells_where_state_is_and_why_rows_are_computed_anew(case: Case) -> None:
    for node in explanation(case).nodes:
        text = "\n".join(cell for cells in node.details for cell in cells)
        assert [t.name for t in node.state if f".{t.name}" not in text] == []
        said = "own table" in text or "target table" in text
        assert said == node.own_table
        how = None if node.emits_on_close else node.strategy
        assert how is None or not recomputes(how) or strategy_text(how) in text


RECOMPUTED = [case for case in load() if re.search(r"\nhelp: .*WITH \(refresh =", case.expect)]


@pytest.mark.parametrize("case", RECOMPUTED, ids=lambda c: c.name.replace(" ", "_"))
def test_what_a_hint_says_can_be_recomputed_can_be(case: Case) -> None:
    plain = re.sub(r" WITH \(determinism = '\w+'\)", "", case.sql)
    recomputed = re.sub(r"(VIEW \w+) AS", r"\1 WITH (refresh = 'full') AS", plain)
    assert recomputed != case.sql
    assert not actual(replace(case, sql=recomputed, runs=True)).startswith("error")
