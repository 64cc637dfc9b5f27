"""Functions of users, from their CREATE FUNCTION and CREATE AGGREGATE."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from sqlglot import exp

from floodmark.catalog.objects import CatalogObject, ObjectKind
from floodmark.errors import BindError, FloodmarkError, NotSupported
from floodmark.limits import LIMITS
from floodmark.plan.bind.binder import Binder
from floodmark.plan.bind.coercion import bind_type
from floodmark.plan.bind.context import BindContext
from floodmark.plan.bind.scope import QueryScope
from floodmark.plan.bind.user_calls import bind_body, body_of
from floodmark.plan.declare.python_texts import check_python
from floodmark.plan.expr.determinism import class_of
from floodmark.plan.expr.expressions import ColumnRef, walk
from floodmark.scalar.functions import AGGREGATES, REGISTRY, SYNONYMS, WINDOWS, Determinism
from floodmark.scalar.functions.user import FunctionKind, UserFunction
from floodmark.scalar.types import SqlType, struct_of
from floodmark.sql import statements as s

Functions = Mapping[str, UserFunction]
_CLASSES = {
    s.Volatility.IMMUTABLE: Determinism.DETERMINISTIC,
    s.Volatility.STABLE: Determinism.STABLE,
    s.Volatility.VOLATILE: Determinism.VOLATILE,
}
_LANGUAGES = ("sql", "python")
_SEVERAL = {FunctionKind.TABLE: "table functions", FunctionKind.AGGREGATE: "aggregates"}


def functions_of(objects: Iterable[CatalogObject]) -> dict[str, UserFunction]:
    """Return the functions of a catalog by name, in the order of their creation.

    Functions that are refused are left out: nothing can call them.
    """
    out = {}
    for obj in (o for o in objects if o.kind is ObjectKind.FUNCTION):
        if not isinstance(obj.statement, s.RefusedDefinition):
            with suppress(FloodmarkError):
                out[obj.name] = function_of(obj.statement)
    return out


def refusal_of(statement: s.Definition) -> FloodmarkError | None:
    """Return why a function does not hold: E0283 to E0285, or why its text cannot be read."""
    if isinstance(statement, s.RefusedDefinition):
        return statement.refused
    try:
        function_of(statement)
    except FloodmarkError as error:
        return error
    return None


def function_of(statement: s.Definition) -> UserFunction:
    """Return the function that CREATE FUNCTION or CREATE AGGREGATE defines."""
    if isinstance(statement, s.RefusedDefinition):
        raise statement.refused
    assert isinstance(statement, s.CreateFunction | s.CreateAggregate)
    name, language = statement.name.name, statement.language.lower()
    if any(name in known for known in (REGISTRY, AGGREGATES, SYNONYMS, WINDOWS)):
        raise BindError(
            "E0283",
            f"{name} is a built-in function",
            span=statement.name.span,
            hint="choose another name",
        )
    if language not in _LANGUAGES:
        raise NotSupported(
            "E0386",
            f"LANGUAGE {statement.language} is not available",
            span=statement.span,
            hint="write LANGUAGE sql or LANGUAGE python",
        )
    if statement.options:
        raise NotSupported(
            "E0861",
            f"a function has no option {statement.options[0].name}",
            span=statement.options[0].span,
            hint="leave it out",
        )
    kind = _kind_of(statement)
    if language == "sql" and kind is not FunctionKind.SCALAR:
        raise NotSupported(
            "E0386",
            f"LANGUAGE sql is not available for {_SEVERAL[kind]}",
            span=statement.span,
            hint="write it in Python, or as a view",
        )
    parameters = tuple((p.name, bind_type(p.type.type, p.span)) for p in statement.parameters)
    volatility = statement.volatility or s.Volatility.VOLATILE
    return UserFunction(
        name, parameters, _result(statement), language, statement.body, _CLASSES[volatility], kind,
        span=statement.name.span,
    )  # fmt: skip


def _kind_of(statement: s.CreateFunction | s.CreateAggregate) -> FunctionKind:
    if isinstance(statement, s.CreateAggregate):
        return FunctionKind.AGGREGATE
    return FunctionKind.TABLE if statement.returns_table else FunctionKind.SCALAR


def _result(statement: s.CreateFunction | s.CreateAggregate) -> SqlType:
    table = statement.returns_table if isinstance(statement, s.CreateFunction) else ()
    if table:
        return struct_of(*((str(p.name), bind_type(p.type.type, p.span)) for p in table))
    assert statement.returns is not None
    return bind_type(statement.returns.type, statement.returns.span)


def check(function: UserFunction, functions: Functions) -> None:
    """Refuse a function that cannot be called.

    A Python function is compiled, not run (E0280, E0281, E0290, E0297): `load_and_check` runs it
    when it is created. The expression of an SQL function is bound to columns.
    """
    if function.language == "python":
        check_python(function)
        return
    parts = _parts_of(function, functions, {})
    if parts > LIMITS.function_nodes:
        raise BindError(
            "E0147",
            f"{function.name} grows to {parts:,} parts with what it calls; "
            f"{LIMITS.function_nodes:,} are the most",
            span=function.span,
            hint="let each function name its argument once; for a value that is needed twice, "
            "nest the calls: f(g(x))",
        )
    binder = Binder(QueryScope(), BindContext(function.span, functions=functions))
    columns = [ColumnRef(t, n or f"${i}") for i, (n, t) in enumerate(function.parameters, 1)]
    try:
        body, place = body_of(function), function.span
        bound = bind_body(binder, function, columns, body, place, implicit=True)
    except NotSupported as problem:
        if problem.code != "E0375":
            raise
        # An argument that must be a literal may well be one where the function is called.
        return
    declared_weaker = function.determinism is not Determinism.DETERMINISTIC
    varies = any(class_of(part) is not Determinism.DETERMINISTIC for part in walk(bound))
    if not declared_weaker and varies:
        raise BindError(
            "E0285",
            f"{function.name} is declared IMMUTABLE and calls a function that is not",
            span=function.span,
            hint="leave IMMUTABLE out: the engine derives it for SQL functions",
        )


def _parts_of(function: UserFunction, functions: Functions, known: dict[str, int]) -> int:
    """Return how many nodes the text of an SQL function has, that of each call in its place."""
    if function.language != "sql":
        return 1
    if function.name not in known:
        known[function.name] = 0
        nodes = list(body_of(function).walk())
        calls = (str(node.this).lower() for node in nodes if isinstance(node, exp.Anonymous))
        called = (functions[name] for name in calls if name in functions)
        known[function.name] = len(nodes) + sum(_parts_of(f, functions, known) for f in called)
    return known[function.name]
