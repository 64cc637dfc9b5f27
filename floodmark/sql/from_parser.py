"""What stands in FROM: tables, joins, table functions, window table functions, subqueries."""

from __future__ import annotations

from typing import NoReturn

from sqlglot import exp

from floodmark.errors import NotSupported, SqlSyntaxError
from floodmark.sql.expression_parser import ExpressionParser
from floodmark.sql.lexer import TokenKind
from floodmark.sql.nodes import WindowTable
from floodmark.sql.words import AFTER_EXPRESSION

_WINDOW_ARGUMENTS = {
    "tumble": ("size", "offset"),
    "hop": ("slide", "size", "offset"),
    "session": ("gap",),
}
_WINDOW_FORMS = {
    "tumble": "TUMBLE(relation, time column, size [, offset])",
    "hop": "HOP(relation, time column, slide, size [, offset])",
    "session": "SESSION(relation, time column, gap [, key …])",
}
_JOIN_STARTS = ("join", "inner", "left", "right", "full", "cross", "natural", "asof")
_OTHER_JOINS = {
    "semi": "write WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
    "anti": "write WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
    "positional": "number the rows of both with row_number(), and join on that",
}
_REFUSED = {
    "match_recognize": "MATCH_RECOGNIZE is not available yet",
    "gap_fill": "GAP_FILL is not available yet",
    "tablesample": "TABLESAMPLE would give another result at each epoch",
    "pivot": "PIVOT is not part of this language",
    "unpivot": "UNPIVOT is not part of this language",
}


def _tells_commas(join: exp.Join, relation: exp.Expression) -> bool:
    """Tell whether it matters that a comma before a relation binds weaker than its JOIN.

    It does where rows to the right are padded, and where columns are found by name; a function
    may read what stands before the comma.
    """
    if join.side in ("RIGHT", "FULL"):
        return True
    named = isinstance(relation, exp.Subquery) or isinstance(relation.this, exp.Identifier)
    return named and bool(join.args.get("using") or join.args.get("method") == "NATURAL")


