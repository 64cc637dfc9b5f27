"""Calls that the binder writes as other expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sqlglot import exp

from floodmark.errors import BindError, Span
from floodmark.plan.bind.calls import bind_call, bind_volatile
from floodmark.plan.bind.coercion import coerce, refuse
from floodmark.plan.bind.protocol import ExpressionBinder
from floodmark.plan.expr.expressions import Call, Cast, Expr, Literal, Now
from floodmark.scalar.functions import REGISTRY
from floodmark.scalar.functions.zones import is_utc
from floodmark.scalar.interval_text import parse_interval
from floodmark.scalar.promotion import as_numeric, common_type
from floodmark.scalar.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    JSONB,
    REAL,
    SMALLINT,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    Kind,
    SqlType,
    leaf,
    list_of,
    with_leaf,
)

_UNITS = {
    **{unit: f"1 {unit}" for unit in ("SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR")},
    "QUARTER": "3 MONTH",
}
_UNITS_TEXT = ", ".join(_UNITS)


def bind_special(binder: ExpressionBinder, name: str, node: exp.Anonymous) -> Expr | None:
    """Return the expression of a call with a special form; None for any other call."""
    counts, form = _FORMS.get(name, ((), None))
    if form is not None and (not counts or len(node.expressions) in counts):
        return form(binder, node)
    wide = name.replace("json_", "jsonb_", 1)
    if name.startswith("json_") and name not in REGISTRY and wide in (*REGISTRY, *_FORMS):
        return bind_special(binder, wide, node) or binder.call(wide, node, node.expressions)
    return None


def bind_array(binder: ExpressionBinder, node: exp.Array) -> Expr:
    """Return `ARRAY[…]`; arrays of nothing but NULL and texts take the type of those beside.

    E0148 where arrays that are written inside of it have different lengths.
    """
    known = [e for e in node.expressions if isinstance(e, exp.Array | exp.Null)]
    shapes = {_shape(e) for e in known}
    if len(shapes) > 1:
        text = "the arrays inside of an array have one length"
        hint = "JSONB can have arrays of any lengths: jsonb_build_array"
        raise BindError("E0148", text, span=binder.span(node), hint=hint)
    typed = [binder.bind(e) for e in node.expressions if not _is_untyped_array(e)]
    element = common_type([e.type for e in typed]) if typed else None
    if element is None or element.kind is not Kind.LIST or len(typed) == len(node.expressions):
        return binder.call("array", node, node.expressions)
    return _array_of(binder, node, list_of(element))


def _shape(node: exp.Expression) -> tuple[int, ...]:
    """Return the lengths of an array that is written out: its own, then its first item's."""
    if not isinstance(node, exp.Array):
        return ()
    inner = node.expressions[:1]
    return (len(node.expressions), *(size for e in inner for size in _shape(e)))


def _is_untyped_array(node: exp.Expression) -> bool:
    return isinstance(node, exp.Array) and all(
        isinstance(e, exp.Null) or bool(e.is_string) or _is_untyped_array(e)
        for e in node.expressions
    )


def _array_of(binder: ExpressionBinder, node: exp.Expression, type_: SqlType) -> Expr:
    if not isinstance(node, exp.Array) or type_.element is None:
        return coerce(binder.bind(node), type_)
    items = [_array_of(binder, e, type_.element) for e in node.expressions]
    span = binder.span(node)
    return bind_call("array", items, span) if items else Literal(type_, (), span=span)


def regex_group(element: Expr) -> Expr:
    """Return an element of an array; of a match's groups, the one group that is asked for."""
    match element:
        case Call(function="subscript", args=(Call(function="regexp_match") as groups, place)):
            if isinstance(place, Literal):
                return bind_call("regexp_match_group", [*groups.args, place], element.span)
    return element


def bind_zone(
    binder: ExpressionBinder, node: exp.Expression, time: exp.Expression, zone: exp.Expression
) -> Expr:
    """Return `time AT TIME ZONE zone`; UTC keeps the order of times, others do not."""
    args = [binder.bind(time), coerce(binder.bind(zone), VARCHAR)]
    utc = isinstance(args[1], Literal) and is_utc(args[1].value)
    return bind_call("timezone" if utc else "at_time_zone", args, binder.span(node))


