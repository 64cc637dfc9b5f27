"""What the engine imports by a name in a call is listed here: `lint-imports` sees statements alone.

Unseen, the engine could use the oracle of its tests.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.source_trees import HOUSE, module_paths, nodes_of

ORACLE = "reference"
BY_NAME = {
    ("floodmark/__init__.py", "'floodmark.api'"): "`import floodmark` alone costs nothing",
    ("floodmark/scalar/functions/user.py", "module"): "a user's function names its module",
    ("floodmark/spark/remote.py", "'pyspark.sql.connect.client.core'"): "it has no types",
}
"""Which module imports what, as its call says it; and why."""
IMPORTERS = frozenset(("__import__", "import_module", "run_module"))


def engine() -> Iterator[Path]:
    """Yield the modules of the engine and of the Dagster side, without the oracle's own room."""
    yield from (p for p in module_paths() if p.relative_to(HOUSE).parts[0] != ORACLE)
    yield from sorted((HOUSE.parent / "floodmark_dagster").rglob("*.py"))


def imported_by_name(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield what calls import, as it is written, and each other name that an importer gets."""
    nodes = list(nodes)
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in IMPORTERS:
                yield ", ".join(map(ast.unparse, [*node.args, *node.keywords]))
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in IMPORTERS:
                if id(node) not in called:
                    yield ast.unparse(node)
            case ast.alias(name=name, asname=str()) if name in IMPORTERS:
                yield ast.unparse(node)


def test_what_is_imported_by_name_is_listed() -> None:
    found = [
        (path.relative_to(HOUSE.parent).as_posix(), what)
        for path in engine()
        for what in imported_by_name(nodes_of(path))
    ]
    assert sorted(found) == sorted(BY_NAME)


@pytest.mark.parametrize(
    ("planted", "seen"),
    [
        ("importlib.import_module('floodmark.reference.compile')", "'floodmark.reference.compile'"),
        ("import_module('.compile', package=oracle)", "'.compile', package=oracle"),
        ("x = __import__('floodmark.reference')", "'floodmark.reference'"),
        ("builtins.__import__(name)", "name"),
        ("runpy.run_module(f'floodmark.{room}')", "f'floodmark.{room}'"),
        ("load = importlib.import_module", "importlib.import_module"),
        ("from importlib import import_module as load", "import_module as load"),
    ],
)
def test_a_planted_one_is_seen(planted: str, seen: str) -> None:
    tree = ast.parse(f"def f():\n    {planted}")
    assert list(imported_by_name(ast.walk(tree))) == [seen]


def test_statements_are_left_to_lint_imports() -> None:
    text = "import importlib\nfrom importlib import import_module\nfrom floodmark import api as a"
    assert list(imported_by_name(ast.walk(ast.parse(text)))) == []
