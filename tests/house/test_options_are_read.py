"""Each option of the table is obeyed in each place: one without a reader would be ignored."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import product
from pathlib import Path
from types import ModuleType

import pytest

from floodmark.catalog.option_table import CONNECTORS, OPTIONS, SINK_CONNECTORS, OptionPlace as P
from floodmark.connectors import registry

METHODS = {"read_option", "read", "text", "word", "is_on", "option", "_value"}
"""What returns the value of the option that its first argument names."""
GIVEN = {"options", "given", "values"}
"""What a mapping from names to the options of a statement is called."""
CHECKS = {"check_new_sink", "_check_host", "_check_mode", "_refuse_discard"}
"""Functions that refuse a value of an option that others obey."""
ALL = "*"
_SOURCE = {
    "connector": "connectors.registry",
    "format": "plan.declare.definitions",
    "encode": "plan.declare.definitions",
    "on_error": "connectors.files.options",
    "static": "stream.objects.stored",
    "max_rows_per_epoch": "connectors.options",
    "watermark.advance": "plan.declare.clock_options",
    "watermark.idle_after": "plan.declare.clock_options",
    "watermark.max_ahead": "plan.declare.clock_options",
    ALL: "plan.declare.ttl",
}
_VIEW = {
    "snapshot": "catalog.objects",
    "refresh": "stream.passes.refresh",
    "determinism": "stream.ndu.mode",
}
_SINK = {ALL: "stream.objects.external_sink", "determinism": "stream.ndu.mode"}
READERS: Mapping[P, Mapping[str, str]] = {
    P.CONNECTED: _SOURCE,
    P.TABLE: _SOURCE,
    **{
        place: {ALL: registry.CONNECTORS[name].__module__.removeprefix("floodmark.")}
        for name, place in CONNECTORS.items()
    },
    P.DEBEZIUM: {ALL: "connectors.files.options"},
    P.TRANSFORM: {ALL: "catalog.splitting"},
    P.TABLE_AS: {ALL: "stream.objects.table_of_query"},
    P.MATERIALIZED_VIEW: _VIEW,
    P.SINK_INTO: {
        **_VIEW,
        "on_delete": "stream.objects.owners",
        "backfill": "stream.objects.replacement",
        ALL: "stream.objects.sinks",
    },
    **dict.fromkeys((*SINK_CONNECTORS.values(), P.SINK_CSV), _SINK),
    P.COPY: {ALL: "connectors.copy.file"},
    P.COPY_CSV: {ALL: "connectors.copy.file"},
    P.SETTING: {ALL: "warehouse.settings"},
}
"""The module that obeys an option, by place and name."""


class Reads:
    """The names of the options whose values one function uses.

    To drop a value, or to ask only whether a text is there, is no use of it.
    """

    def __init__(self, function: ast.AST, module: ModuleType) -> None:
        self.module = module
        self.bound: dict[str, list[ast.expr]] = {}
        nodes = list(ast.walk(function))
        for node in nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.bound.setdefault(name, []).append(value)
                case (
                    ast.For(target=ast.Name(id=name), iter=values)
                    | ast.comprehension(target=ast.Name(id=name), iter=values)
                ):
                    self.bound.setdefault(name, []).append(values)
        unused = {id(value) for node in nodes for value in _unused(node)}
        self.names = {
            name
            for node in nodes
            if id(node) not in unused
            for key in _keys(node)
            for name in self._texts(key)
        }

    def _texts(self, expr: ast.expr) -> set[str]:
        """Return the texts that an expression can have; those of its items, if it is a tuple."""
        match expr:
            case ast.Constant(value=str(text)):
                return {text}
            case ast.Tuple(elts=items):
                return {text for item in items for text in self._texts(item)}
            case ast.Name(id=name) if name in self.bound:
                return {text for value in self.bound[name] for text in self._texts(value)}
            case ast.Name(id=name):
                return _texts_in(self.module, name)
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                return _texts_in(getattr(self.module, owner, None), name)
            case ast.FormattedValue(value=value):
                return self._texts(value)
            case ast.JoinedStr(values=parts):
                return {"".join(texts) for texts in product(*map(self._texts, parts))}
            case _:
                return set()


def _texts_in(owner: object, name: str) -> set[str]:
    value = getattr(owner, name, None)
    return {value} if isinstance(value, str) else set()


def _unused(node: ast.AST) -> Iterator[ast.expr]:
    """Iterate over the values that a node drops, and texts that it only compares with None."""
    match node:
        case (
            ast.Expr(value=value)
            | ast.Compare(
                left=ast.Call(func=ast.Attribute(attr="text")) as value,
                ops=[ast.Is() | ast.IsNot()],
            )
        ):
            yield value


def _keys(node: ast.AST) -> Iterator[ast.expr]:
    """Iterate over the expression that names the option which a node reads."""
    match node:
        case ast.Call(func=ast.Attribute(attr="read_field"), args=[_, key, *_]):
            yield ast.JoinedStr([ast.Constant("fields.<column>."), key])
        case ast.Call(func=ast.Attribute(attr=name), args=[key, *_]) if name in METHODS:
            yield key
        case (
            ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="get"), args=[key, *_])
            | ast.Subscript(value=ast.Name(id=name), slice=key, ctx=ast.Load())
        ) if name in GIVEN:
            yield key
        case ast.Subscript(value=ast.Call(func=ast.Name(id="specs_of")), slice=key):
            yield key


def names_read(tree: ast.AST, module: ModuleType) -> set[str]:
    """Return the names of the options whose values the functions of a module use."""
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    obeying = (f for f in functions if f.name not in CHECKS)
    return {name for function in obeying for name in Reads(function, module).names}


@cache
def _names_read_by(module: str) -> set[str]:
    loaded = import_module(f"floodmark.{module}")
    assert loaded.__file__ is not None
    return names_read(ast.parse(Path(loaded.__file__).read_text("utf-8")), loaded)


@pytest.mark.parametrize("place", P, ids=lambda place: place.name.lower())
def test_each_option_is_read(place: P) -> None:
    readers = READERS[place]
    names = [spec.name for spec in OPTIONS if place in spec.applies_to]
    modules = {name: readers[name if name in readers else ALL] for name in names}
    assert {n: m for n, m in modules.items() if n not in _names_read_by(m)} == {}


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ('return options.read_option("path")', {"path"}),
        ('options.read_option("path")', set()),
        ('return options.text("path") is None', set()),
        ('return options.has_field("path")', set()),
        ('return options.wrong("path", "", "")', set()),
        ('return row["path"]', set()),
        ('return given["path"].span, values.get("mode")', {"path", "mode"}),
        ('return specs_of(place)["path"].check(option)', {"path"}),
        ('return options.read_field(c, "min")', {"fields.<column>.min"}),
        ('return [options.read(f"csv.{n}") for n in ("null", "quote")]', {"csv.null", "csv.quote"}),
        ("return self.is_on(ALL)", {ALL}),
    ],
)
def test_what_reads_an_option(line: str, names: set[str]) -> None:
    here = import_module(__name__)
    assert names_read(ast.parse(f"def make():\n    {line}"), here) == names
    assert names_read(ast.parse(f"def _check_host():\n    {line}"), here) == set()
