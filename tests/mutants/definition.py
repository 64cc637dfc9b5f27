"""The function that a planted bug changes, found by its name and compared as `ast` writes it.

What `ast.unparse` writes does not depend on format, comments, or the file that a function is in.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Definition:
    """A function, a class, or names that are assigned, and the module around it."""

    path: Path
    name: str
    module: ast.Module
    node: ast.stmt

    @property
    def text(self) -> str:
        """Return the definition as `ast` writes it."""
        return ast.unparse(self.node)

    def replace(self, right: str, wrong: str) -> str:
        """Return the text of the module in which the definition is a changed one."""
        (changed,) = ast.parse(self.text.replace(right, wrong)).body
        vars(self.node).update(vars(changed))
        return ast.unparse(self.module)


def find(at: str, right: str, root: Path = ROOT) -> Definition:
    """Return the definition `module:Class.method` that has the text `right` once.

    If it has moved to another module, it is found there.
    """
    module, _, name = at.partition(":")
    path = root / f"{module.replace('.', '/')}.py"
    here = _named(name, [path] if path.is_file() else [])
    fits = _having(right, here)
    if not fits:
        everywhere = sorted((root / module.partition(".")[0]).rglob("*.py"))
        fits = _having(right, _named(name, everywhere))
    if len(fits) != 1:
        texts = [f"It is there {d.text.count(right)} times:\n{d.text}" for d in here]
        also = [f"It is once in {_address(d, root)}." for d in fits or _innermost(right, root, at)]
        raise AssertionError("\n".join((f"{at} is stale: {right!r}", *texts, *also, _TO_DO)))
    return fits[0]


_TO_DO = """Name the function that does this work now. Take as `right` a part of its text, as
printed here, that is there once. The bug has to mean the same; its tests have to catch it."""


def _named(name: str, paths: Iterable[Path]) -> list[Definition]:
    last = name.rpartition(".")[2]
    texts = ((path, path.read_text()) for path in paths)
    return [d for path, text in texts if last in text for d in _definitions(path) if d.name == name]


def _having(right: str, definitions: Iterable[Definition]) -> list[Definition]:
    return [d for d in definitions if d.text.count(right) == 1]


def _innermost(right: str, root: Path, at: str) -> list[Definition]:
    """Return all that have the text, without what is around another one."""
    paths = sorted((root / at.partition(".")[0]).rglob("*.py"))
    found = _having(right, (d for path in paths for d in _definitions(path)))
    around = {(d.path, d.name.rpartition(".")[0]) for d in found}
    return [d for d in found if (d.path, d.name) not in around]


def _definitions(path: Path) -> Iterator[Definition]:
    module = ast.parse(path.read_text())
    return (Definition(path, name, module, node) for name, node in _walk(module.body))


def _walk(body: Iterable[ast.stmt], around: str = "") -> Iterator[tuple[str, ast.stmt]]:
    for node in body:
        match node:
            case ast.ClassDef():
                yield f"{around}{node.name}", node
                yield from _walk(node.body, f"{around}{node.name}.")
            case ast.FunctionDef():
                inner = (n for n in node.body if isinstance(n, ast.FunctionDef))
                yield f"{around}{node.name}", node
                yield from _walk(inner, f"{around}{node.name}.")
            case ast.Assign() | ast.AnnAssign():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = (n for target in targets for n in ast.walk(target))
                yield from ((f"{around}{n.id}", node) for n in names if isinstance(n, ast.Name))


def _address(definition: Definition, root: Path) -> str:
    module = definition.path.relative_to(root).with_suffix("").as_posix().replace("/", ".")
    return f"{module}:{definition.name}"