def _timezone(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    zone, time = node.expressions
    return bind_zone(binder, node, time, zone)


def _date_part(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    return coerce(binder.call("extract", node, node.expressions), DOUBLE)


def _date(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    return coerce(binder.bind(node.expressions[0]), DATE)


def _age(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    span = binder.span(node)
    today = Cast(TIMESTAMP, Cast(DATE, Now(TIMESTAMPTZ, span=span), span=span), span=span)
    return bind_call("age", [today, coerce(binder.bind(node.expressions[0]), TIMESTAMP)], span)


def _if(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    condition, *values = node.expressions
    case = exp.Case(ifs=[exp.If(this=condition, true=values[0])], default=[*values, None][1])
    case.meta.update(node.meta)
    return binder.bind(case)


def _array_to_string(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    items, *marks = (binder.bind(e) for e in node.expressions)
    if items.type.kind is Kind.LIST and leaf(items.type) != BOOLEAN:
        items = coerce(items, with_leaf(items.type, VARCHAR))
    return bind_call("array_to_string", [items, *marks], binder.span(node))


def _nullif(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """Bind `NULLIF(a, b)`: `a` as `a = b` sees it, which is as it is where there is such an `=`."""
    a, b = (binder.bind(e) for e in node.expressions)
    expr, own = bind_call("nullif", [a, b], binder.span(node)), a.type
    if own == REAL or any({own, b.type} <= kin for kin in _COMPARABLE):
        return coerce(expr, own)
    return coerce(expr, as_numeric(own)) if expr.type.kind is Kind.NUMERIC else expr


_COMPARABLE = ({SMALLINT, INT, BIGINT}, {DATE, TIMESTAMP, TIMESTAMPTZ})
"""Types of which PostgreSQL compares any two without a cast; REAL it compares with all numbers."""


def _uuid(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    return bind_volatile(
        "gen_random_uuid", binder.context.positions.number_of(node), binder.span(node)
    )


def _timestampadd(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """Bind `TIMESTAMPADD(unit, count, time)` as `time + count * INTERVAL '1 unit'`."""
    unit, count, time = node.expressions
    word = unit.name.upper().removeprefix("SQL_TSI_")
    span = binder.span(node)
    if word not in _UNITS:
        raise refuse(f"{word or unit.sql()} is no unit of time", span, f"write {_UNITS_TEXT}")
    step = Literal(INTERVAL, parse_interval(_UNITS[word]), span=span)
    return bind_call(
        "+", [binder.bind(time), bind_call("*", [binder.bind(count), step], span)], span
    )


def _to_jsonb(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    return as_jsonb(binder.bind(node.expressions[0]), binder.span(node))


def _build_object(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    span, given = binder.span(node), [binder.bind(e) for e in node.expressions]
    if len(given) % 2:
        raise refuse(
            "jsonb_build_object takes keys and values in pairs",
            span,
            hint="write a value behind each key: jsonb_build_object('a', x, 'b', y)",
        )
    args = [as_jsonb(a, span) if i % 2 else coerce(a, VARCHAR) for i, a in enumerate(given)]
    return bind_call("jsonb_build_object", args, span)


def _build_array(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    span = binder.span(node)
    args = [as_jsonb(binder.bind(e), span) for e in node.expressions]
    return bind_call("jsonb_build_array", args, span)


def as_jsonb(expr: Expr, span: Span | None) -> Expr:
    """Return a value as JSONB: numbers and truth values as such, all else as text."""
    kind = expr.type.kind
    match kind:
        case Kind.JSONB:
            return expr
        case Kind.LIST | Kind.STRUCT | Kind.MAP:
            raise refuse(f"to_jsonb of {expr.type} is not available", span, "build it by its parts")
        case Kind.BOOLEAN:
            return coerce(coerce(expr, VARCHAR), JSONB)
        case _ if expr.type.is_numeric:
            return bind_call("json_number", [coerce(expr, VARCHAR)], span)
        case _:
            text = coerce(expr, VARCHAR)
            if kind in (Kind.TIMESTAMP, Kind.TIMESTAMPTZ):
                parts = (text, Literal(VARCHAR, " "), Literal(VARCHAR, "T"))
                text = Call(VARCHAR, "replace", parts, span=span)
            if kind is Kind.TIMESTAMPTZ:
                text = Call(VARCHAR, "||", (text, Literal(VARCHAR, ":00")), span=span)
            return bind_call("json_text", [text], span)


_FORMS: Mapping[str, tuple[tuple[int, ...], Callable[[ExpressionBinder, exp.Anonymous], Expr]]] = (
    MappingProxyType({
        "date_part": ((2,), _date_part),
        "date": ((1,), _date),
        "age": ((1,), _age),
        "timezone": ((2,), _timezone),
        "if": ((2, 3), _if),
        "nullif": ((2,), _nullif),
        "uuid": ((0,), _uuid),
        "timestampadd": ((3,), _timestampadd),
        "to_jsonb": ((1,), _to_jsonb),
        "to_json": ((1,), _to_jsonb),
        "array_to_string": ((2, 3), _array_to_string),
        "jsonb_build_object": ((), _build_object),
        "jsonb_build_array": ((), _build_array),
    })
)  # fmt: skip
"""The numbers of arguments, empty for any, and how the call is bound."""


def without_collation(node: exp.Collate, span: Span | None) -> exp.Expression:
    """Return a text in the one order that there is, that of its bytes; E0860 for another."""
    name = str(node.expression.name)
    if name.lower() not in _BY_BYTES:
        raise BindError(
            "E0860",
            f'there is no collation "{name}": texts are compared by their bytes',
            span=span,
            hint='leave COLLATE out, or write COLLATE "C"; lower(x) makes capitals equal',
        )
    found: exp.Expression = node.this
    return found


_BY_BYTES = frozenset({"c", "posix", "default", "ucs_basic", "c.utf-8", "c.utf8"})
