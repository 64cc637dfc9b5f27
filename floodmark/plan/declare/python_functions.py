"""Refuses a Python function that would refuse every row, when it is created.

`floodmark.plan.declare.python_texts` refuses what can be told without running a line of it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from floodmark.errors import BindError
from floodmark.scalar.functions.user import FunctionKind, UserFunction

METHODS = ("accumulate", "finish")
"""What a class that computes an aggregate has."""


def load_and_check(function: UserFunction) -> None:
    """Load a Python function, which runs its text or module, and look at what it takes.

    Raises E0280 and E0281 where it cannot be loaded, E0290 for an aggregate that cannot be computed
    from the values of a group, E0297 for what does not take the declared parameters or is `async`.
    """
    called = function.callable
    if function.kind is FunctionKind.AGGREGATE:
        methods = all(callable(getattr(called, name, None)) for name in METHODS)
        check_aggregate(function, isinstance(called, type) and not methods)
    for name, part, count in _parts(function, called):
        _check_call(function, name, part, count)


def check_aggregate(function: UserFunction, is_bare: bool) -> None:
    """Raise E0290 for an aggregate without a parameter, or one `is_bare` of its methods."""
    if is_bare or not function.parameters:
        what = "has no methods accumulate and finish" if is_bare else "has no parameter"
        raise BindError(
            "E0290",
            f"the aggregate {function.name} {what}",
            span=function.span,
            hint="write a class with accumulate(self, value) and finish(self), or a function that "
            "takes the list of the values",
        )


def _parts(
    function: UserFunction, called: Callable[..., Any]
) -> Iterator[tuple[str, Callable[..., Any], int]]:
    """Yield what is called, as people name it, with the number of its arguments."""
    count = len(function.types)
    if not isinstance(called, type) or function.kind is not FunctionKind.AGGREGATE:
        yield function.signature, called, count
        return
    yield f"the class {called.__name__}", called, 0
    for name, taken in zip(METHODS, (count, 0), strict=True):
        method = inspect.getattr_static(called, name)
        if inspect.isfunction(method):
            yield f"{called.__name__}.{name}", method, taken + 1
        elif isinstance(method, staticmethod | classmethod):
            yield f"{called.__name__}.{name}", getattr(called, name), taken


def _check_call(function: UserFunction, name: str, part: Callable[..., Any], count: int) -> None:
    if inspect.iscoroutinefunction(part) or inspect.isasyncgenfunction(part):
        raise is_async(function, name)
    try:
        signature = inspect.signature(part)
    except ValueError:
        # Not every function of C says what it takes.
        return
    check_signature(function, name, signature, count)


def is_async(function: UserFunction, name: str) -> BindError:
    """Return E0297 for a part of a function, as people name it, that is `async`."""
    return BindError(
        "E0297",
        f"{name} is async: a call gives a coroutine, no value",
        span=function.span,
        hint="write it without async",
    )


def check_signature(
    function: UserFunction, name: str, signature: inspect.Signature, count: int
) -> None:
    """Raise E0297 where a part of a function cannot be called with so many arguments."""
    try:
        signature.bind(*range(count))
    except TypeError as problem:
        is_aggregate = function.kind is FunctionKind.AGGREGATE
        word = "AGGREGATE" if is_aggregate else "FUNCTION"
        raise BindError(
            "E0297",
            f"{name} cannot be called with its parameters: {problem}",
            span=function.span,
            hint="let the class take no arguments; accumulate takes the values"
            if is_aggregate and name.startswith("the class ")
            else f"let it take what CREATE {word} names, no more and no less",
        ) from None
