"""The examples of docs/tables.md hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from floodmark.testing.program import parse
from tests.program_reference import run_reference

PAGE = (Path(__file__).parents[2] / "docs/tables.md").read_text()
TITLES = re.findall(r"^### (.+)$", PAGE, re.MULTILINE)
EXAMPLES = re.findall(r"^```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("text", EXAMPLES)
def test_an_example_holds(text: str) -> None:
    found = run_reference(parse("-- An example.\n" + text, "tables.md"))
    assert not found, "\n\n".join(found)


def test_each_behaviour_has_an_example() -> None:
    assert len(EXAMPLES) > len(TITLES) > 3
