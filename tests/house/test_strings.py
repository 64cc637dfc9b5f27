"""A string by itself is a docstring, or half of another one that lost its parentheses."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("floodmark", "floodmark_dagster", "tests", "benchmarks", "demo")


def stray_strings(text: str) -> Iterator[int]:
    """Yield the lines of strings that stand in a function after another statement."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = node.body[0]
            inner = (n for n in ast.walk(node) if isinstance(n, ast.Expr) and n is not docstring)
            yield from (n.lineno for n in inner if _is_text(n.value) and not _documents(n, node))


def _is_text(value: ast.expr) -> bool:
    constant = isinstance(value, ast.Constant) and isinstance(value.value, str)
    return constant or isinstance(value, ast.JoinedStr)


def _documents(found: ast.Expr, function: ast.AST) -> bool:
    """Tell whether a string is in a class, or the docstring of a function, inside of another."""
    for node in ast.walk(function):
        if isinstance(node, ast.ClassDef) and found in node.body:
            return True
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.body[0] is found:
            return True
    return False


@pytest.mark.parametrize("room", ROOMS)
def test_no_string_is_a_statement(room: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / room).rglob("*.py"))
        for line in stray_strings(path.read_text())
    ]
    assert found == []


def test_the_rule_sees_half_a_text() -> None:
    text = 'def f(x):\n    """Doc."""\n    if x:\n        a = "one "\n        "two"\n'
    assert list(stray_strings(text)) == [5]
    assert list(stray_strings('class A:\n    x = 1\n    """Doc."""\n')) == []
