"""The pictures of the docs are those that the runs give, and the pages show them all."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from docs.generate_pictures import FOLDER, picture
from docs.picture_examples import EXAMPLES
from docs.picture_runs import Example


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_a_picture_is_what_a_run_gives(example: Example) -> None:
    text = picture(example)
    assert (FOLDER / f"{example.name}.svg").read_text(encoding="utf-8") == text, "make docs"
    ET.fromstring(text)


def test_the_page_shows_every_picture_and_no_other() -> None:
    page = (FOLDER.parent / "watermarks.md").read_text(encoding="utf-8")
    assert {path.stem for path in FOLDER.glob("*.svg")} == {e.name for e in EXAMPLES}
    assert all(f"(pictures/{e.name}.svg)" in page for e in EXAMPLES)
