"""Every code that is raised is explained once, and nothing else is."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from floodmark.errors import IntakeCode
from floodmark.scalar.functions import RowErrorCode
from tests.source_trees import module_paths, nodes_of

ROOT = Path(__file__).parents[2]
_CODE = re.compile(r"E\d{4}|A\d{3}")


def test_each_code_has_a_section_and_each_section_a_code(generator: ModuleType) -> None:
    explained, raised = set(generator.sections()), set(_raised())
    assert sorted(raised - explained) == []
    assert sorted(explained - raised) == []


def test_a_code_belongs_to_one_package() -> None:
    owners: dict[str, set[str]] = {}
    for path in module_paths():
        for code in _raised_in(path):
            owners.setdefault(code, set()).add(path.relative_to(ROOT / "floodmark").parts[0])
    assert {code: sorted(names) for code, names in owners.items() if len(names) > 1} == {}


def test_each_section_says_something(generator: ModuleType) -> None:
    empty = [code for code, (title, text) in generator.sections().items() if not (title and text)]
    assert empty == []


def test_page_is_up_to_date(generator: ModuleType) -> None:
    written = (ROOT / "docs" / "errors.md").read_text()
    assert written == generator.page(), "python docs/generate_errors.py writes it"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "generate_errors", ROOT / "docs" / "generate_errors.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _raised() -> Iterator[str]:
    """Yield the codes of all modules, and the reasons of dead letters."""
    for path in module_paths():
        yield from _codes_of(path)
    yield from (code.text for code in (*RowErrorCode, *IntakeCode))


def _raised_in(path: Path) -> Iterator[str]:
    """Yield the codes that a module gives to errors, not those that it asks errors for."""
    for node in nodes_of(path):
        for arg in node.args if isinstance(node, ast.Call) else ():
            if isinstance(arg, ast.Constant) and _CODE.fullmatch(str(arg.value)):
                yield str(arg.value)


def _codes_of(path: Path) -> Iterator[str]:
    for node in nodes_of(path):
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, str) and _CODE.fullmatch(value):
            yield value
