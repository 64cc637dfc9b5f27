"""Checks of a Python function without running it: its text is only compiled.

Reading or planning pipeline files runs none of their code. The text and the module of a function
run when it is created, and when rows are computed.
"""

from __future__ import annotations

import ast
import symtable
import sys
import textwrap
import warnings
from collections.abc import Iterator
from importlib.machinery import PathFinder
from importlib.util import find_spec
from inspect import Parameter, Signature

from floodmark.plan.declare.python_functions import (
    METHODS,
    check_aggregate,
    check_signature,
    is_async,
)
from floodmark.scalar.functions.user import (
    FunctionKind,
    UserFunction,
    no_definition,
    no_module,
    text_error,
)

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_REFLECTS = ("exec", "globals", "locals", "vars")
"""What defines names that a compiler does not see."""


def check_python(function: UserFunction) -> None:
    """Refuse a Python function of which it can be told, unrun, that no call has a value.

    Raises E0280 for a module that is not there, E0281 for a text that does not compile or does not
    define the function, E0290 and E0297 where its definition does not take the parameters.
    """
    if not function.is_text:
        _check_module(function)
        return
    text = textwrap.dedent(function.body)
    tree = _parse_module(function, text)
    if _is_open(tree):
        return
    if not _binds(function.name, text):
        raise no_definition(function)
    if [name for part in tree.body for name in _bindable_names(part)].count(function.name) != 1:
        # What comes of several definitions, only running them tells.
        return
    node = next((n for n in tree.body if getattr(n, "name", None) == function.name), None)
    if isinstance(node, ast.ClassDef):
        _check_class(function, node)
    elif isinstance(node, _Function):
        if function.kind is FunctionKind.AGGREGATE:
            check_aggregate(function, is_bare=False)
        _check_call(function, function.signature, node, len(function.types))


def _parse_module(function: UserFunction, text: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            # Loading it says them once more.
            warnings.simplefilter("ignore")
            tree = ast.parse(text, f"<{function.name}>")
            compile(tree, f"<{function.name}>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        hint = "correct the text between the $$"
        raise text_error(function, "compile", problem, hint) from None
    return tree


def _is_open(tree: ast.Module) -> bool:
    """Tell whether a text may define names that it does not show."""
    stars = any(isinstance(n, ast.ImportFrom) and n.names[0].name == "*" for n in ast.walk(tree))
    return stars or any(isinstance(n, ast.Name) and n.id in _REFLECTS for n in ast.walk(tree))


def _binds(name: str, text: str) -> bool:
    names = {s.get_name(): s for s in symtable.symtable(text, "<text>", "exec").get_symbols()}
    symbol = names.get(name)
    return symbol is not None and (symbol.is_assigned() or symbol.is_imported())


def _check_class(function: UserFunction, node: ast.ClassDef) -> None:
    """Look at a class as far as nothing else, a base or a decorator, adds to it."""
    if node.bases or node.keywords or node.decorator_list:
        return
    bound = {name for part in node.body for name in _bindable_names(part)}
    methods = {part.name: part for part in node.body if isinstance(part, _Function)}
    if function.kind is not FunctionKind.AGGREGATE:
        if "__new__" not in bound and "__init__" in methods:
            _check_call(function, function.signature, methods["__init__"], len(function.types) + 1)
        return
    check_aggregate(function, not bound.issuperset(METHODS))
    counts = {"__init__": 0, "accumulate": len(function.types), "finish": 0}
    for name, count in counts.items():
        if name in methods:
            shown = f"the class {node.name}" if name == "__init__" else f"{node.name}.{name}"
            _check_call(function, shown, methods[name], count, is_method=True)


def _bindable_names(part: ast.stmt) -> Iterator[str]:
    """Yield each name that a statement may bind, too many rather than too few."""
    for node in ast.walk(part):
        if isinstance(node, _Function | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.asname or node.name


def _check_call(
    function: UserFunction, name: str, node: _Function, count: int, *, is_method: bool = False
) -> None:
    if node.decorator_list:
        return
    if isinstance(node, ast.AsyncFunctionDef):
        raise is_async(function, name)
    signature = _signature(node.args)
    if is_method and signature.parameters:
        # Of `self`, nobody who calls it speaks.
        first, *others = signature.parameters.values()
        kept = [first] if first.kind is Parameter.VAR_POSITIONAL else []
        signature = signature.replace(parameters=[*kept, *others])
    check_signature(function, name, signature, count)


def _signature(args: ast.arguments) -> Signature:
    positional = [*args.posonlyargs, *args.args]
    required = len(positional) - len(args.defaults)
    parameters = [
        Parameter(
            arg.arg,
            Parameter.POSITIONAL_ONLY
            if i < len(args.posonlyargs)
            else Parameter.POSITIONAL_OR_KEYWORD,
            default=Parameter.empty if i < required else None,
        )
        for i, arg in enumerate(positional)
    ]
    if args.vararg is not None:
        parameters.append(Parameter(args.vararg.arg, Parameter.VAR_POSITIONAL))
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        given = Parameter.empty if default is None else None
        parameters.append(Parameter(arg.arg, Parameter.KEYWORD_ONLY, default=given))
    if args.kwarg is not None:
        parameters.append(Parameter(args.kwarg.arg, Parameter.VAR_KEYWORD))
    return Signature(parameters)


def _check_module(function: UserFunction) -> None:
    """Look for a module the way importing it would, without running the packages around it."""
    first, *inner = function.module_and_name[0].split(".")
    try:
        spec = find_spec(first)
        for i in range(len(inner)):
            if spec is None or spec.submodule_search_locations is None:
                break
            name = ".".join((first, *inner[: i + 1]))
            spec = PathFinder.find_spec(name, spec.submodule_search_locations)
    except (ImportError, ValueError) as problem:
        # A module without a spec, such as __main__, is there.
        if first not in sys.modules:
            raise no_module(function, problem) from None
        return
    if spec is None:
        missing = ModuleNotFoundError(f"No module named {function.module_and_name[0]!r}")
        raise no_module(function, missing)
