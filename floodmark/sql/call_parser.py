"""Columns, function calls, window calls and the forms that look like functions but are not."""

from __future__ import annotations

from abc import abstractmethod

from sqlglot import exp

from floodmark.errors import SqlSyntaxError
from floodmark.sql.lexer import TokenKind
from floodmark.sql.type_parser import TypeParser
from floodmark.sql.words import RESERVED

_BARE_CALLS = frozenset(
    [
        "current_timestamp",
        "current_date",
        "current_time",
        "localtimestamp",
        "localtime",
        "current_user",
        "session_user",
        "current_role",
        "current_catalog",
        "current_schema",
    ]
)
_CALLABLE_RESERVED = frozenset({"left", "right"})
_FRAME_SIDES = ("preceding", "following")


class CallParser(TypeParser):
    """Parses names and calls."""

    @abstractmethod
    def expression(self) -> exp.Expression:
        """Parse an expression without alias."""

    @abstractmethod
    def operand(self) -> exp.Expression:
        """Parse an expression that AND and comparisons end."""

    @abstractmethod
    def query(self) -> exp.Expression:
        """Parse a query."""

    @abstractmethod
    def at_query(self, *, enclosed: bool = False) -> bool:
        """Tell whether a query comes next."""

    @abstractmethod
    def order_by(self) -> exp.Order | None:
        """Parse ORDER BY when it comes next."""

    def call_or_column(self) -> exp.Expression:
        """Parse `a`, `a.b`, `a.b.c`, `a.*` or `f(…)` with all its clauses."""
        start, token = self.index, self.current
        word = token.value if token.kind is TokenKind.WORD else ""
        if word in _BARE_CALLS and self.peek().value != "(":
            self.advance()
            return self.node(start, exp.Anonymous(this=word, expressions=[]))
        if self.peek().value == "(" and self.peek().kind is TokenKind.OPERATOR:
            if word in RESERVED and word not in _CALLABLE_RESERVED:
                self.identifier("an expression")
            self.advance()
            return self.call(start, token.value)
        parts = [self.identifier("an expression")]
        while self.at(".") and len(parts) < 4:
            if self.peek().value == "*":
                return self._qualified_star(start, parts)
            self.advance()
            if self.peek().value == "(" and self.current.kind is TokenKind.WORD:
                self._check_function_schema(start, parts)
                return self.call(start, self.advance().value)
            parts.append(self.identifier("a column name", any_word=True))
        names = ("this", "table", "db", "catalog")
        return self.node(start, exp.Column(**dict(zip(names, reversed(parts), strict=False))))

    def _check_function_schema(self, start: int, parts: list[exp.Identifier]) -> None:
        if [part.name for part in parts] not in (["pg_catalog"], ["public"]):
            raise SqlSyntaxError(
                "E0130",
                "functions have no schema",
                span=self.span_from(start),
                hint="leave out what stands in front of the function's name",
            )

    def _qualified_star(self, start: int, parts: list[exp.Identifier]) -> exp.Expression:
        self.expect(".")
        star_at = self.index
        self.expect("*")
        star = self.node(star_at, exp.Star())
        names = ("table", "db", "catalog")
        return self.node(
            start, exp.Column(this=star, **dict(zip(names, reversed(parts), strict=False)))
        )

    def call(self, start: int, name: str) -> exp.Expression:
        """Parse the arguments behind a function's name, and WITHIN GROUP, FILTER, OVER."""
        arguments = self._arguments()
        result: exp.Expression = exp.Anonymous(this=name, expressions=arguments)
        return self._call_clauses(start, self.node(start, result))

    def plain_call(self, start: int, name: str, *arguments: exp.Expression) -> exp.Expression:
        """Make a call of a form that has keywords inside."""
        return self.node(start, exp.Anonymous(this=name, expressions=list(arguments)))

    def _arguments(self) -> list[exp.Expression]:
        self.expect("(")
        if self.accept(")"):
            return []
        if self.at("*"):
            start = self.index
            self.advance()
            self.expect(")")
            return [self.node(start, exp.Star())]
        start = self.index
        distinct = self.accept("distinct")
        if not distinct:
            self.accept("all")
        arguments = [] if self.at("order") else self.comma_list(self._argument)
        if distinct:
            arguments = [self.node(start, exp.Distinct(expressions=arguments))]
        order_at = self.index
        order = self.order_by()
        if order is not None:
            order.set("this", arguments.pop() if arguments else None)
            arguments.append(self.node(order_at, order))
        nulls = self._nulls()
        self.expect(")")
        if nulls is not None:
            arguments = [nulls(this=arguments[0]), *arguments[1:]]
        return arguments

    def _argument(self) -> exp.Expression:
        return self.subquery_or_expression()

    def subquery_or_expression(self) -> exp.Expression:
        """Parse a query without its own parentheses, or an expression."""
        if self.at_query() and not self.at("("):
            start = self.index
            return self.node(start, exp.Subquery(this=self.nested(self.query)))
        return self.expression()

    def _nulls(self) -> type[exp.Expression] | None:
        if self.accept("ignore", "nulls"):
            return exp.IgnoreNulls  # type: ignore[no-any-return]
        if self.accept("respect", "nulls"):
            return exp.RespectNulls  # type: ignore[no-any-return]
        return None

    def _call_clauses(self, start: int, call: exp.Expression) -> exp.Expression:
        if self.at("within", "group"):
            self.accept("within", "group")
            self.expect("(")
            order = self.order_by()
            if order is None:
                raise self.unexpected("ORDER BY")
            self.expect(")")
            call = self.node(start, exp.WithinGroup(this=call, expression=order))
        if self.at("filter", "("):
            self.accept("filter", "(")
            at = self.index
            self.expect("where")
            where = self.node(at, exp.Where(this=self.expression()))
            self.expect(")")
            call = self.node(start, exp.Filter(this=call, expression=where))
        nulls = self._nulls()
        if nulls is not None:
            call = self.node(start, nulls(this=call))
        if self.at("over") and (self.peek().value == "(" or self.peek().kind is TokenKind.WORD):
            self.advance()
            return self._over(start, call)
        return call

    def _over(self, start: int, call: exp.Expression) -> exp.Expression:
        if not self.at("("):
            window = exp.Window(this=call, alias=self.identifier("a window name"), over="OVER")
            return self.node(start, window)
        return self.node(start, exp.Window(this=call, over="OVER", **self.window_body()))

    def window_body(self) -> dict[str, object]:
        """Parse `( [base] [PARTITION BY …] [ORDER BY …] [frame] )` to the arguments of Window."""
        self.expect("(")
        base = None
        if self.at_name() and not self.at_any("partition", "rows", "range", "groups", "session"):
            base = self.identifier()
        partition: list[exp.Expression] = []
        if self.accept("partition"):
            self.expect("by")
            partition = self.comma_list(self.expression)
        order = self.order_by()
        spec = self._frame() if self.at_any("rows", "range", "groups", "session") else None
        self.expect(")")
        return {"alias": base, "partition_by": partition, "order": order, "spec": spec}

    def _frame(self) -> exp.WindowSpec:
        start = self.index
        kind = self.advance().value.upper()
        if kind == "SESSION":
            self.expect("with", "gap")
            return self.node(start, exp.WindowSpec(kind=kind, start=self.expression()))
        bounds: dict[str, object] = {}
        if self.accept("between"):
            bounds["start"], bounds["start_side"] = self._frame_bound()
            self.expect("and")
            bounds["end"], bounds["end_side"] = self._frame_bound()
        else:
            bounds["start"], bounds["start_side"] = self._frame_bound()
            bounds["end"] = "CURRENT ROW"
        exclude = None
        if self.accept("exclude"):
            word = self.accept_any("group", "ties", "current", "no")
            if word is None:
                raise self.unexpected("CURRENT ROW, GROUP, TIES or NO OTHERS")
            tail = {"current": "row", "no": "others"}.get(word)
            if tail is not None:
                self.expect(tail)
            exclude = exp.var(f"{word} {tail}".upper() if tail else word.upper())
        return self.node(start, exp.WindowSpec(kind=kind, exclude=exclude, **bounds))

    def _frame_bound(self) -> tuple[str | exp.Expression, str | None]:
        if self.accept("current", "row"):
            return "CURRENT ROW", None
        value = "UNBOUNDED" if self.accept("unbounded") else self.operand()
        side = self.accept_any(*_FRAME_SIDES)
        if side is None:
            raise self.unexpected("PRECEDING or FOLLOWING")
        return value, side.upper()

    def case(self) -> exp.Expression:
        """Parse CASE … END, simple or searched."""
        start = self.index
        self.expect("case")
        operand = None if self.at("when") else self.expression()
        branches = []
        while self.at("when"):
            at = self.index
            self.advance()
            condition = self.expression()
            self.expect("then")
            branches.append(self.node(at, exp.If(this=condition, true=self.expression())))
        if not branches:
            raise self.unexpected("WHEN")
        default = self.expression() if self.accept("else") else None
        self.expect("end", hint="a CASE ends with END")
        return self.node(start, exp.Case(this=operand, ifs=branches, default=default))

    def special_form(self, start: int, word: str) -> exp.Expression | None:
        """Parse a form with its own grammar inside the parentheses, or return None."""
        bracket = self.peek().value
        if word == "array" and bracket in ("[", "("):
            return self._array(start)
        if bracket != "(":
            return None
        match word:
            case "cast":
                return self._cast(start)
            case "row":
                self.advance()
                return self.node(start, exp.Tuple(expressions=self._arguments()))
            case "exists":
                return self._exists(start)
            case "extract":
                return self._extract(start)
            case "substring" | "overlay" | "position" | "trim":
                return self._keyword_call(start, word)
        return None

    def _array(self, start: int) -> exp.Expression:
        self.expect("array")
        if self.at("("):
            at = self.index
            self.expect("(")
            query = self.nested(self.query)
            self.expect(")")
            return self.node(
                start, exp.Array(expressions=[self.node(at, exp.Subquery(this=query))])
            )
        return self._array_items(start)

    def _array_items(self, start: int) -> exp.Expression:
        self.expect("[")
        items: list[exp.Expression] = []
        if not self.at("]"):
            items = self.comma_list(
                lambda: self._array_items(self.index) if self.at("[") else self.expression()
            )
        self.expect("]")
        return self.node(start, exp.Array(expressions=items))

    def _cast(self, start: int) -> exp.Expression:
        self.expect("cast", "(")
        value = self.expression()
        self.expect("as", hint="write CAST(value AS type)")
        type_ = self.data_type()
        self.expect(")")
        return self.node(start, exp.Cast(this=value, to=type_))

    def _exists(self, start: int) -> exp.Expression:
        self.expect("exists", "(")
        if not self.at_query():
            raise self.unexpected("a query")
        query = self.nested(self.query)
        self.expect(")")
        return self.node(start, exp.Exists(this=query))

    def _extract(self, start: int) -> exp.Expression:
        self.expect("extract", "(")
        at, token = self.index, self.current
        if token.kind not in (TokenKind.WORD, TokenKind.STRING):
            raise self.unexpected("a field such as EPOCH or HOUR")
        self.advance()
        field = self.node(at, exp.Var(this=token.value.upper()))
        self.expect("from", hint="write EXTRACT(field FROM value)")
        value = self.expression()
        self.expect(")")
        return self.node(start, exp.Extract(this=field, expression=value))

    def _keyword_call(self, start: int, word: str) -> exp.Expression:
        self.expect(word, "(")
        if word == "trim":
            return self._trim(start)
        arguments = [self.operand() if word == "position" else self.expression()]
        name = word
        if word == "position" and self.accept("in"):
            name, arguments = "strpos", [self.expression(), *arguments]
        for keyword in {"substring": ("from", "for"), "overlay": ("placing", "from", "for")}.get(
            word, ()
        ):
            if keyword == "for" and len(arguments) == 1 and self.at("for"):
                arguments.append(exp.Literal.number(1))
            if self.accept(keyword):
                arguments.append(self.expression())
        while self.accept(","):
            arguments.append(self.expression())
        self.expect(")")
        return self._call_clauses(start, self.plain_call(start, name, *arguments))

    def _trim(self, start: int) -> exp.Expression:
        side = self.accept_any("leading", "trailing", "both")
        name = {"leading": "ltrim", "trailing": "rtrim"}.get(side or "", "btrim")
        arguments: list[exp.Expression] = []
        if not self.at("from"):
            arguments.append(self.expression())
        if self.accept("from"):
            arguments.insert(0, self.expression())
        while self.accept(","):
            arguments.append(self.expression())
        self.expect(")")
        if len(arguments) > 2:
            raise SqlSyntaxError(
                "E0107",
                "trim takes one string and the characters to remove",
                span=self.span_from(start),
                hint="write trim(BOTH 'x' FROM value)",
            )
        return self.plain_call(start, name, *arguments)
