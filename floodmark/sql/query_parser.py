"""Queries: SELECT and its clauses, set operations, WITH."""

from __future__ import annotations

from sqlglot import exp

from floodmark.errors import NotSupported, SqlSyntaxError
from floodmark.sql.from_parser import FromParser
from floodmark.sql.lexer import TokenKind
from floodmark.sql.nodes import ChangelogOf
from floodmark.sql.words import AFTER_EXPRESSION

_SET_OPERATIONS = {"union": exp.Union, "except": exp.Except, "intersect": exp.Intersect}
_EMPTY_LIST_HINTS = {
    "SELECT": "name the columns, or write SELECT * FROM …",
    "GROUP BY": "name the grouping columns, or leave GROUP BY out",
    "ORDER BY": "name what to order by, or leave ORDER BY out",
}
_CLAUSE_ORDER = ("where", "group", "having", "window", "order", "limit", "offset", "fetch")


class QueryParser(FromParser):
    """Parses queries."""

    def at_query(self, *, enclosed: bool = False) -> bool:
        """Tell whether a query comes next, also behind opening parentheses.

        With `enclosed` the query reaches to a closing parenthesis: `(SELECT 1) + 2)` is none.
        """
        ahead = 0
        while self.peek(ahead).value == "(" and self.peek(ahead).kind is TokenKind.OPERATOR:
            ahead += 1
        token = self.peek(ahead)
        if token.kind is not TokenKind.WORD or token.value not in ("select", "with", "values"):
            return False
        return ahead == 0 or self._parentheses_hold_query(ahead, 0 if enclosed else 1)

    def _parentheses_hold_query(self, opened: int, lowest: int) -> bool:
        """Look behind the innermost query: `((SELECT 1) + 2)` is an expression."""
        depth, ahead = opened, opened
        while depth > 0 and ahead + self.index < len(self.tokens) - 1:
            token = self.peek(ahead)
            if token.kind is TokenKind.OPERATOR:
                depth += {"(": 1, ")": -1}.get(token.value, 0)
                if token.value == ")" and lowest <= depth < opened:
                    following = self.peek(ahead + 1).value
                    if following not in (")", *_SET_OPERATIONS, "order", "limit", "offset"):
                        return False
            ahead += 1
        return True

    def query(self) -> exp.Expression:
        """Parse a whole query: WITH, set operations, ORDER BY, LIMIT."""
        start = self.index
        with_ = self._with()
        query = self._set_operations(0)
        self._tail(query)
        if with_ is not None:
            if isinstance(query, exp.Values):
                raise self.unexpected("SELECT behind WITH", hint="write SELECT * FROM (VALUES …)")
            query.set("with_", with_)
        return self.node(start, query)

    def _with(self) -> exp.With | None:
        start = self.index
        if not self.accept("with"):
            return None
        recursive = self.accept("recursive")
        tables = self.comma_list(self._cte)
        return self.node(start, exp.With(expressions=tables, recursive=recursive or None))

    def _cte(self) -> exp.CTE:
        start = self.index
        alias = self.node(start, exp.TableAlias(this=self.identifier(), columns=self._names()))
        self.expect("as", hint="write WITH name AS (SELECT …)")
        if self.accept("changelog"):
            at = self.index
            self.expect("from")
            body = self.node(at, ChangelogOf(this=self.named_table()))
            return self.node(start, exp.CTE(this=body, alias=alias))
        materialized = True if self.accept("materialized") else None
        if self.accept("not", "materialized"):
            materialized = False
        self.expect("(")
        if not self.at_query():
            raise self.unexpected("a query")
        query = self.nested(self.query)
        self.expect(")")
        return self.node(start, exp.CTE(this=query, alias=alias, materialized=materialized))

    def _names(self) -> list[exp.Identifier]:
        return self.parenthesised(self.identifier) if self.at("(") else []

    def _set_operations(self, floor: int) -> exp.Expression:
        start = self.index
        left = self._query_primary()
        while (word := self.current.value) in _SET_OPERATIONS:
            power = 2 if word == "intersect" else 1
            if power <= floor:
                break
            self.advance()
            all_ = self.accept("all")
            if not all_:
                self.accept("distinct")
            right = self._set_operations(power)
            operation = _SET_OPERATIONS[word](this=left, expression=right, distinct=not all_)
            left = self.node(start, operation)
        return left

    def _query_primary(self) -> exp.Expression:
        start = self.index
        if self.accept("("):
            query = self.nested(self.query)
            self.expect(")")
            return self.node(start, exp.Subquery(this=query))
        if self.accept("values"):
            self.cut_rows()
            rows = self.comma_list(self._row)
            return self.node(start, exp.Values(expressions=rows))
        if self.at("select"):
            return self._select()
        raise self.unexpected("SELECT", hint="a query starts with SELECT, WITH or VALUES")

    def _row(self) -> exp.Tuple:
        start = self.index
        if self.accept("row"):
            pass
        return self.node(start, exp.Tuple(expressions=self.parenthesised(self.row_item)))

    def row_item(self) -> exp.Expression:
        """Parse one value of a row of VALUES: an expression, or the word DEFAULT."""
        start, token = self.index, self.current
        # Most values of long lists are constants: no operator comes near them.
        if token.kind in (TokenKind.NUMBER, TokenKind.STRING) and self.peek().value in (",", ")"):
            return self.primary()
        if self.accept("default"):
            return self.node(start, exp.Var(this="DEFAULT"))
        return self.expression()

    def _select(self) -> exp.Select:
        start = self.index
        self.expect("select")
        distinct = self._distinct()
        self._not_empty("SELECT", start)
        projections = self.comma_list(self.projection)
        select = exp.Select(expressions=projections, distinct=distinct)
        from_at = self.index
        if self.accept("from"):
            table, joins = self.from_list(from_at)
            select.set("from_", table)
            if joins:
                select.set("joins", joins)
        self._clauses(select)
        return self.node(start, select)

    def _distinct(self) -> exp.Distinct | None:
        start = self.index
        if not self.accept("distinct"):
            self.accept("all")
            return None
        if not self.accept("on"):
            return self.node(start, exp.Distinct())
        at = self.index
        keys = self.node(at, exp.Tuple(expressions=self.parenthesised(self.expression)))
        return self.node(start, exp.Distinct(on=keys))

    def _not_empty(self, clause: str, start: int) -> None:
        stops = ("from", "where", "group", "having", "order", "limit", ")", "union", "emit")
        if self.at_end() or self.at_any(*stops):
            raise SqlSyntaxError(
                "E0106",
                f"{clause} has no elements",
                span=self.span_from(start),
                hint=_EMPTY_LIST_HINTS[clause],
            )

    def projection(self) -> exp.Expression:
        """Parse one element of a SELECT or RETURNING list."""
        start = self.index
        if self.accept("*"):
            return self._left_out(start, exp.Star())
        value = self.expression()
        if isinstance(value, exp.Column) and isinstance(value.this, exp.Star):
            return self._left_out(start, value)
        if self.accept("as"):
            alias = self.identifier("an alias", any_word=True)
        elif self.at_name() and not self._at_clause():
            alias = self.identifier("an alias")
        else:
            return value
        return self.node(start, exp.Alias(this=value, alias=alias))

    def _left_out(self, start: int, star: exp.Star | exp.Column) -> exp.Expression:
        """Parse the columns that `*` or `t.*` leaves out: `* EXCEPT (a, t.b)`."""
        if self.at("except", "("):
            self.advance()
            names = self.parenthesised(self._column_name)
            (star if isinstance(star, exp.Star) else star.this).set("except_", names)
        return self.node(start, star)

    def _column_name(self) -> exp.Column:
        start = self.index
        parts = [self.identifier("a column name")]
        while self.accept("."):
            parts.append(self.identifier("a column name", any_word=True))
        names = ("this", "table", "db")
        if len(parts) > len(names):
            raise self.unexpected("a column name")
        return self.node(start, exp.Column(**dict(zip(names, reversed(parts), strict=False))))

    def _at_clause(self) -> bool:
        token = self.current
        if token.kind is not TokenKind.WORD or token.value not in AFTER_EXPRESSION:
            return False
        following = self.peek().value
        return following in ("on", "(", "group", "join", "left")

    def _clauses(self, select: exp.Select) -> None:
        for _ in _CLAUSE_ORDER:
            start = self.index
            if self.at("where"):
                self._clause_once(select, "where", "WHERE")
                self.advance()
                select.set("where", self.node(start, exp.Where(this=self.expression())))
            elif self.at("group"):
                self._clause_once(select, "group", "GROUP BY")
                select.set("group", self._group_by())
            elif self.at("having"):
                self._clause_once(select, "having", "HAVING")
                self.advance()
                select.set("having", self.node(start, exp.Having(this=self.expression())))
            elif self.at("window"):
                self._clause_once(select, "windows", "WINDOW")
                self.advance()
                select.set("windows", self.comma_list(self._named_window))
            elif self.at("for") and self.peek().value in ("update", "share"):
                raise NotSupported(
                    "E0391",
                    "row locks are not needed: readers see a sealed epoch",
                    span=self.place(self.current),
                    hint="leave FOR UPDATE out",
                )
            else:
                return

    def _clause_once(self, select: exp.Select, key: str, clause: str) -> None:
        if select.args.get(key) is not None:
            raise SqlSyntaxError(
                "E0109",
                f"{clause} stands twice",
                span=self.place(self.current),
                hint="join the conditions with AND"
                if key in ("where", "having")
                else "keep one of them",
            )
        if key == "where" and select.args.get("group") is not None:
            raise SqlSyntaxError(
                "E0114",
                "WHERE stands behind GROUP BY",
                span=self.place(self.current),
                hint="put WHERE in front of GROUP BY, or write HAVING for conditions on groups",
            )

    def _named_window(self) -> exp.Window:
        start = self.index
        name = self.identifier("a window name")
        self.expect("as")
        body = self.window_body()
        base = body.pop("alias")
        window = exp.Window(this=name, **body)
        if base is not None:
            window.set("alias", base)
        return self.node(start, window)

    def _group_by(self) -> exp.Group:
        start = self.index
        self.expect("group", "by")
        self._not_empty("GROUP BY", start)
        return self.node(start, exp.Group(expressions=self.comma_list(self._grouping)))

    def _grouping(self) -> exp.Expression:
        start = self.index
        if self.accept("grouping", "sets"):
            sets = self.parenthesised(self._grouping)
            return self.node(start, exp.GroupingSets(expressions=sets))
        if self.at_any("rollup", "cube") and self.peek().value == "(":
            kind = exp.Rollup if self.advance().value == "rollup" else exp.Cube
            return self.node(start, kind(expressions=self.parenthesised(self._grouping)))
        if self.at("(", ")"):
            self.accept("(", ")")
            return self.node(start, exp.Tuple(expressions=[]))
        return self.expression()

    def order_by(self) -> exp.Order | None:
        """Parse ORDER BY when it comes next."""
        start = self.index
        if not self.accept("order"):
            return None
        self.expect("by")
        self._not_empty("ORDER BY", start)
        return self.node(start, exp.Order(expressions=self.comma_list(self.ordered)))

    def ordered(self) -> exp.Ordered:
        """Parse `expression [ASC | DESC] [NULLS FIRST | LAST]`."""
        start = self.index
        value = self.expression()
        descending = self.accept_any("asc", "desc") == "desc"
        nulls_first = descending
        if self.accept("nulls"):
            word = self.accept_any("first", "last")
            if word is None:
                raise self.unexpected("FIRST or LAST")
            nulls_first = word == "first"
        ordered = exp.Ordered(this=value, desc=descending, nulls_first=nulls_first)
        return self.node(start, ordered)

    def _tail(self, query: exp.Expression) -> None:
        order = self.order_by()
        if order is not None:
            query.set("order", order)
        while self.at_any("limit", "offset", "fetch"):
            start, word = self.index, self.current.value
            key = "offset" if word == "offset" else "limit"
            if query.args.get(key) is not None:
                raise SqlSyntaxError(
                    "E0109",
                    f"{word.upper()} stands twice",
                    span=self.place(self.current),
                    hint="keep one of them; conditions are joined with AND",
                )
            self.advance()
            if word == "limit":
                if not self.accept("all"):
                    limit = exp.Limit(expression=self.expression())
                    query.set("limit", self.node(start, limit))
            elif word == "offset":
                offset = exp.Offset(expression=self.expression())
                self.accept_any("rows", "row")
                query.set("offset", self.node(start, offset))
            else:
                query.set("limit", self._fetch(start))

    def _fetch(self, start: int) -> exp.Expression:
        if self.accept_any("first", "next") is None:
            raise self.unexpected("FIRST")
        count = exp.Literal.number(1) if self.at_any("row", "rows") else self.expression()
        if self.accept_any("rows", "row") is None:
            raise self.unexpected("ROWS")
        if self.accept("with", "ties"):
            options = exp.LimitOptions(rows=True, with_ties=True)
            fetch = exp.Fetch(direction="FIRST", count=count, limit_options=options)
            return self.node(start, fetch)
        self.expect("only")
        return self.node(start, exp.Limit(expression=count))
