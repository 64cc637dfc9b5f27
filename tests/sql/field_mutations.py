"""Statements with another value in one field of one of their nodes.

The fields are those that the node classes have, and the values those that the examples give them;
nothing here names a node or a field.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from enum import Enum
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

from sqlglot import exp

from floodmark.sql import parts, row_statements, statements
from floodmark.sql.normalise import to_sql
from floodmark.sql.parse import parse_script
from floodmark.sql.statements import Statement

_EXAMPLES = (Path(__file__).parent / "examples.sql").read_text()
_MOST = 1
Place = tuple[str, str]
"""A node class and one of its fields."""


@dataclass(frozen=True)
class Mutation:
    """An example with another value in one field."""

    place: Place
    example: int
    make: Callable[[], Statement] = field(compare=False, repr=False)

    def text(self) -> str | None:
        """Return the statement's text; None for what the parser never gives, which has none."""
        try:
            return to_sql(self.make())
        except Exception:
            return None


def setup() -> str:
    """Return the definitions that the examples stand on."""
    return _EXAMPLES.split("\n" + "-" * 80 + "\n")[0]


@cache
def examples() -> tuple[Statement, ...]:
    """Return the statements whose fields are changed."""
    return _between(1)


@cache
def refused() -> tuple[Statement, ...]:
    """Return the statements that are refused as a whole, whatever their fields say."""
    return _between(2)


def _between(part: int) -> tuple[Statement, ...]:
    parts = _EXAMPLES.split("\n" + "-" * 80 + "\n")
    return parse_script(parts[part])


def statement_fields() -> set[Place]:
    """Return every field of every class that statements are made of, places in the text aside."""
    modules = (statements, row_statements, parts)
    made = [c for m in modules for _, c in inspect.getmembers(m, is_dataclass) if _is_ours(c)]
    concrete = [c for c in made if not any(issubclass(d, c) and d is not c for d in made)]
    return {(c.__name__, f.name) for c in concrete for f in fields(c) if _is_said(f.name)}


