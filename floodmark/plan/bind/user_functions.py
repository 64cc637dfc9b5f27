"""Functions that users created: from their statements, and as calls in expressions.

An SQL function is put in the place of its call, the arguments in the place of its parameters. A
Python function becomes a `UserCall`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from floodmark.catalog.objects import CatalogObject, Kind
from floodmark.errors import BindError, FloodmarkError, NotSupported, Span
from floodmark.plan.bind.assignment import assignable
from floodmark.plan.bind.calls import choose_overload
from floodmark.plan.bind.coercion import bind_type, coerce, refuse
from floodmark.plan.bind.context import BindContext
from floodmark.plan.declare.python_texts import check_python
from floodmark.plan.expr.determinism import class_of
from floodmark.plan.expr.expressions import ColumnRef, Expr, UserCall, walk
from floodmark.scalar.functions import AGGREGATES, REGISTRY, SYNONYMS, WINDOWS, Determinism
from floodmark.scalar.functions.user import FunctionKind, UserFunction
from floodmark.scalar.types import SqlType, struct_of
from floodmark.sql import statements as s
from floodmark.sql.parse import parse_expression, parse_statement

if TYPE_CHECKING:
    from floodmark.plan.bind.binder import Binder

Functions = Mapping[str, UserFunction]
_CLASSES = {
    s.Volatility.IMMUTABLE: Determinism.DETERMINISTIC,
    s.Volatility.STABLE: Determinism.STABLE,
    s.Volatility.VOLATILE: Determinism.VOLATILE,
}
MAX_FUNCTION = 5_000
"""What the text of an SQL function has of nodes, those of what it calls in their places."""
_LANGUAGES = ("sql", "python")
_SEVERAL = {FunctionKind.TABLE: "table functions", FunctionKind.AGGREGATE: "aggregates"}
_NUMBERED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\$(\d+)")


@dataclass(frozen=True, slots=True)
class ArgumentScope:
    """The parameters of an SQL function; each name stands for an argument."""

    function: UserFunction
    arguments: Mapping[str, Expr]

    def resolve(self, table: str | None, column: str, span: Span | None) -> Expr:
        """Return the argument of a parameter; E0282 for a name that is none."""
        found = self.arguments.get(column) if table in (None, self.function.name) else None
        if found is None:
            known = ", ".join(n for n in self.arguments if not n.startswith("$"))
            raise BindError(
                "E0282",
                f'"{column}" is no parameter of {self.function.name}',
                span=span,
                hint=f"the parameters are {known}" if known else "parameters need names to be used",
            )
        return found


def functions_of(objects: Iterable[CatalogObject]) -> dict[str, UserFunction]:
    """Return the functions of a catalog by name, in the order of their creation.

    Raises E0283 to E0285 for a definition that does not hold.
    """
    return {o.name: declare(o.statement) for o in objects if o.kind is Kind.FUNCTION}


def declare(statement: s.Definition) -> UserFunction:
    """Return the function that CREATE FUNCTION or CREATE AGGREGATE defines."""
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

    A Python function is compiled, not run (E0280, E0281, E0290, E0297): `check_loaded` is for when
    it is created. The expression of an SQL function is bound to columns.
    """
    if function.language == "python":
        check_python(function)
        return
    parts = _parts_of(function, functions, {})
    if parts > MAX_FUNCTION:
        raise BindError(
            "E0147",
            f"{function.name} grows to {parts:,} parts with what it calls; {MAX_FUNCTION:,} are "
            "the most",
            span=function.span,
            hint="call each function once, and use its value twice in another one: f(g(x))",
        )
    from floodmark.plan.bind.binder import Binder
    from floodmark.plan.bind.scope import QueryScope

    context = BindContext(function.span, functions=functions)
    columns = [ColumnRef(t, n or f"${i}") for i, (n, t) in enumerate(function.parameters, 1)]
    try:
        with _inside(function, function.span):
            bound = _bound(Binder(QueryScope(), context), function, columns, _body(function))
            if not assignable(bound.type, function.result):
                raise _mismatch(function, bound.type)
            bound = _returned(function, bound)
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
            hint="leave IMMUTABLE out: the engine looks into SQL functions itself",
        )


