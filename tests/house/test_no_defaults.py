"""A property is said, never left out: operators and properties have no defaults."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from floodmark.plan import nodes as n
from floodmark.stream.ndu.check import insert_only
from tests.stream.every_node import unanalysed

STREAM = Path(__file__).parents[2] / "floodmark" / "stream"


def functions(folder: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    for path in sorted((STREAM / folder).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                yield f"{path.stem}.{node.name}", node


def has_defaults(function: ast.FunctionDef) -> bool:
    given = [*function.args.defaults, *function.args.kw_defaults]
    return any(default is not None for default in given)


def test_constructors_of_operators_have_no_defaults() -> None:
    made = [(name, f) for name, f in functions("operators") if f.name == "__init__"]
    assert len(made) > 3
    assert [name for name, f in made if has_defaults(f)] == []


def test_functions_of_properties_have_no_defaults() -> None:
    assert [name for name, f in functions("properties") if has_defaults(f)] == []


def test_the_check_is_told_of_each_node() -> None:
    plans = unanalysed()
    assert {type(plan) for plan in plans.values()} == set(n.NODE_CLASSES)
    for plan in plans.values():
        insert_only(plan)

    class Tee(n.Unary):
        """A node of which nobody has said anything."""

    with pytest.raises(AssertionError, match="Tee does not say"):
        insert_only(Tee(next(iter(plans.values()))))