def node_arguments() -> set[Place]:
    """Return the arguments that the parser gives to query nodes, as its source has them."""
    found = set()
    for path in sorted((Path(inspect.getfile(statements)).parent / "parser").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                kind = getattr(exp, node.func.attr, None)
                if inspect.isclass(kind) and issubclass(kind, exp.Expression):
                    found |= {(f"exp.{kind.__name__}", k.arg) for k in node.keywords if k.arg}
    return found


def given() -> set[Place]:
    """Return the fields that some example gives a value of its own."""
    found = set()
    for statement in (*examples(), *refused()):
        found |= {place for place, _ in _values(statement)}
    return found


def whole_only() -> set[Place]:
    """Return the fields that have a value of their own in what is refused as a whole alone."""
    carried_out = {place for statement in examples() for place, _ in _values(statement)}
    return given() - carried_out


def mutations(number: int) -> Iterator[Mutation]:
    """Yield an example with each of its fields changed."""
    statement = examples()[number]
    for place, make in (*_of_parts(statement), *_of_trees(statement)):
        yield Mutation(place, number, make)


def _is_said(name: str) -> bool:
    return "span" not in name


def _holds(value: Any) -> bool:
    return value not in (None, False, "") and value != [] and value != ()


def _is_ours(kind: type) -> bool:
    """Tell whether a class is one of statements that somebody can write."""
    return kind.__module__.startswith("floodmark.sql") and kind is not statements.RefusedDefinition


def _is_given(part: Any, f: Any) -> bool:
    return _is_said(f.name) and (f.default is MISSING or getattr(part, f.name) != f.default)


def _values(statement: Statement) -> Iterator[tuple[Place, Any]]:
    """Yield what a statement gives the fields of its nodes, each of which has one at all."""
    for part in parts_of(statement):
        for f in fields(part):
            if _is_given(part, f):
                yield (type(part).__name__, f.name), getattr(part, f.name)
    for tree in trees_of(statement):
        for node in tree.walk():
            for name, value in node.args.items():
                if _holds(value):
                    yield (f"exp.{type(node).__name__}", name), value


@cache
def _known() -> dict[Place, list[Any]]:
    """Return the values that the examples give, by field."""
    found: dict[Place, list[Any]] = {}
    for statement in examples():
        for place, value in _values(statement):
            found.setdefault(place, []).append(value)
    return found


@cache
def _arguments_of(kind: str) -> tuple[str, ...]:
    return tuple(sorted({name for of, name in _known() if of == kind}))


def parts_of(value: Any) -> Iterator[Any]:
    """Yield a statement and the parts of it that are made of fields."""
    if is_dataclass(value) and _is_ours(type(value)):
        yield value
        for f in fields(value):
            yield from parts_of(getattr(value, f.name))
    elif isinstance(value, tuple):
        for one in value:
            yield from parts_of(one)


def trees_of(statement: Statement) -> Iterator[exp.Expression]:
    """Yield the expressions of a statement, each as a whole."""
    for part in parts_of(statement):
        for f in fields(part):
            value = getattr(part, f.name)
            each = value if isinstance(value, tuple) else (value,)
            yield from (e for e in each if isinstance(e, exp.Expression))


def _of_parts(
    value: Any, back: Callable[[Any], Statement] = lambda whole: whole
) -> Iterator[tuple[Place, Callable[[], Statement]]]:
    """Yield how to make a statement with another value in each of its fields and their parts.

    `back` puts a value in the place of this one.
    """
    if isinstance(value, tuple):
        for i, one in enumerate(value):
            yield from _of_parts(one, lambda x, i=i: back((*value[:i], x, *value[i + 1 :])))
    if not (is_dataclass(value) and _is_ours(type(value))):
        return
    for f in fields(value):
        if not _is_said(f.name) or not f.init:
            continue
        place, present = (type(value).__name__, f.name), getattr(value, f.name)
        for other in _others(place, present, f):
            yield place, lambda name=f.name, o=other: back(replace(value, **{name: o}))
        yield from _of_parts(present, lambda x, name=f.name: back(replace(value, **{name: x})))


def _others(place: Place, present: Any, f: Any) -> list[Any]:
    """Return other values of a field: its default, less, more, or what other examples give it."""
    found: list[Any] = [] if f.default is MISSING else [f.default]
    match present:
        case bool():
            found = [not present]
        case Enum():
            found += [other for other in type(present) if other is not present]
        case str():
            found.append(present + "_x")
        case (str() as first, *others):
            found += [present[1:], (first + "_x", *others)]
        case tuple() if present:
            found.append(present[1:])
        case exp.Expression():
            found += [v for v in _known()[place] if v != present][:_MOST]
        case _ if is_dataclass(present):
            found += [make() for _, make in islice(_of_parts(present), 3)]
    if not _holds(present):
        found += _known().get(place, [])[:_MOST]
    return [other for other in found if other != present]


def _of_trees(statement: Statement) -> Iterator[tuple[Place, Callable[[], Statement]]]:
    """Yield how to make a statement with another argument in each node of its expressions."""
    for tree in trees_of(statement):
        for i, node in enumerate(tree.walk()):
            kind = f"exp.{type(node).__name__}"
            for name in _arguments_of(kind):
                for other in _other_arguments((kind, name), node.args.get(name)):
                    yield (kind, name), partial(_with_other, statement, tree, i, name, other)


def _with_other(
    statement: Statement, tree: exp.Expression, at: int, name: str, other: Any
) -> Statement:
    copied = tree.copy()
    node = next(n for i, n in enumerate(copied.walk()) if i == at)
    node.set(name, other.copy() if isinstance(other, exp.Expression) else other)
    return with_tree(statement, tree, copied)


def _other_arguments(place: Place, present: Any) -> list[Any]:
    known = [v for v in _known().get(place, []) if not isinstance(v, list)]
    match present:
        case True:
            return [None]
        case str():
            texts = dict.fromkeys(v for v in known if isinstance(v, str) and v != present)
            return [*texts][:_MOST]
        case list() if present:
            copies = [e.copy() for e in present]
            return [copies[1:], copies[::-1]] if len(copies) > 1 else [[]]
        case exp.Expression():
            return [None]
    lists = [v for v in _known().get(place, []) if isinstance(v, list)]
    return [*known[:_MOST], *([e.copy() for e in v] for v in lists[:_MOST])]


def with_tree(value: Any, old: exp.Expression, new: exp.Expression) -> Any:
    """Return a statement in which another expression stands in the place of one."""
    if value is old:
        return new
    if isinstance(value, tuple):
        return tuple(with_tree(one, old, new) for one in value)
    if is_dataclass(value) and _is_ours(type(value)):
        inner = {f.name: getattr(value, f.name) for f in fields(value) if f.init}
        return replace(value, **{k: with_tree(v, old, new) for k, v in inner.items()})
    return value
