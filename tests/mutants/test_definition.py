"""A planted bug finds its function wherever it is, and says what to do when it is stale."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.mutants.definition import find

AT, RIGHT, WRONG = "house.kitchen:Stove.heat", "'hot' if warm else 'cold'", "'cold'"
STOVE = """
class Stove:
    def heat(self, warm: bool) -> str:
        said = 'hot' if warm else 'cold'
        return said
"""
REFORMATTED = """
class Stove:
    def heat(
        self,
        warm: bool,
    ) -> str:
        text = (
            # Two words are enough.
            "hot"
            if warm
            else "cold"
        )
        return text
"""


def build(root: Path, **modules: str) -> None:
    """Write the modules of a house."""
    (root / "house").mkdir()
    for name, text in modules.items():
        (root / "house" / f"{name}.py").write_text(text)


@pytest.mark.parametrize("text", [STOVE, REFORMATTED], ids=["as it was", "reformatted"])
@pytest.mark.parametrize("module", ["kitchen", "cellar"])
def test_neither_format_nor_locals_nor_files_matter(tmp_path: Path, module: str, text: str) -> None:
    build(tmp_path, **{"kitchen": "", module: text})
    stove = find(AT, RIGHT, tmp_path)
    assert stove.path == tmp_path / "house" / f"{module}.py"
    local = "said" if text is STOVE else "text"
    right = STOVE.replace("said", local)
    assert stove.replace(RIGHT, WRONG) == ast.unparse(ast.parse(right.replace(RIGHT, WRONG)))


def test_a_function_of_that_name_elsewhere_is_no_other_place(tmp_path: Path) -> None:
    build(tmp_path, kitchen=STOVE, cellar=STOVE)
    assert find(AT, RIGHT, tmp_path).path == tmp_path / "house" / "kitchen.py"


def test_a_constant_has_a_name_too(tmp_path: Path) -> None:
    build(tmp_path, kitchen="COLD, HOT = 0, 1  # degrees\nWARM = 1\n")
    changed = find("house.kitchen:HOT", "(0, 1)", tmp_path).replace("(0, 1)", "(1, 0)")
    assert changed == "COLD, HOT = (1, 0)\nWARM = 1"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (STOVE.replace("'hot'", "'boiling'"), "It is there 0 times:\ndef heat(self, warm"),
        (
            STOVE.replace("return said", f"return said + ({RIGHT})"),
            "It is there 2 times:\ndef heat",
        ),
        (STOVE.replace("heat", "warm_up"), "It is once in house.kitchen:Stove.warm_up.\nName the"),
        ("", f"{AT} is stale: {RIGHT!r}\nName the function that does this work now."),
    ],
    ids=["changed", "twice", "renamed", "gone"],
)
def test_what_is_stale_says_what_to_do(tmp_path: Path, text: str, says: str) -> None:
    build(tmp_path, kitchen=text, cellar="")
    with pytest.raises(AssertionError) as stale:
        find(AT, RIGHT, tmp_path)
    assert says in str(stale.value)


def test_a_function_that_has_moved_twice_is_stale(tmp_path: Path) -> None:
    build(tmp_path, cellar=STOVE, attic=STOVE)
    with pytest.raises(AssertionError, match=r"once in house\.attic:Stove\.heat\.\nIt is once in"):
        find(AT, RIGHT, tmp_path)
