"""The modules of the engine and their syntax trees, parsed once in each process."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import floodmark

HOUSE = Path(floodmark.__file__).parent


@cache
def module_paths() -> tuple[Path, ...]:
    """Return the files of all modules, sorted."""
    return tuple(sorted(HOUSE.rglob("*.py")))


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the tree of a module: whoever reads it leaves it as it is."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a module, in the order of `ast.walk`."""
    return tuple(ast.walk(tree_of(path)))
