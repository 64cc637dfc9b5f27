"""Scalar expressions, by operator precedence as PostgreSQL has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sqlglot import exp

from floodmark.errors import SqlSyntaxError
from floodmark.limits import LIMITS
from floodmark.sql.lexer import TokenKind
from floodmark.sql.parser.calls import read_call_or_column, read_subquery_or_expression
from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.literals import is_at_typed_literal, read_interval, read_typed_literal
from floodmark.sql.parser.lookahead import is_at_query
from floodmark.sql.parser.special_forms import read_case, read_special_form
from floodmark.sql.parser.types import TYPES, read_data_type

_OR, _AND, _NOT, _IS, _COMPARE, _RANGE, _OTHER, _ADD, _MULTIPLY, _POWER, _ZONE = range(1, 12)
_UNARY = 12


class _Binary(NamedTuple):
    power: int
    make: Callable[..., exp.Expression]
    negated: bool = False


_BINARY: dict[str, _Binary] = {
    "or": _Binary(_OR, exp.Or),
    "and": _Binary(_AND, exp.And),
    "=": _Binary(_COMPARE, exp.EQ),
    "<>": _Binary(_COMPARE, exp.NEQ),
    "!=": _Binary(_COMPARE, exp.NEQ),
    "<": _Binary(_COMPARE, exp.LT),
    "<=": _Binary(_COMPARE, exp.LTE),
    ">": _Binary(_COMPARE, exp.GT),
    ">=": _Binary(_COMPARE, exp.GTE),
    "||": _Binary(_OTHER, exp.DPipe),
    "->": _Binary(_OTHER, exp.JSONExtract),
    "->>": _Binary(_OTHER, exp.JSONExtractScalar),
    "#>": _Binary(_OTHER, exp.JSONBExtract),
    "#>>": _Binary(_OTHER, exp.JSONBExtractScalar),
    "#-": _Binary(_OTHER, exp.JSONBDeleteAtPath),
    "@>": _Binary(_OTHER, exp.ArrayContainsAll),
    "<@": _Binary(_OTHER, exp.ArrayContainedBy),
    "?": _Binary(_OTHER, exp.JSONBContains),
    "?|": _Binary(_OTHER, exp.JSONBContainsAnyTopKeys),
    "?&": _Binary(_OTHER, exp.JSONBContainsAllTopKeys),
    "&&": _Binary(_OTHER, exp.ArrayOverlaps),
    "~": _Binary(_OTHER, exp.RegexpLike),
    "~*": _Binary(_OTHER, exp.RegexpILike),
    "!~": _Binary(_OTHER, exp.RegexpLike, negated=True),
    "!~*": _Binary(_OTHER, exp.RegexpILike, negated=True),
    "~~": _Binary(_OTHER, exp.Like),
    "~~*": _Binary(_OTHER, exp.ILike),
    "!~~": _Binary(_OTHER, exp.Like, negated=True),
    "!~~*": _Binary(_OTHER, exp.ILike, negated=True),
    "&": _Binary(_OTHER, exp.BitwiseAnd),
    "|": _Binary(_OTHER, exp.BitwiseOr),
    "#": _Binary(_OTHER, exp.BitwiseXor),
    "<<": _Binary(_OTHER, exp.BitwiseLeftShift),
    ">>": _Binary(_OTHER, exp.BitwiseRightShift),
    "+": _Binary(_ADD, exp.Add),
    "-": _Binary(_ADD, exp.Sub),
    "*": _Binary(_MULTIPLY, exp.Mul),
    "/": _Binary(_MULTIPLY, exp.Div),
    "%": _Binary(_MULTIPLY, exp.Mod),
    "^": _Binary(_POWER, exp.Pow),
}
_PREFIX: dict[str, tuple[int, Callable[..., exp.Expression]]] = {
    "not": (_NOT, exp.Not),
    "-": (_UNARY, exp.Neg),
    "~": (_OTHER, exp.BitwiseNot),
}
_WRONG = {
    "==": "equality is a single =",
    ":=": "equality is =, an option is name = value",
    "&&&": "write AND",
    "=>": "named arguments are not part of this language",
    "!": "write NOT",
}
_TRUTH: dict[str, Callable[[], exp.Expression]] = {
    "null": exp.Null,
    "unknown": exp.Null,
    "true": exp.true,
    "false": exp.false,
}


def read_expression(cursor: Cursor) -> exp.Expression:
    """Read an expression without alias."""
    return cursor.descend(_read_infix, 0)


def read_operand(cursor: Cursor) -> exp.Expression:
    """Read an expression that AND and comparisons end, as in BETWEEN and frames."""
    return _read_infix(cursor, _RANGE)


def _read_infix(cursor: Cursor, floor: int) -> exp.Expression:
    start = cursor.index
    left = _read_prefix(cursor)
    for _ in range(LIMITS.chain):
        grown = _grow(cursor, start, left, floor)
        if grown is None:
            return left
        left = grown
    raise SqlSyntaxError(
        "E0112",
        f"more than {LIMITS.chain} operators in one chain",
        span=cursor.span_from(start),
        hint="use IN (…) or ANY(ARRAY[…]) for long lists",
    )


def _read_prefix(cursor: Cursor) -> exp.Expression:
    start, token = cursor.index, cursor.current
    if token.kind in (TokenKind.WORD, TokenKind.OPERATOR) and token.value in _PREFIX:
        power, make = _PREFIX[token.value]
        if token.value != "not" or not cursor.is_at("not", "exists"):
            cursor.advance()
            return cursor.node(start, make(this=cursor.descend(_read_infix, power)))
        cursor.advance()
        return cursor.node(start, exp.Not(this=_read_prefix(cursor)))
    if cursor.accept("+"):
        return cursor.descend(_read_infix, _UNARY)
    return _read_postfix(cursor, start, read_primary(cursor))


def _grow(cursor: Cursor, start: int, left: exp.Expression, floor: int) -> exp.Expression | None:
    token = cursor.current
    if token.kind not in (TokenKind.WORD, TokenKind.OPERATOR):
        return None
    binary = _BINARY.get(token.value)
    if binary is not None:
        return _read_binary(cursor, start, left, binary) if binary.power > floor else None
    if token.value in _WRONG and token.kind is TokenKind.OPERATOR:
        raise cursor.syntax_error("an operator", hint=_WRONG[token.value])
    if floor < _ZONE and cursor.accept("at", "time", "zone"):
        zone = _read_infix(cursor, _ZONE)
        return cursor.node(start, exp.AtTimeZone(this=left, zone=zone))
    if floor < _RANGE and (ranged := _read_range(cursor, start, left)) is not None:
        return ranged
    if floor < _IS:
        return _read_is(cursor, start, left)
    return None


def _read_binary(
    cursor: Cursor, start: int, left: exp.Expression, binary: _Binary
) -> exp.Expression:
    cursor.advance()
    if binary.power in (_COMPARE, _OTHER) and cursor.is_at_any("any", "some", "all"):
        right = _read_quantified(cursor)
    else:
        right = _read_infix(cursor, binary.power)
    result = cursor.node(start, binary.make(this=left, expression=right))
    following = _BINARY.get(cursor.current.value)
    if (
        binary.power == _COMPARE
        and cursor.current.kind is TokenKind.OPERATOR
        and following is not None
        and following.power == _COMPARE
    ):
        raise cursor.syntax_error("AND or the end of the comparison", hint="write a < b AND b < c")
    return cursor.node(start, exp.Not(this=result)) if binary.negated else result


def _read_quantified(cursor: Cursor) -> exp.Expression:
    start = cursor.index
    kind = exp.All if cursor.advance().value == "all" else exp.Any
    cursor.expect("(")
    inner = read_subquery_or_expression(cursor)
    cursor.expect(")")
    return cursor.node(start, kind(this=inner))


def _read_range(cursor: Cursor, start: int, left: exp.Expression) -> exp.Expression | None:
    negated = cursor.is_at("not") and cursor.peek().value in (
        "between", "in", "like", "ilike", "similar",
    )  # fmt: skip
    word = cursor.peek().value if negated else cursor.current.value
    if cursor.current.kind is not TokenKind.WORD:
        return None
    if word not in ("between", "in", "like", "ilike", "similar"):
        return None
    cursor.index += 2 if negated else 1
    match word:
        case "between":
            result = _read_between(cursor, start, left)
        case "in":
            result = _read_in(cursor, start, left)
        case _:
            result = _read_like(cursor, start, left, word)
    return cursor.node(start, exp.Not(this=result)) if negated else result


def _read_between(cursor: Cursor, start: int, left: exp.Expression) -> exp.Expression:
    symmetric = cursor.accept("symmetric")
    low = _read_infix(cursor, _RANGE)
    cursor.expect("and", hint="BETWEEN needs two bounds: x BETWEEN low AND high")
    high = _read_infix(cursor, _RANGE)
    between = exp.Between(this=left, low=low, high=high, symmetric=symmetric or None)
    return cursor.node(start, between)


def _read_in(cursor: Cursor, start: int, left: exp.Expression) -> exp.Expression:
    open_ = cursor.index
    cursor.expect("(")
    if is_at_query(cursor, enclosed=True):
        query = cursor.query()
        cursor.expect(")")
        subquery = cursor.node(open_, exp.Subquery(this=query))
        return cursor.node(start, exp.In(this=left, query=subquery))
    items = cursor.comma_list(Cursor.expression)
    cursor.expect(")")
    return cursor.node(start, exp.In(this=left, expressions=items))


def _read_like(cursor: Cursor, start: int, left: exp.Expression, word: str) -> exp.Expression:
    if word == "similar":
        cursor.expect("to")
    make = {"like": exp.Like, "ilike": exp.ILike, "similar": exp.SimilarTo}[word]
    pattern = (
        _read_quantified(cursor) if cursor.is_at_any("any", "all") else _read_infix(cursor, _RANGE)
    )
    result = cursor.node(start, make(this=left, expression=pattern))
    if cursor.accept("escape"):
        return cursor.node(start, exp.Escape(this=result, expression=_read_infix(cursor, _RANGE)))
    return result


def _read_is(cursor: Cursor, start: int, left: exp.Expression) -> exp.Expression | None:
    if cursor.accept("isnull"):
        return cursor.node(start, exp.Is(this=left, expression=exp.Null()))
    if cursor.accept("notnull"):
        null = exp.Is(this=left, expression=exp.Null())
        return cursor.node(start, exp.Not(this=cursor.node(start, null)))
    if not cursor.accept("is"):
        return None
    negated = cursor.accept("not")
    if cursor.accept("distinct", "from"):
        make = exp.NullSafeEQ if negated else exp.NullSafeNEQ
        return cursor.node(start, make(this=left, expression=_read_infix(cursor, _IS)))
    word = cursor.accept_any(*_TRUTH)
    if word is None:
        raise cursor.syntax_error("NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM after IS")
    result = cursor.node(start, exp.Is(this=left, expression=_TRUTH[word]()))
    return cursor.node(start, exp.Not(this=result)) if negated else result


def _read_postfix(cursor: Cursor, start: int, left: exp.Expression) -> exp.Expression:
    for _ in range(LIMITS.chain // 3):
        if cursor.accept("::"):
            left = cursor.node(start, exp.Cast(this=left, to=read_data_type(cursor)))
        elif cursor.accept("["):
            left = _read_subscript(cursor, start, left)
        elif cursor.is_at(".") and not isinstance(left, (exp.Literal, exp.Star)):
            left = _read_field_access(cursor, start, left)
        elif cursor.accept("collate"):
            collation = cursor.identifier("a collation")
            left = cursor.node(start, exp.Collate(this=left, expression=collation))
        else:
            return left
    raise SqlSyntaxError(
        "E0112",
        f"more than {LIMITS.chain // 3} casts, subscripts and fields in one chain",
        span=cursor.span_from(start),
        hint="split the expression: SELECT … FROM (SELECT …) AS q",
    )


def _read_field_access(cursor: Cursor, start: int, left: exp.Expression) -> exp.Expression:
    cursor.expect(".")
    if cursor.is_at("*"):
        star = cursor.index
        cursor.advance()
        return cursor.node(start, exp.Dot(this=left, expression=cursor.node(star, exp.Star())))
    field = cursor.identifier("a field name", any_word=True)
    return cursor.node(start, exp.Dot(this=left, expression=field))


def _read_subscript(cursor: Cursor, start: int, left: exp.Expression) -> exp.Expression:
    inner = cursor.index
    low = None if cursor.is_at(":") else cursor.expression()
    if cursor.accept(":"):
        high = None if cursor.is_at("]") else cursor.expression()
        low = cursor.node(inner, exp.Slice(this=low, expression=high))
    cursor.expect("]")
    return cursor.node(start, exp.Bracket(this=left, expressions=[low]))


def read_primary(cursor: Cursor) -> exp.Expression:
    """Read an expression without operators around it."""
    start, token = cursor.index, cursor.current
    match token.kind:
        case TokenKind.NUMBER:
            cursor.advance()
            return cursor.node(start, exp.Literal.number(token.value))
        case TokenKind.STRING:
            cursor.advance()
            return cursor.node(start, exp.Literal.string(token.value))
        case TokenKind.QUOTED:
            return read_call_or_column(cursor)
        case TokenKind.WORD:
            return _read_word(cursor, start, token.value)
    if cursor.is_at("("):
        return _read_parenthesis(cursor, start)
    if cursor.is_at("*"):
        raise cursor.syntax_error(
            "an expression", hint="* stands alone in the SELECT list or in count(*)"
        )
    raise cursor.syntax_error("an expression")


def _read_word(cursor: Cursor, start: int, word: str) -> exp.Expression:
    if word in ("null", "true", "false"):
        cursor.advance()
        return cursor.node(start, _TRUTH[word]())
    if word == "case":
        return cursor.descend(read_case)
    special = read_special_form(cursor, start, word)
    if special is not None:
        return special
    if word == "interval" and cursor.peek().kind in (TokenKind.STRING, TokenKind.NUMBER):
        return read_interval(cursor)
    if word in TYPES and is_at_typed_literal(cursor):
        return read_typed_literal(cursor)
    return read_call_or_column(cursor)


def _read_parenthesis(cursor: Cursor, start: int) -> exp.Expression:
    cursor.expect("(")
    if is_at_query(cursor, enclosed=True):
        query = cursor.descend(Cursor.query)
        cursor.expect(")")
        return cursor.node(start, exp.Subquery(this=query))
    items = cursor.comma_list(Cursor.expression)
    cursor.expect(")")
    if len(items) > 1:
        return cursor.node(start, exp.Tuple(expressions=items))
    return cursor.node(start, exp.Paren(this=items[0]))
