"""Scalar expressions, by operator precedence as PostgreSQL has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sqlglot import exp

from floodmark.errors import SqlSyntaxError
from floodmark.sql.call_parser import CallParser
from floodmark.sql.lexer import TokenKind
from floodmark.sql.type_parser import TYPES

_OR, _AND, _NOT, _IS, _COMPARE, _RANGE, _OTHER, _ADD, _MULTIPLY, _POWER, _ZONE = range(1, 12)
_UNARY = 12
_MAX_CHAIN = 300


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
_UNITS = (
    "microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month", "quarter",
    "year", "decade", "century",
)  # fmt: skip
_SPANS = {
    "YEAR": ("MONTH",), "DAY": ("HOUR", "MINUTE", "SECOND"), "HOUR": ("MINUTE", "SECOND"),
    "MINUTE": ("SECOND",),
}  # fmt: skip


class ExpressionParser(CallParser):
    """Parses scalar expressions; the query parser below supplies `subquery`."""

    def expression(self) -> exp.Expression:
        """Parse an expression without alias."""
        return self.nested(lambda: self._infix(0))

    def operand(self) -> exp.Expression:
        """Parse an expression that AND and comparisons end, as in BETWEEN and frames."""
        return self._infix(_RANGE)

    def _infix(self, floor: int) -> exp.Expression:
        start = self.index
        left = self._prefix()
        for _ in range(_MAX_CHAIN):
            grown = self._grow(start, left, floor)
            if grown is None:
                return left
            left = grown
        raise SqlSyntaxError(
            "E0112",
            f"more than {_MAX_CHAIN} operators in one chain",
            span=self.span_from(start),
            hint="use IN (…) or ANY(ARRAY[…]) for long lists",
        )

    def _prefix(self) -> exp.Expression:
        start, token = self.index, self.current
        if token.kind in (TokenKind.WORD, TokenKind.OPERATOR) and token.value in _PREFIX:
            power, make = _PREFIX[token.value]
            if token.value != "not" or not self.at("not", "exists"):
                self.advance()
                return self.node(start, make(this=self.nested(lambda: self._infix(power))))
            self.advance()
            return self.node(start, exp.Not(this=self._prefix()))
        if self.accept("+"):
            return self.nested(lambda: self._infix(_UNARY))
        return self._postfix(start, self.primary())

    def _grow(self, start: int, left: exp.Expression, floor: int) -> exp.Expression | None:
        token = self.current
        if token.kind not in (TokenKind.WORD, TokenKind.OPERATOR):
            return None
        binary = _BINARY.get(token.value)
        if binary is not None:
            return self._binary(start, left, binary) if binary.power > floor else None
        if token.value in _WRONG and token.kind is TokenKind.OPERATOR:
            raise self.unexpected("an operator", hint=_WRONG[token.value])
        if floor < _ZONE and self.accept("at", "time", "zone"):
            zone = self._infix(_ZONE)
            return self.node(start, exp.AtTimeZone(this=left, zone=zone))
        if floor < _RANGE and (ranged := self._range(start, left)) is not None:
            return ranged
        if floor < _IS:
            return self._is(start, left)
        return None

    def _binary(self, start: int, left: exp.Expression, binary: _Binary) -> exp.Expression:
        self.advance()
        if binary.power in (_COMPARE, _OTHER) and self.at_any("any", "some", "all"):
            right = self._quantified()
        else:
            right = self._infix(binary.power)
        result = self.node(start, binary.make(this=left, expression=right))
        following = _BINARY.get(self.current.value)
        if (
            binary.power == _COMPARE
            and self.current.kind is TokenKind.OPERATOR
            and following is not None
            and following.power == _COMPARE
        ):
            raise self.unexpected("AND or the end of the comparison", hint="write a < b AND b < c")
        return self.node(start, exp.Not(this=result)) if binary.negated else result

    def _quantified(self) -> exp.Expression:
        start = self.index
        kind = exp.All if self.advance().value == "all" else exp.Any
        self.expect("(")
        inner = self.subquery_or_expression()
        self.expect(")")
        return self.node(start, kind(this=inner))

    def _range(self, start: int, left: exp.Expression) -> exp.Expression | None:
        negated = self.at("not") and self.peek().value in (
            "between", "in", "like", "ilike", "similar",
        )  # fmt: skip
        word = self.peek().value if negated else self.current.value
        if self.current.kind is not TokenKind.WORD:
            return None
        if word not in ("between", "in", "like", "ilike", "similar"):
            return None
        self.index += 2 if negated else 1
        match word:
            case "between":
                result = self._between(start, left)
            case "in":
                result = self._in(start, left)
            case _:
                result = self._like(start, left, word)
        return self.node(start, exp.Not(this=result)) if negated else result

    def _between(self, start: int, left: exp.Expression) -> exp.Expression:
        symmetric = self.accept("symmetric")
        low = self._infix(_RANGE)
        self.expect("and", hint="BETWEEN needs two bounds: x BETWEEN low AND high")
        high = self._infix(_RANGE)
        between = exp.Between(this=left, low=low, high=high, symmetric=symmetric or None)
        return self.node(start, between)

    def _in(self, start: int, left: exp.Expression) -> exp.Expression:
        open_ = self.index
        self.expect("(")
        if self.at_query(enclosed=True):
            query = self.query()
            self.expect(")")
            subquery = self.node(open_, exp.Subquery(this=query))
            return self.node(start, exp.In(this=left, query=subquery))
        items = self.comma_list(self.expression)
        self.expect(")")
        return self.node(start, exp.In(this=left, expressions=items))

    def _like(self, start: int, left: exp.Expression, word: str) -> exp.Expression:
        if word == "similar":
            self.expect("to")
        make = {"like": exp.Like, "ilike": exp.ILike, "similar": exp.SimilarTo}[word]
        pattern = self._quantified() if self.at_any("any", "all") else self._infix(_RANGE)
        result = self.node(start, make(this=left, expression=pattern))
        if self.accept("escape"):
            return self.node(start, exp.Escape(this=result, expression=self._infix(_RANGE)))
        return result

    def _is(self, start: int, left: exp.Expression) -> exp.Expression | None:
        if self.accept("isnull"):
            return self.node(start, exp.Is(this=left, expression=exp.Null()))
        if self.accept("notnull"):
            null = exp.Is(this=left, expression=exp.Null())
            return self.node(start, exp.Not(this=self.node(start, null)))
        if not self.accept("is"):
            return None
        negated = self.accept("not")
        if self.accept("distinct", "from"):
            make = exp.NullSafeEQ if negated else exp.NullSafeNEQ
            return self.node(start, make(this=left, expression=self._infix(_IS)))
        word = self.accept_any(*_TRUTH)
        if word is None:
            raise self.unexpected("NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM after IS")
        result = self.node(start, exp.Is(this=left, expression=_TRUTH[word]()))
        return self.node(start, exp.Not(this=result)) if negated else result

    def _postfix(self, start: int, left: exp.Expression) -> exp.Expression:
        for _ in range(_MAX_CHAIN // 3):
            if self.accept("::"):
                left = self.node(start, exp.Cast(this=left, to=self.data_type()))
            elif self.accept("["):
                left = self._subscript(start, left)
            elif self.at(".") and not isinstance(left, (exp.Literal, exp.Star)):
                left = self._field_access(start, left)
            elif self.accept("collate"):
                collation = self.identifier("a collation")
                left = self.node(start, exp.Collate(this=left, expression=collation))
            else:
                return left
        raise SqlSyntaxError(
            "E0112",
            f"more than {_MAX_CHAIN // 3} casts, subscripts and fields in one chain",
            span=self.span_from(start),
            hint="split the expression: SELECT … FROM (SELECT …) AS q",
        )

    def _field_access(self, start: int, left: exp.Expression) -> exp.Expression:
        self.expect(".")
        if self.at("*"):
            star = self.index
            self.advance()
            return self.node(start, exp.Dot(this=left, expression=self.node(star, exp.Star())))
        field = self.identifier("a field name", any_word=True)
        return self.node(start, exp.Dot(this=left, expression=field))

    def _subscript(self, start: int, left: exp.Expression) -> exp.Expression:
        inner = self.index
        low = None if self.at(":") else self.expression()
        if self.accept(":"):
            high = None if self.at("]") else self.expression()
            low = self.node(inner, exp.Slice(this=low, expression=high))
        self.expect("]")
        return self.node(start, exp.Bracket(this=left, expressions=[low]))

    def primary(self) -> exp.Expression:
        """Parse an expression without operators around it."""
        start, token = self.index, self.current
        match token.kind:
            case TokenKind.NUMBER:
                self.advance()
                return self.node(start, exp.Literal.number(token.value))
            case TokenKind.STRING:
                self.advance()
                return self.node(start, exp.Literal.string(token.value))
            case TokenKind.QUOTED:
                return self.call_or_column()
            case TokenKind.WORD:
                return self._word_primary(start, token.value)
        if self.at("("):
            return self._parenthesis(start)
        if self.at("*"):
            raise self.unexpected(
                "an expression", hint="* stands alone in the SELECT list or in count(*)"
            )
        raise self.unexpected("an expression")

    def _word_primary(self, start: int, word: str) -> exp.Expression:
        if word in ("null", "true", "false"):
            self.advance()
            return self.node(start, _TRUTH[word]())
        if word == "case":
            return self.nested(self.case)
        special = self.special_form(start, word)
        if special is not None:
            return special
        if word == "interval" and self.peek().kind in (TokenKind.STRING, TokenKind.NUMBER):
            return self.interval()
        if word in TYPES and self._at_typed_literal():
            type_ = self.data_type()
            if self.current.kind is not TokenKind.STRING:
                raise self.unexpected("a string after the type")
            text = self.index
            literal = self.node(text, exp.Literal.string(self.advance().value))
            return self.node(start, exp.Cast(this=literal, to=type_))
        return self.call_or_column()

    def _at_typed_literal(self) -> bool:
        """Look whether `type 'text'` follows: a type word, its suffixes, then a string."""
        if self.peek().kind is TokenKind.STRING:
            return True
        words = {"precision", "varying", "with", "without", "time", "zone"}
        ahead = 1
        while self.peek(ahead).kind is TokenKind.WORD and self.peek(ahead).value in words:
            ahead += 1
        if ahead > 1 or self.current.value not in ("numeric", "decimal", "timestamp", "varchar"):
            return ahead > 1 and self.peek(ahead).kind is TokenKind.STRING
        if self.peek(ahead).value != "(":
            return False
        while self.peek(ahead).value not in (")", ";", ""):
            ahead += 1
        return self.peek(ahead + 1).kind is TokenKind.STRING

    def _parenthesis(self, start: int) -> exp.Expression:
        self.expect("(")
        if self.at_query(enclosed=True):
            query = self.nested(self.query)
            self.expect(")")
            return self.node(start, exp.Subquery(this=query))
        items = self.comma_list(self.expression)
        self.expect(")")
        if len(items) > 1:
            return self.node(start, exp.Tuple(expressions=items))
        return self.node(start, exp.Paren(this=items[0]))

    def interval(self) -> exp.Expression:
        """Parse INTERVAL 'text' [unit [TO unit]]; the text is not taken apart."""
        start = self.index
        self.expect("interval")
        text = self.index
        literal = self.node(text, exp.Literal.string(self.advance().value))
        unit = self._unit()
        if unit is not None and self.accept("to"):
            last = self._unit()
            if last is None:
                raise self.unexpected("a unit of time after TO")
            if last.name not in _SPANS.get(unit.name, ()):
                raise SqlSyntaxError(
                    "E0137",
                    f"no interval reaches from {unit.name} to {last.name}",
                    span=self.span_from(start),
                    hint="YEAR TO MONTH, DAY TO HOUR, MINUTE or SECOND, HOUR TO MINUTE or SECOND, "
                    "MINUTE TO SECOND; or a unit alone",
                )
            unit = exp.IntervalSpan(this=unit, expression=last)
        return self.node(start, exp.Interval(this=literal, unit=unit))

    def _unit(self) -> exp.Var | None:
        token = self.current
        singular = "century" if token.value == "centuries" else token.value.removesuffix("s")
        if token.kind is not TokenKind.WORD or singular not in _UNITS:
            return None
        start = self.index
        self.advance()
        return self.node(start, exp.Var(this=singular.upper()))