class FromParser(ExpressionParser):
    """Parses the FROM clause."""

    def from_list(self, from_at: int) -> tuple[exp.From, list[exp.Join]]:
        """Parse what follows FROM: the first relation and everything joined to it."""
        first = self.relation()
        from_ = self.node(from_at, exp.From(this=first))
        joins = self._joins()
        while True:
            start = self.index
            if not self.accept(","):
                return from_, joins
            relation_at = self.index
            relation = self.relation()
            inner = self._joins()
            if any(_tells_commas(join, relation) for join in inner):
                relation.set("joins", inner)
                relation = self.node(relation_at, exp.Subquery(this=relation))
                inner = []
            joins.append(self.node(start, exp.Join(this=relation, kind="CROSS")))
            joins.extend(inner)

    def _joins(self) -> list[exp.Join]:
        joins = []
        while self._at_join():
            joins.append(self._join())
        return joins

    def _at_join(self) -> bool:
        if self._at_other_join():
            self._refuse_join()
        if self.current.kind is not TokenKind.WORD or not self.at_any(*_JOIN_STARTS):
            return False
        return not self.at("asof") or self.peek().value in ("join", "left", "inner")

    def _join(self, *, nested: bool = False) -> exp.Join:
        start = self.index
        parts: dict[str, object] = {}
        method = self.accept_any("natural", "asof")
        if method is not None:
            parts["method"] = method.upper()
        if method is not None and self.at("cross"):
            raise self.unexpected("JOIN", hint=f"a join is either CROSS or {method.upper()}")
        kind = self.accept_any("inner", "left", "right", "full", "cross")
        if kind in ("left", "right", "full"):
            parts["side"] = kind.upper()
            self.accept("outer")
        elif kind is not None:
            parts["kind"] = kind.upper()
        if self._at_other_join():
            self._refuse_join()
        self.expect("join")
        join = exp.Join(this=self.relation(), **parts)
        if kind == "cross" or method == "natural":
            # In `a JOIN b CROSS JOIN c ON …` the condition is that of a and b.
            if not nested:
                self._refuse_condition("CROSS JOIN" if kind == "cross" else "NATURAL JOIN")
        elif self.accept("on"):
            join.set("on", self.expression())
        elif self.accept("using"):
            join.set("using", self.parenthesised(self.identifier))
        elif self._at_join():
            self._nest(join)
        else:
            if self.at("for", "system_time"):
                self._refuse_lookup(start)
            raise SqlSyntaxError(
                "E0115",
                "a join has no condition",
                span=self.span_from(start),
                hint="add ON condition or USING (columns), or write CROSS JOIN",
            )
        return self.node(start, join)

    def _refuse_condition(self, what: str) -> None:
        """Raise for ON and USING behind a join that has no condition of its own."""
        if self.at("using") or (self.at("on") and not self.at("on", "conflict")):
            raise self.unexpected("no condition", hint=f"a {what} has none: write JOIN … ON")

    def _nest(self, join: exp.Join) -> None:
        """Read `a JOIN b JOIN c ON … ON …`: the inner join belongs to b."""
        join.this.set("joins", [self._join(nested=True)])
        if self.accept("on"):
            join.set("on", self.expression())
        elif self.accept("using"):
            join.set("using", self.parenthesised(self.identifier))
        else:
            raise self.unexpected("ON")

    def relation(self) -> exp.Expression:
        """Parse one relation with its alias."""
        return self.nested(self._relation)

    def _relation(self) -> exp.Expression:
        start = self.index
        if self.accept("lateral"):
            return self._lateral(start)
        self.accept("only")
        if self.at("("):
            return self._with_alias(start, self._parenthesised_relation(start))
        if self.at("rows", "from"):
            self._refuse("ROWS FROM is not part of this language")
        if self.at("table", "("):
            self.accept("table", "(")
            table = self._function_table()
            self.expect(")")
            return self._with_alias(start, table)
        is_call = self.peek().value == "(" and self.peek().kind is TokenKind.OPERATOR
        if is_call and self.current.kind in (TokenKind.WORD, TokenKind.QUOTED):
            return self._with_alias(start, self._function_table())
        return self._with_alias(start, self.named_table())

    def named_table(self) -> exp.Table:
        """Parse `[schema.]name` without alias."""
        start = self.index
        parts = [self.identifier("a table name")]
        while self.accept("."):
            parts.append(self.identifier("a table name", any_word=True))
        if len(parts) > 2:
            self._too_many_parts(start)
        schema = parts[0] if len(parts) == 2 else None
        return self.node(start, exp.Table(this=parts[-1], db=schema))

    def _too_many_parts(self, start: int) -> NoReturn:
        raise SqlSyntaxError(
            "E0116",
            "a name has at most one schema in front",
            span=self.span_from(start),
            hint="write schema.name",
        )

    def _parenthesised_relation(self, start: int) -> exp.Expression:
        if self.at_query():
            self.expect("(")
            query = self.query()
            self.expect(")")
            return self.node(start, exp.Subquery(this=query))
        self.expect("(")
        inner = self.relation()
        joins = self._joins()
        if joins:
            inner.set("joins", joins)
        self.expect(")")
        return self.node(start, exp.Subquery(this=inner))

    def _lateral(self, start: int) -> exp.Expression:
        if self.at("("):
            self.expect("(")
            at = self.index - 1
            query = self.query()
            self.expect(")")
            body: exp.Expression = self.node(at, exp.Subquery(this=query))
        else:
            body = self._function_table()
        return self._with_alias(start, self.node(start, exp.Lateral(this=body)))

    def _function_table(self) -> exp.Expression:
        start = self.index
        name = self.name("a table function")
        if name in _WINDOW_ARGUMENTS:
            return self._window_table(start, name)
        if name in _REFUSED:
            self.index = start
            self._refuse(_REFUSED[name])
        call = self.call(start, name)
        table = self.node(start, exp.Table(this=call))
        if self.accept("with", "ordinality"):
            table.set("ordinality", True)
            self.node(start, table)
        return table

    def _window_table(self, start: int, kind: str) -> WindowTable:
        self.expect("(")
        relation_at = self.index
        if self.at("("):
            relation = self._parenthesised_relation(relation_at)
        else:
            self.accept("table")
            relation = self.named_table()
        parts: dict[str, object] = {"kind": kind, "this": relation}
        self.expect(",", hint=f"write {_WINDOW_FORMS[kind]}")
        parts["time"] = self.expression()
        arguments = []
        while self.accept(","):
            arguments.append(self.expression())
        self.expect(")")
        self._window_arguments(start, kind, arguments, parts)
        return self.node(start, WindowTable(**parts))

    def _window_arguments(
        self, start: int, kind: str, arguments: list[exp.Expression], parts: dict[str, object]
    ) -> None:
        names = _WINDOW_ARGUMENTS[kind]
        required = len([name for name in names if name != "offset"])
        if len(arguments) < required or (kind != "session" and len(arguments) > len(names)):
            raise SqlSyntaxError(
                "E0117",
                f"{kind.upper()} does not take {len(arguments) + 2} arguments",
                span=self.span_from(start),
                hint=f"write {_WINDOW_FORMS[kind]}",
            )
        parts.update(zip(names, arguments, strict=False))
        if kind == "session":
            parts["expressions"] = arguments[1:]

    def _with_alias(self, start: int, relation: exp.Expression) -> exp.Expression:
        if isinstance(relation, exp.Table) and self.at("for", "system_time"):
            relation.set("version", self._system_time())
        word = self.current.value if self.current.kind is TokenKind.WORD else ""
        if word in _REFUSED and self.peek().value in ("(", "bernoulli", "system"):
            self._refuse(_REFUSED[word])
        alias_at = self.index
        if self.accept("as"):
            name = self.identifier("an alias", any_word=True)
        elif self.at_name() and not self._at_keyword_after_table():
            name = self.identifier("an alias")
        else:
            return self.node(start, relation)
        columns = self.parenthesised(self.identifier) if self.at("(") else []
        relation.set("alias", self.node(alias_at, exp.TableAlias(this=name, columns=columns)))
        if isinstance(relation, exp.Table) and self.at("for", "system_time"):
            relation.set("version", self._system_time())
        if self.current.kind is TokenKind.WORD and self.current.value in _REFUSED:
            self._refuse(_REFUSED[self.current.value])
        return self.node(start, relation)

    def _at_other_join(self) -> bool:
        return self.at_any(*_OTHER_JOINS) and self.peek().value == "join"

    def _refuse_join(self) -> NoReturn:
        word = self.current.value
        raise NotSupported(
            "E0335",
            f"{word.upper()} JOIN is not available",
            span=self.place(self.current),
            hint=_OTHER_JOINS[word],
        )

    def _at_keyword_after_table(self) -> bool:
        token = self.current
        if self._at_other_join():
            return True
        if token.kind is not TokenKind.WORD or token.value not in AFTER_EXPRESSION:
            return False
        return token.value in ("set",) or self.peek().value in ("on", "join", "left", "inner")

    def _system_time(self) -> exp.Version:
        start = self.index
        self.expect("for", "system_time", "as", "of")
        at = self.operand()
        return self.node(start, exp.Version(this="SYSTEM_TIME", kind="AS OF", expression=at))

    def _refuse_lookup(self, start: int) -> NoReturn:
        raise SqlSyntaxError(
            "E0115",
            "a lookup join asks a table, not a subquery or a table function",
            span=self.span_from(start),
            hint="JOIN t FOR SYSTEM_TIME AS OF PROCTIME() ON a.k = t.k AND …; choose its columns "
            "in SELECT, or look up in a view of it",
        )

    def _refuse(self, message: str) -> NoReturn:
        hint = "write it with joins, window functions or generate_series"
        raise NotSupported("E0392", message, span=self.place(self.current), hint=hint)
