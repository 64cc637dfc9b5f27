"""The number of a code tells its kind, to people and to what runs a thing again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import floodmark.storage.table
from floodmark.errors import (
    BindError,
    DataError,
    FloodmarkError,
    NotSupported,
    OutOfReach,
    SqlSyntaxError,
    TransientError,
    UserError,
)
from floodmark.stream.objects.analysed import AnalysedObject
from tests.source_trees import HOUSE, module_paths, nodes_of, tree_of

CODE = re.compile(r"E0\d{3}")

HUNDREDS: dict[type[FloodmarkError], str] = {
    FloodmarkError: "6",
    UserError: "34678",
    SqlSyntaxError: "1",
    BindError: "12378",
    NotSupported: "378",
    DataError: "467",
    OutOfReach: "47",
    TransientError: "5",
}
"""Of which hundreds the codes of a class are; as `floodmark.errors` says it."""


def kinds(root: type[FloodmarkError] = FloodmarkError) -> Iterator[type[FloodmarkError]]:
    """Yield a class of errors and all that are made of it, in whichever module."""
    yield root
    for kind in root.__subclasses__():
        yield from kinds(kind)


def raised() -> Iterator[tuple[str, str, str]]:
    """Yield the place, the called name and the code of each call whose first argument is a code."""
    trees = {path: tree_of(path) for path in module_paths()}
    named = {
        target.id: node.value.value
        for tree in trees.values()
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and CODE.fullmatch(str(node.value.value))
    }
    for path in trees:
        for node in nodes_of(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
                first = node.args[0]
                code = first.value if isinstance(first, ast.Constant) else None
                code = named.get(first.id) if isinstance(first, ast.Name) else code
                if isinstance(code, str) and CODE.fullmatch(code):
                    place = f"{path.relative_to(HOUSE)}:{node.lineno}"
                    yield place, node.func.id, code


def test_the_number_of_a_code_tells_its_kind() -> None:
    assert floodmark.storage.table and AnalysedObject  # Their classes are known then.
    known = {kind.__name__: kind for kind in kinds()}
    found = list(raised())
    assert {code for _, name, code in found if name in known} > {"E0459", "E0502", "E0741"}
    wrong = []
    for place, name, code in found:
        kind = known.get(name)
        # What is no class makes an error, or takes one to pieces.
        base = None if kind is None else next(k for k in kind.__mro__ if k in HUNDREDS)
        if not (code[2] != "5" if base is None else code[2] in HUNDREDS[base]):
            wrong.append(f"{place}: {name} {code}")
    assert wrong == []


def test_a_code_has_one_kind() -> None:
    """A code that is a fault of the world in one place is none elsewhere."""
    known = {kind.__name__: kind for kind in kinds()}
    passing: dict[str, set[bool]] = {}
    for _, name, code in raised():
        if name in known:
            passing.setdefault(code, set()).add(issubclass(known[name], TransientError))
    assert [code for code, found in passing.items() if len(found) > 1] == []


def _without_hint(path: Path) -> Iterator[str]:
    """Yield where an error about a statement, E01xx to E03xx, is made without a hint."""
    for node in nodes_of(path):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            code, made = str(node.args[0].value), ast.unparse(node.func)
            named = made in ("BindError", "NotSupported", "SqlSyntaxError", "UserError")
            if named and code < "E0400" and not any(k.arg == "hint" for k in node.keywords):
                yield f"{path.name}:{node.lineno} {code}"


def test_errors_of_statements_say_what_to_do() -> None:
    assert [place for path in module_paths() for place in _without_hint(path)] == []