def bind_user_call(
    binder: Binder, function: UserFunction, node: exp.Expression, arguments: list[exp.Expression]
) -> Expr:
    """Return the call of a user's function; E0270 for arguments that do not fit."""
    exact = bind_arguments(binder, function, node, arguments)
    span = binder.span(node)
    if function.language == "python":
        return user_call(function, exact, span)
    body = binder.context.positions.body(node, lambda: _body(function))
    with _inside(function, span):
        return replace(_returned(function, _bound(binder, function, exact, body)), span=span)


def bind_arguments(
    binder: Binder, function: UserFunction, node: exp.Expression, arguments: list[exp.Expression]
) -> list[Expr]:
    """Return the arguments of a call as the parameters have them; E0270 where they do not fit."""
    bound = [binder.bind(a) for a in arguments]
    overload = replace(function.entry, params=tuple(t.kind for t in function.types))
    _, fitting = choose_overload(function.name, (overload,), bound, binder.span(node))
    return [coerce(a, t) for a, t in zip(fitting, function.types, strict=True)]


def user_call(function: UserFunction, taken: Iterable[Expr], span: Span | None) -> UserCall:
    """Return the call of a Python function on what it takes."""
    return UserCall(
        function.gives, function.name, tuple(taken), function.definition, function, span=span
    )


def _parts_of(function: UserFunction, functions: Functions, known: dict[str, int]) -> int:
    """Return how many nodes the text of an SQL function has, that of each call in its place."""
    if function.language != "sql":
        return 1
    if function.name not in known:
        known[function.name] = 0
        nodes = list(_body(function).walk())
        calls = (str(node.this).lower() for node in nodes if isinstance(node, exp.Anonymous))
        called = (functions[name] for name in calls if name in functions)
        known[function.name] = len(nodes) + sum(_parts_of(f, functions, known) for f in called)
    return known[function.name]


def _body(function: UserFunction) -> exp.Expression:
    """Return the parsed expression of an SQL function: its text, or the one item of its SELECT."""

    def named(match: re.Match[str]) -> str:
        return f'"${match[1]}"' if match[1] else match[0]

    text = _NUMBERED.sub(named, function.body.strip().rstrip(";"))
    if not text.lower().startswith("select"):
        return parse_expression(text)
    statement = parse_statement(text)
    query = statement.query if isinstance(statement, s.Select) else None
    plain = isinstance(query, exp.Select) and len(query.expressions) == 1
    if query is None or not plain or any(v for k, v in query.args.items() if k != "expressions"):
        raise NotSupported(
            "E0386",
            "the body of an SQL function is one expression",
            span=function.span,
            hint="write AS $$ SELECT expression $$; a query belongs in a view",
        )
    item = query.expressions[0]
    return item.this if isinstance(item, exp.Alias) else item


@contextmanager
def _inside(function: UserFunction, place: Span | None) -> Iterator[None]:
    """Say of an error in a body, which has no place in the statement, which function it is in."""
    try:
        yield
    except FloodmarkError as problem:
        if problem.span is None:
            problem.message = f"in the function {function.name}: {problem.message}"
        raise problem.with_span(place) from None


def _returned(function: UserFunction, bound: Expr) -> Expr:
    try:
        return coerce(bound, function.result)
    except BindError:
        raise _mismatch(function, bound.type) from None


def _bound(
    binder: Binder, function: UserFunction, arguments: Sequence[Expr], body: exp.Expression
) -> Expr:
    """Return the expression of a function over its arguments, of the type that it has there."""

    def refused(_: exp.Expression) -> Expr:
        raise refuse(
            "a subquery cannot stand in an SQL function",
            None,
            "pass its value as an argument",
        )

    named: dict[str, Expr] = {}
    for number, ((name, _), argument) in enumerate(
        zip(function.parameters, arguments, strict=True), 1
    ):
        named[f"${number}"] = argument
        if name is not None:
            named[name] = argument
    inside = replace(binder.context, source=None, subquery=refused)
    return type(binder)(ArgumentScope(function, named), inside).bind(body)


def _mismatch(function: UserFunction, given: SqlType) -> BindError:
    return BindError(
        "E0284",
        f"return type mismatch in function {function.name}: its expression is {given}, declared is "
        f"{function.result}",
        span=function.span,
        hint="cast it, or change RETURNS",
    )
