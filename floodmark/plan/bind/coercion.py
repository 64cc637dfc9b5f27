"""Types from SQL text, literals, and the casts that the binder inserts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from math import isinf

from sqlglot import exp

from floodmark.digits import whole
from floodmark.errors import BindError, NotSupported, Span
from floodmark.plan.bind.wide_numbers import is_wide
from floodmark.plan.expr.expressions import Cast, Expr, Literal
from floodmark.scalar.casts import cast_value
from floodmark.scalar.functions import RowError
from floodmark.scalar.interval_text import parse_interval
from floodmark.scalar.promotion import common_type
from floodmark.scalar.types import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    JSONB,
    REAL,
    SMALLINT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    VARCHAR,
    Kind,
    SqlType,
    list_of,
    map_of,
    numeric,
    struct_of,
)

_D = exp.DataType.Type
_TYPES = {
    _D.BOOLEAN: BOOLEAN,
    _D.SMALLINT: SMALLINT,
    _D.TINYINT: SMALLINT,
    _D.INT: INT,
    _D.BIGINT: BIGINT,
    _D.FLOAT: REAL,
    _D.DOUBLE: DOUBLE,
    _D.VARCHAR: VARCHAR,
    _D.TEXT: VARCHAR,
    _D.CHAR: VARCHAR,
    _D.VARBINARY: BYTEA,
    _D.BINARY: BYTEA,
    _D.DATE: DATE,
    _D.TIME: TIME,
    _D.TIMESTAMP: TIMESTAMP,
    _D.TIMESTAMPNTZ: TIMESTAMP,
    _D.TIMESTAMPTZ: TIMESTAMPTZ,
    _D.INTERVAL: INTERVAL,
    _D.JSONB: JSONB,
    _D.JSON: JSONB,
    _D.UUID: UUID,
}
_NUMBERS = frozenset({Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.NUMERIC, Kind.REAL, Kind.DOUBLE})
_TIMES = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ})
_TEXTUAL = frozenset(Kind) - {Kind.LIST, Kind.STRUCT, Kind.MAP, Kind.UNKNOWN}


def bind_type(type_: exp.DataType, span: Span | None = None) -> SqlType:
    """Return the SQL type of a parsed type name."""
    arguments = list(type_.expressions)
    if type_.this in _TYPES:
        return _TYPES[type_.this]
    match type_.this:
        case _D.DECIMAL:
            sizes = [whole(e.name) for e in arguments]
            precision, scale = [*sizes, 0][:2] if sizes else (38, 10)
            if not 0 <= scale <= precision <= 38 or precision == 0:
                raise BindError(
                    "E0255",
                    f"numeric({precision},{scale}) does not exist",
                    span=span,
                    hint="a numeric has 1 to 38 digits, and at most as many decimals",
                )
            return numeric(precision, scale)
        case _D.ARRAY | _D.LIST:
            return list_of(bind_type(arguments[0], span))
        case _D.MAP:
            return map_of(bind_type(arguments[0], span), bind_type(arguments[1], span))
        case _D.STRUCT:
            return struct_of(*((e.name, bind_type(e.args["kind"], span)) for e in arguments))
        case _:
            raise BindError(
                "E0256",
                f"there is no type {type_.sql('postgres')}",
                span=span,
                hint="docs/sql.md lists the types",
            )


def text_length(type_: exp.DataType) -> int | None:
    """Return the length of VARCHAR(n) or CHAR(n), to which an explicit cast cuts a text."""
    if type_.this not in (_D.VARCHAR, _D.CHAR) or not type_.expressions:
        return None
    return whole(type_.expressions[0].name)


def number_literal(text: str, span: Span | None) -> Literal:
    """Return the constant of a number as written: the smallest whole type, else NUMERIC.

    E0257 where that would need more than 38 digits.
    """
    if is_wide(text):
        raise _too_wide(text, span)
    if text.isdigit() and whole(text) < 1 << 63:
        value = whole(text)
        return Literal(INT if value < 1 << 31 else BIGINT, value, span=span)
    return decimal_literal(Decimal(text), span)


def interval_literal(node: exp.Interval, span: Span | None) -> Literal:
    """Return the constant of an interval in any of its spellings."""
    unit = node.args.get("unit")
    last = unit.expression if isinstance(unit, exp.IntervalSpan) else unit
    text = str(node.this.name)
    try:
        value = parse_interval(text, None if last is None else str(last.name).lower())
    except RowError:
        raise BindError(
            "E0258",
            f"{text!r} is not a value of type interval",
            span=span,
            hint="such as INTERVAL '5 minutes'",
        ) from None
    return Literal(INTERVAL, value, span=span)


def decimal_literal(value: Decimal, span: Span | None) -> Literal:
    """Return a NUMERIC constant with the digits it is written with; E0257 for more than 38."""
    if is_wide(str(value)):
        raise _too_wide(str(value), span)
    fixed = Decimal(f"{value:f}")
    exponent = fixed.as_tuple().exponent
    assert isinstance(exponent, int)
    scale, digits = max(0, -exponent), len(str(abs(int(fixed)))) if abs(fixed) >= 1 else 0
    return Literal(numeric(max(1, digits + scale), scale), fixed, span=span)


def _too_wide(text: str, span: Span | None) -> BindError:
    hint = "write it as a double: …::double precision"
    if isinf(float(text)):
        hint = "correct the number: no type holds it"
    return BindError("E0257", f"{text} has more than 38 digits", span=span, hint=hint)


def castable(source: SqlType, target: SqlType) -> bool:
    """Tell whether an explicit cast between the types exists."""
    a, b = source.kind, target.kind
    if source == target or a is Kind.UNKNOWN or (a is b and a not in (Kind.LIST, Kind.STRUCT)):
        return True
    if a is Kind.LIST and b is Kind.LIST:
        assert source.element is not None and target.element is not None
        return castable(source.element, target.element)
    if a is Kind.STRUCT and b is Kind.STRUCT:
        return len(source.fields) == len(target.fields) and all(
            castable(f.type, g.type) for f, g in zip(source.fields, target.fields, strict=True)
        )
    if b is Kind.VARCHAR:
        return a in _TEXTUAL
    if a is Kind.VARCHAR:
        return b in _TEXTUAL - {Kind.INTERVAL}
    pairs = {
        (Kind.BOOLEAN, Kind.INT),
        (Kind.INT, Kind.BOOLEAN),
        (Kind.TIME, Kind.INTERVAL),
        (Kind.TIMESTAMP, Kind.TIME),
        (Kind.TIMESTAMPTZ, Kind.TIME),
        (Kind.INTERVAL, Kind.TIME),
        (Kind.JSONB, Kind.BOOLEAN),
    }
    if a is Kind.JSONB and b in _NUMBERS:
        return True
    return (a in _NUMBERS and b in _NUMBERS) or (a in _TIMES and b in _TIMES) or (a, b) in pairs


def coerce(expr: Expr, target: SqlType) -> Expr:
    """Return the expression brought to a type; literals are converted at once.

    Raises `BindError` E0258 for a literal that is not a value of the type, E0259 where no cast
    exists.
    """
    if expr.type == target:
        return expr
    if expr.type == JSONB and (target.is_numeric or target == BOOLEAN):
        # As its text: a string keeps its quotes, so that it is no number. 1.5 becomes 2.
        text = coerce(expr, VARCHAR)
        return coerce(coerce(text, numeric()) if target.is_integer else text, target)
    if isinstance(expr, Literal):
        return _literal(expr, target)
    if not castable(expr.type, target):
        hint = "cast it to text first" if castable(expr.type, VARCHAR) else None
        raise BindError("E0259", f"{expr.type} cannot become {target}", span=expr.span, hint=hint)
    return Cast(target, expr, span=expr.span)


def _literal(expr: Literal, target: SqlType) -> Expr:
    if not castable(expr.type, target):
        raise BindError(
            "E0259",
            f"{expr.type} cannot become {target}",
            span=expr.span,
            hint="use another column, or compute a value of that type",
        )
    try:
        return Literal(target, cast_value(expr.value, expr.type, target), span=expr.span)
    except RowError:
        shown = repr(expr.value) if isinstance(expr.value, str) else str(expr.value)
        raise BindError(
            "E0258",
            f"{shown} is not a value of type {target}",
            span=expr.span,
            hint="correct the literal, or cast the other side",
        ) from None


def coerce_argument(expr: Expr, target: SqlType) -> Expr:
    """Coerce as `coerce`, but give a number that becomes NUMERIC the digits it is written with."""
    if target.kind is Kind.NUMERIC and isinstance(expr, Literal) and expr.value is not None:
        if expr.type.kind is Kind.UNKNOWN:
            _literal(expr, numeric(38, 10))
        if expr.type.kind is Kind.UNKNOWN or expr.type.is_integer:
            return decimal_literal(Decimal(str(expr.value).strip()), expr.span)
    return coerce(expr, target)


def with_digits(exprs: Sequence[Expr]) -> list[Expr]:
    """Give texts that nothing gave a type, beside NUMERIC, the digits they are written with."""
    type_ = common_type([e.type for e in exprs])
    if type_ is None or type_.kind is not Kind.NUMERIC:
        return list(exprs)
    return [coerce_argument(e, type_) if e.type.kind is Kind.UNKNOWN else e for e in exprs]


def unify(
    exprs: Sequence[Expr],
    what: str,
    span: Span | None,
    common: Callable[[Iterable[SqlType]], SqlType | None] = common_type,
) -> list[Expr]:
    """Bring expressions to their common type; E0260 when they have none."""
    exprs = with_digits(exprs)
    type_ = common([e.type for e in exprs])
    if type_ is None:
        types = ", ".join(dict.fromkeys(str(e.type) for e in exprs))
        raise BindError(
            "E0260",
            f"{what} mixes types without a common one: {types}",
            span=span,
            hint="cast some of them, as in x::text",
        )
    return [coerce(e, type_) for e in exprs]


def refuse(message: str, span: Span | None, hint: str | None = None) -> NotSupported:
    """Return the refusal of a kind of expression that is understood."""
    return NotSupported("E0374", message, span=span, hint=hint)


def as_boolean(expr: Expr, code: str, what: str, span: Span | None) -> Expr:
    """Return a condition; `what` says that one is needed where it is none."""
    if expr.type.kind is Kind.UNKNOWN:
        return coerce(expr, BOOLEAN)
    if expr.type != BOOLEAN:
        hint = "compare it with something"
        raise BindError(code, f"{what}, not {expr.type}", span=span, hint=hint)
    return expr
