"""Functions that users create: what they are, and how a Python one is found and called."""

from __future__ import annotations

import hashlib
import importlib
import re
import reprlib
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from floodmark.cached import cached_property
from floodmark.errors import BindError, Span
from floodmark.scalar.functions.model import Determinism, Function, Operands, RowError, RowErrorCode
from floodmark.scalar.functions.python_values import UserCodeError, collect, from_python, to_python
from floodmark.scalar.types import SqlType, list_of, struct_of

_RAISED = (Exception, SystemExit)
"""What a user's code may raise: `sys.exit()` in it ends a call, not the process."""
_MOST_SAID = 200
"""Characters that are kept of what a user's code says when it raises."""
_MOST_SHOWN = 80
"""Characters that are kept of a text, number or object that has the wrong type."""


class CallError(RowError):
    """A call of a user's function gives no value; `message` is what people are told of it."""

    def __init__(self, code: RowErrorCode, message: str) -> None:
        super().__init__(code)
        self.message = message


class FunctionKind(Enum):
    """What a call of a function stands for; the value is what people read."""

    SCALAR = "function"
    TABLE = "table function"
    AGGREGATE = "aggregate"


@dataclass(frozen=True)
class UserFunction:
    """A function of the catalog.

    `result` of a table function is the STRUCT of its columns. `body` is an SQL expression, a
    `module.function`, or Python text that defines a function of that name.
    """

    name: str
    parameters: tuple[tuple[str | None, SqlType], ...]
    result: SqlType
    language: str
    body: str
    determinism: Determinism
    kind: FunctionKind = FunctionKind.SCALAR
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def types(self) -> tuple[SqlType, ...]:
        """Return the types of the parameters."""
        return tuple(type_ for _, type_ in self.parameters)

    @property
    def takes(self) -> tuple[SqlType, ...]:
        """Return the types of what a call takes: an aggregate the ARRAY of its group's values."""
        if self.kind is not FunctionKind.AGGREGATE:
            return self.types
        if len(self.types) == 1:
            return (list_of(self.types[0]),)
        return (list_of(struct_of(*((f"f{i}", t) for i, t in enumerate(self.types, 1)))),)

    @property
    def gives(self) -> SqlType:
        """Return the type of what a call gives: a table function the ARRAY of its rows."""
        return list_of(self.result) if self.kind is FunctionKind.TABLE else self.result

    @property
    def signature(self) -> str:
        """Return name and parameter types, e.g. `f(integer)`."""
        return f"{self.name}({', '.join(map(str, self.types))})"

    @property
    def definition(self) -> str:
        """Return a digest that changes when the function's meaning may."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]

    @property
    def spark_name(self) -> str:
        """Return the name under which a session knows a Python function."""
        return f"floodmark_{self.definition}"

    @property
    def is_text(self) -> bool:
        """Tell whether the body of a Python function is its text, not the name of a module's."""
        starts = ("def ", "async ", "class ", "@", "from ", "import ")
        return "\n" in self.body or self.body.lstrip().startswith(starts)

    @property
    def module_and_name(self) -> tuple[str, str]:
        """Return the module of a body that names one, and what is meant in it; E0280."""
        module, _, name = self.body.strip().rpartition(".")
        if not module or not all(part.isidentifier() for part in (*module.split("."), name)):
            raise BindError(
                "E0280",
                f"{self.body.strip()!r} is not a module and a function in it",
                span=self.span,
                hint="write AS 'module.function', or AS $$ def … $$",
            )
        return module, name

    @cached_property
    def callable(self) -> Callable[..., Any]:
        """Return the Python object; E0280 for a module and E0281 for a text that has none.

        This runs the text, or imports the module.
        """
        return _from_text(self) if self.is_text else _from_module(self)

    def compute(self, *args: Any) -> Any:
        """Return the value of a call with these arguments.

        Raises `CallError`: FUNCTION_RAISED whatever it raises but KeyboardInterrupt, which may be a
        person's, WRONG_RESULT where the value is none of the declared type.
        """
        try:
            value = self._call(*args)
        except KeyboardInterrupt:
            raise
        except BaseException as problem:
            raise CallError(RowErrorCode.FUNCTION_RAISED, describe_exception(problem)) from None
        try:
            if self.kind is FunctionKind.TABLE and value is not None:
                value = _rows(value, len(self.result.fields))
            return from_python(value, self.gives)
        except UserCodeError as late:
            raise CallError(
                RowErrorCode.FUNCTION_RAISED, describe_exception(late.problem)
            ) from None
        except (RowError, TypeError):
            told = f"gave {_describe_value(value)}, no {_expected_result(self)}"
            raise CallError(RowErrorCode.WRONG_RESULT, told) from None

    def _call(self, *args: Any) -> Any:
        match self.kind:
            case FunctionKind.AGGREGATE:
                return self._aggregate_group(args[0] or ())
            case _:
                return self.callable(*self._arguments(args))

    def _arguments(self, args: Iterable[Any]) -> list[Any]:
        return [to_python(a, t) for a, t in zip(args, self.types, strict=True)]

    def _aggregate_group(self, values: tuple[Any, ...]) -> Any:
        """Return the value over a group's values in order: by a class, or a function of lists."""
        rows = [self._arguments((v,) if len(self.types) == 1 else v) for v in values]
        if not isinstance(self.callable, type):
            return self.callable(*([row[i] for row in rows] for i in range(len(self.types))))
        state = self.callable()
        for row in rows:
            state.accumulate(*row)
        return state.finish()

    def print_call(self, operands: Operands) -> str:
        """Return the Spark text of a call: a struct of `value`, `error` and `message`."""
        # A Spark function needs an argument; the worker does not hand this one on.
        return f"{self.spark_name}({', '.join(x.sql for x in operands) or '0'})"

    @cached_property
    def entry(self) -> Function:
        """Return what the registry says of a Python function; it is called for NULLs as well."""
        return Function(
            self.name,
            tuple(t.kind for t in self.takes),
            self.gives,
            lambda o: f"{self.print_call(o)}.value",
            self.compute,
            strict=False,
            determinism=self.determinism,
            error=lambda o, _: f"{self.print_call(o)}.error",
            ingestion_stable=self.determinism is Determinism.DETERMINISTIC,
        )


