"""Calls of scalar functions: the overload chosen, arguments coerced, constants folded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from sqlglot import exp

from floodmark.errors import BindError, NotSupported, Span, UserError
from floodmark.plan.bind.coercion import coerce, coerce_argument
from floodmark.plan.expr.expressions import Call, Expr, Literal, Volatile
from floodmark.scalar.functions import REGISTRY, Function, Operand, RowError, nearest_names
from floodmark.scalar.functions.model import NOT_CONSTANT, Var
from floodmark.scalar.functions.overloads import Signature, choose
from floodmark.scalar.types import (
    BOOLEAN,
    DATE,
    INT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    Kind,
    SqlType,
)

CLOCKS: Mapping[str, SqlType] = {
    "now": TIMESTAMPTZ,
    "mz_now": TIMESTAMPTZ,
    "proctime": TIMESTAMPTZ,
    "current_timestamp": TIMESTAMPTZ,
    "transaction_timestamp": TIMESTAMPTZ,
    "statement_timestamp": TIMESTAMPTZ,
    "localtimestamp": TIMESTAMP,
    "current_date": DATE,
    "current_time": TIME,
    "localtime": TIME,
}
"""What reads the epoch's time, and its type."""
_SWAPPED = {"+": "+", "*": "*"}
_SYMBOLS = frozenset(
    [
        "+",
        "-",
        "*",
        "/",
        "%",
        "^",
        "=",
        "<>",
        "<",
        "<=",
        ">",
        ">=",
        "||",
        "&",
        "|",
        "#",
        "<<",
        ">>",
        "->",
        "->>",
        "#>",
        "#>>",
        "@>",
        "<@",
        "?",
        "?|",
        "?&",
        "#-",
        "~",
        "~*",
        "&&",
    ]
)


def bind_call(name: str, args: Sequence[Expr], span: Span | None) -> Expr:
    """Return the call of a registered function.

    Raises `BindError` E0269 for an unknown function and E0270 for arguments that fit none of its
    overloads; `NotSupported` E0375 for an argument that must be a literal.
    """
    function, arguments = choose_overload(name, REGISTRY.get(name, ()), args, span)
    function, arguments = _constant_last(function, arguments)
    return _fold(function, make_call(name, function, arguments, span), span)


def make_call(name: str, function: Function, arguments: list[Expr], span: Span | None) -> Call:
    """Return the call of an overload; E0375 for an argument that must be a literal."""
    for place in function.constant & set(range(len(arguments))):
        arguments[place] = literal_array(arguments[place])
    check_constants(name, function.constant, arguments)
    operands = [operand_of(a) for a in arguments]
    try:
        type_ = function.result_type(operands)
        # Forms refuse what they cannot print; better now than when the query runs.
        if not function.is_null(operands):
            function.print_value(operands)
    except UserError as problem:
        raise problem.with_span(span) from None
    return Call(type_, name, tuple(arguments), span=span)


def bind_volatile(name: str, position: int, span: Span | None) -> Volatile:
    """Return the call of a built-in volatile function at a place of its statement."""
    function, _ = choose_overload(name, REGISTRY[name], (), span)
    return Volatile(function.result_type(()), name, (), position, span=span)


def operand_of(expr: Expr, sql: str = "x") -> Operand:
    """Return an argument as the registry's forms see it."""
    return Operand(sql, expr.type, expr.value if isinstance(expr, Literal) else NOT_CONSTANT)


_ELSEWHERE = {
    "newid": "gen_random_uuid()",
    "generate_uuid": "gen_random_uuid()",
    "rand": "random()",
    "date_add": "ts + INTERVAL '1 day'",
    "date_sub": "ts - INTERVAL '1 day'",
    "timestampdiff": "extract(epoch FROM b - a)",
    "datediff": "b::date - a::date",
    "ifnull": "coalesce(a, b)",
    "nvl": "coalesce(a, b)",
    "getdate": "now()",
    "sysdate": "now()",
    "collect_list": "array_agg(x)",
    "listagg": "string_agg(x, ',')",
    "group_concat": "string_agg(x, ',')",
    "len": "length(x)",
    "instr": "strpos(text, part)",
    "charindex": "strpos(text, part)",
    "from_unixtime": "to_timestamp(seconds)",
    "unix_timestamp": "extract(epoch FROM ts)",
    "explode": "unnest(array)",
    "dayofmonth": "extract(day FROM ts)",
    "dayofweek": "extract(dow FROM ts)",
    "dayofyear": "extract(doy FROM ts)",
    **{
        part: f"extract({part} FROM ts)"
        for part in ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
    },
}
"""What stands here for functions that other engines have."""


