"""The examples of docs/sinks.md hold, and its options are those there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from floodmark.catalog.option_table import OptionPlace, specs_of
from floodmark.connectors.registry import connector_of
from floodmark.limits import LIMITS
from floodmark.testing.program import parse
from tests.program_reference import compile_sql, run_reference

PAGE = (Path(__file__).parents[2] / "docs/sinks.md").read_text()
EXAMPLES = re.findall(r"^```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
(SOURCES,) = re.findall(r"^```sql\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("text", EXAMPLES)
def test_an_example_holds(text: str) -> None:
    found = run_reference(parse("-- An example.\n" + text, "sinks.md"))
    assert not found, "\n\n".join(found)


def test_the_sources_can_be_made() -> None:
    pipeline = compile_sql(SOURCES)
    made = {key: connector_of(pipeline[key], LIMITS) for key in ("customers", "clicks")}
    modes = {key: connector.feed.mode for key, connector in made.items()}  # type: ignore[attr-defined]
    assert modes == {"customers": "change_feed", "clicks": "append"}


def test_each_option_of_delta_sources_is_there() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", PAGE.partition("## Delta tables as sources")[2], re.M)
    assert {*rows, "path"} == {*specs_of(OptionPlace.DELTA)}
