"""What a docstring names in backticks with a dot, `Class.attribute` or a module's, is there.

So is a file, `name.py`, in the docstring of a package: beside it or below it.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.source_trees import HOUSE, module_paths, tree_of

DOTTED = re.compile(r"(?<!`)`((?:\w+\.)+\w+)(?:\(\))?`(?!`)")
FILE = re.compile(r"`([\w/]+\.py)`")
OUTSIDE = {"DataFrame", "DataFrameReader"}
"""Classes of other projects."""
NO_MODULES = {"floodmark.toml": "a file", "floodmark.type": "a key in the metadata of Delta"}


@cache
def trees() -> dict[str, ast.Module]:
    """Return the syntax tree of each module by its dotted name."""
    return {_dotted(path): tree_of(path) for path in module_paths()}


def _dotted(path: Path) -> str:
    parts = path.relative_to(HOUSE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


@cache
def attributes() -> dict[str, set[str]]:
    """Return the attributes of each class, with those of classes of the house above it."""
    own, above = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for tree in trees().values():
        for found in ast.walk(tree):
            if isinstance(found, ast.ClassDef):
                own[found.name] |= set(_stored(found))
                bases = (base.value if isinstance(base, ast.Subscript) else base
                         for base in found.bases)  # fmt: skip
                above[found.name] |= {ast.unparse(b).rpartition(".")[2] for b in bases}
    for _ in range(10):
        for name, bases_of in above.items():
            own[name] |= {a for base in bases_of & own.keys() for a in own[base]}
    return dict(own)


def _stored(found: ast.AST) -> Iterator[str]:
    """Yield the names that are defined or assigned somewhere below."""
    for node in ast.walk(found):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def is_there(dotted: str) -> bool:
    """Tell whether a dotted name is one of the house, or none that the house could have."""
    head, _, last = dotted.rpartition(".")
    if head.split(".")[0] == "floodmark":
        module = trees().get(head)
        known = dotted in trees() or dotted in NO_MODULES
        return known or (module is not None and last in _stored(module))
    name = head.rpartition(".")[2]
    if not name[:1].isupper() or name in OUTSIDE:
        return True
    return last in attributes().get(name, ())


def test_what_is_named_is_there() -> None:
    missing = [
        f"{path.relative_to(HOUSE)}: {dotted}"
        for path in module_paths()
        for dotted in DOTTED.findall(path.read_text())
        if not is_there(dotted)
    ]
    assert missing == []


def test_files_that_a_package_names_are_there() -> None:
    packages = [path for path in module_paths() if path.name == "__init__.py"]
    named = [
        (path.parent, file)
        for path in packages
        for file in FILE.findall(ast.get_docstring(tree_of(path)) or "")
    ]
    assert named
    assert [f"{of.relative_to(HOUSE)}: {file}" for of, file in named if not (of / file).exists()
            ] == []  # fmt: skip


def test_the_rule_sees_what_is_gone() -> None:
    assert is_there("StreamOperator.own_table") and is_there("StreamTopN.own_table")
    assert not is_there("StreamOperator.own_tables") and not is_there("Properties.own_table")
    assert is_there("floodmark.stream.passes.keep_keys")
    assert not is_there("floodmark.stream.passes.keep_key")
