"""The pages for the next engineer name files and rooms that there are, and all rooms."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("docs/internals.md", "CONTRIBUTING.md")


@pytest.mark.parametrize("page", PAGES)
def test_files_that_are_named_are_there(page: str) -> None:
    named = re.findall(r"`((?:floodmark|tests|docs)/[\w/.]+)`", (ROOT / page).read_text())
    assert named and [path for path in named if not (ROOT / path).exists()] == []


def test_every_room_and_single_module_has_one_line() -> None:
    text = (ROOT / "docs/internals.md").read_text().split("## From")[0]
    first = re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE)
    named = sorted(name for cell in first for name in re.findall(r"`(\w+)`", cell))
    rooms = [path.parent.name for path in (ROOT / "floodmark").glob("*/__init__.py")]
    modules = [path.stem for path in (ROOT / "floodmark").glob("[!_]*.py")]
    assert named == sorted(rooms + modules)


def test_every_room_in_a_room_is_named() -> None:
    text = (ROOT / "docs/internals.md").read_text().split("## From")[0]
    inner = {path.parent.name for path in (ROOT / "floodmark").glob("*/*/__init__.py")}
    assert {room for room in inner if f"`{room}/`" not in text} == set()
