"""The shape of the house: how large rooms are, and in how many files an operator is named."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2] / "floodmark"
LARGEST = 0.15
"""Which part of all lines a room has at most."""
LONGEST = 500
"""How many lines a file has at most."""
OPERATORS = ("LookupJoin", "SetOperation", "TopN")
MOST_FILES = 12
"""In how many files each of them is named at most, its streaming operator included."""
MOST_USES = {
    "LookupJoin": (34, r"is_lookup|LOOKS_UP|n\.Pairing"),
    "Join": (48, r"is_dynamic_filter|n\.Pairing"),
    "TopN": (17, r"n\.OrderedNode"),
    "OverWindow": (32, r"n\.OrderedNode"),
    "Aggregate": (43, None),
}
"""In how many files they are named, or told by what else tells them. A figure may only fall."""


def modules() -> list[Path]:
    return sorted(HOUSE.rglob("*.py"))


def test_no_room_is_large() -> None:
    lines: Counter[str] = Counter()
    for path in modules():
        lines[path.relative_to(HOUSE).parts[0]] += len(path.read_text().splitlines())
    large = {room: n for room, n in lines.items() if n > LARGEST * lines.total()}
    assert large == {}


def test_no_file_is_long() -> None:
    long = {
        path.name: n for path in modules() if (n := len(path.read_text().splitlines())) > LONGEST
    }
    assert long == {}


def _names(path: Path, operator: str) -> bool:
    """Tell whether a module names an operator; sqlglot's `exp.SetOperation` is another class."""
    return re.search(rf"(?<!exp\.)\b(Stream)?{operator}\b", path.read_text()) is not None


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_operator_is_named_in_few_files(operator: str) -> None:
    named = [p for p in modules() if _names(p, operator)]
    assert len(named) <= MOST_FILES


@pytest.mark.parametrize("operator", MOST_USES)
def test_those_that_are_told_by_a_predicate_are_counted_too(operator: str) -> None:
    most, predicates = MOST_USES[operator]
    told = [p for p in modules() if predicates and re.search(rf"\b({predicates})\b", p.read_text())]
    assert len({*told, *(p for p in modules() if _names(p, operator))}) == most


def test_no_other_predicate_hides_a_use() -> None:
    """A guard for one operator is named above, so that who asks it is counted."""
    hides = [
        f.name
        for path in modules()
        for f in ast.walk(ast.parse(path.read_text()))
        if isinstance(f, ast.FunctionDef) and f.returns is not None
        if re.search(r"Type(Guard|Is)\[(\w+\.)?(Stream)?(\w*Join|Aggregate|TopN|SetOperation)\]",
                     ast.unparse(f.returns))
    ]  # fmt: skip
    assert hides == ["is_lookup"]


def test_the_old_house_is_gone() -> None:
    assert not (HOUSE / "runtime").exists() and not (HOUSE / "analysis").exists()


def test_storage_alone_knows_delta() -> None:
    """`lint-imports` looks at imports of `deltalake`, of the rooms that its contract names."""
    text = (HOUSE.parent / "pyproject.toml").read_text()
    contracts = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    (delta,) = (
        c
        for c in contracts
        if c.get("forbidden_modules") == ["deltalake", "floodmark.storage.delta"]
    )
    rooms = {f"floodmark.{path.stem}" for path in HOUSE.iterdir() if path.stem[0] != "_"}
    assert set(delta["source_modules"]) == rooms - {"floodmark.storage"} | {"floodmark_dagster"}
    others = (p for p in modules() if p.relative_to(HOUSE).parts[0] != "storage")
    assert [p.name for p in others if "_delta_log" in p.read_text()] == []