def describe_exception(problem: BaseException) -> str:
    """Return what an exception says: one line, not too long, the same whenever it is raised.

    >>> describe_exception(ValueError("no such grade"))
    'ValueError: no such grade'
    """
    try:
        text = f"{type(problem).__name__}: {problem}"
    except _RAISED:
        text = type(problem).__name__
    return _line(text, _MOST_SAID)


def _describe_value(value: Any) -> str:
    """Return a value that is none of the declared type as people read it."""
    short = reprlib.Repr()
    short.maxstring = short.maxother = short.maxlong = _MOST_SHOWN
    return f"{_line(short.repr(value), _MOST_SAID)} ({type(value).__name__})"


def _line(text: str, most: int) -> str:
    text = " ".join(text.encode(errors="replace").decode().split())
    text = re.sub(r"\b0x[0-9a-f]+", "0x…", text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _expected_result(function: UserFunction) -> str:
    """Return what a call should have given: a value of its type, or rows of its columns."""
    if function.kind is not FunctionKind.TABLE:
        return f"value of {function.gives}"
    return f"rows of ({', '.join(str(f.type) for f in function.result.fields)})"


def _rows(rows: Iterable[Any], width: int) -> list[Any]:
    """Return what a table function gave as rows: of one column, what is no tuple is its value."""
    if isinstance(rows, (str, bytes, dict)):
        raise TypeError
    found = collect(rows)
    return found if width > 1 else [r if isinstance(r, tuple) else (r,) for r in found]


def _from_text(function: UserFunction) -> Callable[..., Any]:
    names: dict[str, Any] = {"__name__": f"floodmark_function_{function.name}"}
    try:
        exec(compile(textwrap.dedent(function.body), f"<{function.name}>", "exec"), names)
    except _RAISED as problem:
        hint = "it is run once, when the function is created"
        raise text_error(function, "run", problem, hint) from None
    called = names.get(function.name)
    if not callable(called):
        raise no_definition(function)
    return called  # type: ignore[no-any-return]


def text_error(function: UserFunction, word: str, problem: BaseException, hint: str) -> BindError:
    """Return E0281: the text does not run, or compile."""
    return BindError(
        "E0281",
        f"the Python text of {function.name} does not {word}: {type(problem).__name__}: {problem}",
        span=function.span,
        hint=hint,
    )


def no_definition(function: UserFunction) -> BindError:
    """Return E0281: the text does not define the function."""
    return BindError(
        "E0281",
        f"the Python text does not define {function.name}",
        span=function.span,
        hint=f"write def {function.name}(…): … in it"
        if function.name.isidentifier()
        else "write AS 'module.function': no Python function has such a name",
    )


def _from_module(function: UserFunction) -> Callable[..., Any]:
    module, name = function.module_and_name
    try:
        called = getattr(importlib.import_module(module), name, None)
    except _RAISED as problem:
        raise no_module(function, problem) from None
    if not callable(called):
        raise BindError(
            "E0280",
            f"the module {module} has no function {name}",
            span=function.span,
            hint="the part after the last dot names the function",
        )
    return called  # type: ignore[no-any-return]


def no_module(function: UserFunction, problem: BaseException) -> BindError:
    """Return E0280: the module cannot be imported."""
    return BindError(
        "E0280",
        f"the module {function.module_and_name[0]} cannot be imported: {problem}",
        span=function.span,
        hint="install it, or put its folder on PYTHONPATH",
    )
