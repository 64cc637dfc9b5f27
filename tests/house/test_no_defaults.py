"""A property is said, never left out: operators and properties have no defaults."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from floodmark.stream.ndu.check import Check
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.linear import Linear
from floodmark.stream.operators.pass_through import PassThrough
from floodmark.stream.operators.selection import Selection
from tests.house.tee_operator import StreamTee
from tests.stream.every_node import every_node

FAMILIES = (Linear, PassThrough, Selection)
"""What every operator can be of, new ones too: they say nothing of what updates require."""
STREAM = Path(__file__).parents[2] / "floodmark" / "stream"


def functions(folder: str, within: type[ast.AST]) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield each function of a room that lies in a module, or in a class."""
    for path in sorted((STREAM / folder).glob("*.py")):
        for outer in ast.walk(ast.parse(path.read_text())):
            for node in ast.walk(outer) if isinstance(outer, within) else ():
                if isinstance(node, ast.FunctionDef):
                    yield f"{path.stem}.{node.name}", node


def has_defaults(function: ast.FunctionDef) -> bool:
    given = [*function.args.defaults, *function.args.kw_defaults]
    return any(default is not None for default in given)


def test_methods_of_operators_have_no_defaults() -> None:
    methods = [(name, f) for name, f in functions("operators", ast.ClassDef) if has_defaults(f)]
    # What a class statement says is said of a family alone.
    assert [name for name, _ in methods if name != "base.__init_subclass__"] == []


def test_functions_of_properties_have_no_defaults() -> None:
    assert [name for name, f in functions("properties", ast.Module) if has_defaults(f)] == []


@pytest.mark.parametrize("method", ["derive_insert_only", "check_determinism"])
def test_an_operator_says_what_the_check_of_updates_asks(method: str) -> None:
    assert method not in {name for family in FAMILIES for name in vars(family)}
    unsaid = {method: getattr(StreamOperator, method)}
    with pytest.raises(TypeError, match=f"Forgetful does not say: {method}"):
        type("Forgetful", (StreamTee,), unsaid)


@pytest.mark.parametrize(("strict", "refused"), [(True, []), (False, ["Filter by time/retract"])])
def test_the_check_of_updates_walks_over_each_operator(strict: bool, refused: list[str]) -> None:
    checks = {name: Check(plan, strict) for name, plan in every_node().items()}
    for check in checks.values():
        check.hand(check.plan.root, check.plan.root.names, check.plan.root.names)
    assert [name for name, check in checks.items() if check.violations] == refused
