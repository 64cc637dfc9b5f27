"""Calls of functions that users created.

An SQL function is put in the place of its call, the arguments in the place of its parameters. A
Python function becomes a `UserCall`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlglot import exp

from floodmark.errors import BindError, FloodmarkError, NotSupported, Span
from floodmark.plan.bind.assignment import assignable
from floodmark.plan.bind.calls import choose_overload
from floodmark.plan.bind.coercion import coerce, refuse
from floodmark.plan.bind.protocol import ExpressionBinder
from floodmark.plan.expr.expressions import Expr, UserCall
from floodmark.scalar.functions.user import UserFunction
from floodmark.scalar.types import SqlType
from floodmark.sql import statements as s
from floodmark.sql.parse import parse_expression, parse_statement

_NUMBERED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\$(\d+)")


@dataclass(frozen=True, slots=True)
class ArgumentScope:
    """The parameters of an SQL function; each name stands for an argument."""

    function: UserFunction
    arguments: Mapping[str, Expr]

    def resolve(self, table: str | None, column: str, span: Span | None) -> Expr:
        """Return the argument of a parameter; E0282 for a name that is none."""
        expr = self.arguments.get(column) if table in (None, self.function.name) else None
        if expr is None:
            known = ", ".join(n for n in self.arguments if not n.startswith("$"))
            raise BindError(
                "E0282",
                f'"{column}" is no parameter of {self.function.name}',
                span=span,
                hint=f"the parameters are {known}" if known else "parameters need names to be used",
            )
        return expr


def bind_user_call(
    binder: ExpressionBinder,
    function: UserFunction,
    node: exp.Expression,
    arguments: list[exp.Expression],
) -> Expr:
    """Return the call of a user's function; E0270 for arguments that do not fit."""
    exact = bind_arguments(binder, function, node, arguments)
    span = binder.span(node)
    if function.language == "python":
        return user_call(function, exact, span)
    body = binder.context.positions.body(node, lambda: body_of(function))
    return replace(bind_body(binder, function, exact, body, span), span=span)


def bind_arguments(
    binder: ExpressionBinder,
    function: UserFunction,
    node: exp.Expression,
    arguments: list[exp.Expression],
) -> list[Expr]:
    """Return the arguments of a call as the parameters have them; E0270 where they do not fit."""
    bound = [binder.bind(a) for a in arguments]
    overload = replace(function.entry, params=tuple(t.kind for t in function.types))
    _, fitting = choose_overload(function.name, (overload,), bound, binder.span(node))
    return [coerce(a, t) for a, t in zip(fitting, function.types, strict=True)]


def user_call(function: UserFunction, taken: Iterable[Expr], span: Span | None) -> UserCall:
    """Return the call of a Python function with these arguments."""
    return UserCall(
        function.gives, function.name, tuple(taken), function.definition, function, span=span
    )


def body_of(function: UserFunction) -> exp.Expression:
    """Return the parsed expression of an SQL function: its text, or the one item of its SELECT."""

    def quote_parameter(match: re.Match[str]) -> str:
        return f'"${match[1]}"' if match[1] else match[0]

    text = _NUMBERED.sub(quote_parameter, function.body.strip().rstrip(";"))
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


def bind_body(
    binder: ExpressionBinder,
    function: UserFunction,
    arguments: Sequence[Expr],
    body: exp.Expression,
    place: Span | None,
    *,
    implicit: bool = False,
) -> Expr:
    """Return the expression of an SQL function over its arguments, of the type that it returns.

    E0284 if the body's type is not cast to that type; with `implicit` also if only a written cast
    does it. Errors are at `place`.
    """
    with _inside(function, place):
        bound = _bind_body(binder, function, arguments, body)
        if implicit and not assignable(bound.type, function.result):
            raise _mismatch(function, bound.type)
        try:
            return coerce(bound, function.result)
        except BindError:
            raise _mismatch(function, bound.type) from None


def _bind_body(
    binder: ExpressionBinder,
    function: UserFunction,
    arguments: Sequence[Expr],
    body: exp.Expression,
) -> Expr:
    """Return the expression of a function over its arguments, of the type that it has there."""

    def refuse_subquery(_: exp.Expression) -> Expr:
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
    inside = replace(binder.context, source=None, subquery=refuse_subquery)
    return binder.with_scope(ArgumentScope(function, named), inside).bind(body)


def _mismatch(function: UserFunction, given: SqlType) -> BindError:
    return BindError(
        "E0284",
        f"return type mismatch in function {function.name}: its expression is {given}, declared is "
        f"{function.result}",
        span=function.span,
        hint="cast it, or change RETURNS",
    )
