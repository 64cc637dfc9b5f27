"""Refuses a Python function that would refuse every row, when it is created."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from floodmark.catalog.functions.user import FunctionKind, UserFunction
from floodmark.errors import BindError

_METHODS = ("accumulate", "finish")


def check_python(function: UserFunction) -> None:
    """Load a Python function, and look at what it takes.

    Raises E0280 and E0281 where it cannot be loaded, E0290 for an aggregate that cannot be computed
    from the values of a group, E0297 for what does not take the declared parameters or is `async`.
    """
    found = function.callable
    if function.kind is FunctionKind.AGGREGATE:
        _check_aggregate(function, found)
    for name, part, count in _parts(function, found):
        _check_call(function, name, part, count)


def _check_aggregate(function: UserFunction, found: object) -> None:
    methods = all(callable(getattr(found, name, None)) for name in _METHODS)
    if (isinstance(found, type) and not methods) or not function.parameters:
        what = "has no parameter" if methods else "has no methods accumulate and finish"
        raise BindError(
            "E0290",
            f"the aggregate {function.name} {what}",
            span=function.span,
            hint="write a class with accumulate(self, value) and finish(self), or a function that "
            "takes the list of the values",
        )


def _parts(
    function: UserFunction, found: Callable[..., Any]
) -> Iterator[tuple[str, Callable[..., Any], int]]:
    """Yield what is called, as people name it, with the number of its arguments."""
    count = len(function.types)
    if not isinstance(found, type) or function.kind is not FunctionKind.AGGREGATE:
        yield function.signature, found, count
        return
    yield f"the class {found.__name__}", found, 0
    for name, taken in zip(_METHODS, (count, 0), strict=True):
        method = inspect.getattr_static(found, name)
        if inspect.isfunction(method):
            yield f"{found.__name__}.{name}", method, taken + 1
        elif isinstance(method, staticmethod | classmethod):
            yield f"{found.__name__}.{name}", getattr(found, name), taken


def _check_call(function: UserFunction, name: str, part: Callable[..., Any], count: int) -> None:
    if inspect.iscoroutinefunction(part) or inspect.isasyncgenfunction(part):
        raise BindError(
            "E0297",
            f"{name} is async: a call gives a coroutine, no value",
            span=function.span,
            hint="write it without async",
        )
    try:
        signature = inspect.signature(part)
    except ValueError:
        # Not every function of C says what it takes.
        return
    try:
        signature.bind(*range(count))
    except TypeError as problem:
        word = "AGGREGATE" if function.kind is FunctionKind.AGGREGATE else "FUNCTION"
        raise BindError(
            "E0297",
            f"{name} cannot be called with its parameters: {problem}",
            span=function.span,
            hint="make the class without arguments; values come to accumulate"
            if part is function.callable and word == "AGGREGATE" and isinstance(part, type)
            else f"let it take what CREATE {word} names, no more and no less",
        ) from None