def unknown_function(name: str, known: Iterable[str], span: Span | None) -> BindError:
    """Return the error for a name that is no function, with near ones; `known` are the users'."""
    near = nearest_names(name, known)
    hint = f"did you mean {', '.join(near)}?" if near else None
    if name in _ELSEWHERE:
        hint = f"write {_ELSEWHERE[name]}"
    return BindError("E0269", f"there is no function {name}", span=span, hint=hint)


S = TypeVar("S", bound=Signature)


def choose_overload(
    name: str, overloads: Sequence[S], args: Sequence[Expr], span: Span | None
) -> tuple[S, list[Expr]]:
    """Return the overload for these arguments, and the arguments coerced to it."""
    if not overloads:
        raise unknown_function(name, (), span)
    types = [a.type for a in args]
    found = choose(overloads, types)
    if found is None:
        raise BindError("E0270", _mismatch(name, types), span=span, hint=_overloads(overloads))
    chosen, targets = found
    alike = [chosen.param(i) is Var.T for i in range(len(args))]
    if any(map(_is_untyped_number, args, targets, alike)):
        # Its digits count for the type in common.
        typed = [
            coerce_argument(a, t) if _is_untyped_number(a, t, same) else a
            for a, t, same in zip(args, targets, alike, strict=True)
        ]
        return choose_overload(name, overloads, typed, span)
    coerced = [
        coerce(a, t) if same else coerce_argument(a, t)
        for a, t, same in zip(args, targets, alike, strict=True)
    ]
    return chosen, [
        as_output(a) if given.type == BOOLEAN and chosen.param(i) is Var.OUTPUT else a
        for i, (a, given) in enumerate(zip(coerced, args, strict=True))
    ]


def _is_untyped_number(arg: Expr, target: SqlType, alike: bool) -> bool:
    return alike and arg.type.kind is Kind.UNKNOWN and target.kind is Kind.NUMERIC


def as_output(text: Expr) -> Expr:
    """Return the text of a truth value as clients see it: `t` or `f`."""
    if isinstance(text, Literal):
        return replace(text, value=text.value and text.value[:1])
    return Call(VARCHAR, "left", (text, Literal(INT, 1)), span=text.span)


def _mismatch(name: str, types: Sequence[SqlType]) -> str:
    if name in _SYMBOLS and len(types) == 2:
        return f"there is no operator {types[0]} {name} {types[1]}"
    return f"there is no {name}({', '.join(str(t) for t in types)})"


def _overloads(overloads: Sequence[Signature]) -> str:
    shown = [getattr(o, "signature", "") for o in overloads[:8]]
    return "there is " + "; ".join(shown) + ("; …" if len(overloads) > 8 else "")


def check_constants(name: str, positions: frozenset[int], args: Sequence[Expr]) -> None:
    """Refuse arguments that are not literals where they must be."""
    for position in positions:
        if position < len(args) and not isinstance(args[position], Literal):
            raise NotSupported(
                "E0375",
                f"argument {position + 1} of {name} must be a literal",
                span=args[position].span,
                hint="write the value itself; if it depends on the row, use CASE with a call for "
                "each value",
            )


def literal_array(expr: Expr) -> Expr:
    """Return `ARRAY[…]` of literals as one literal."""
    if not (isinstance(expr, Call) and expr.function == "array"):
        return expr
    items = [a for a in expr.args if isinstance(a, Literal)]
    if len(items) != len(expr.args):
        return expr
    return Literal(expr.type, tuple(item.value for item in items), span=expr.span)


def _constant_last(function: Function, args: list[Expr]) -> tuple[Function, list[Expr]]:
    """Write `5 + x` as `x + 5`, so that only one argument of a sum can carry an order."""
    same = len(args) == 2 and args[0].type.kind is args[1].type.kind
    if function.name in _SWAPPED and same and isinstance(args[0], Literal):
        return function, [args[1], args[0]]
    return function, args


def _fold(function: Function, call: Call, span: Span | None) -> Expr:
    """Compute negated numbers and interval arithmetic at once: watermarks need the constants."""
    literals = [a for a in call.args if isinstance(a, Literal)]
    wanted = call.function == "neg" or call.type.kind is Kind.INTERVAL
    if not wanted or len(literals) != len(call.args) or any(a.value is None for a in literals):
        return call
    types = (tuple(a.type for a in literals), call.type) if function.typed else ()
    try:
        return Literal(call.type, function.python(*types, *(a.value for a in literals)), span=span)
    except RowError:
        raise BindError(
            "E0271",
            "this constant has no value",
            span=span,
            hint="correct the constant, or write NULL",
        ) from None


def identifier_name(identifier: exp.Expression) -> str:
    """Return a name as PostgreSQL reads it: lower case unless it is quoted."""
    name = str(identifier.name)
    return name if identifier.args.get("quoted") else name.lower()
