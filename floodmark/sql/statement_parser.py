"""The statement level: which statement it is, and all that are neither CREATE, ALTER nor DROP."""

from __future__ import annotations

import difflib
from typing import NoReturn

from sqlglot import exp

from floodmark.errors import NotSupported, Span, SqlSyntaxError
from floodmark.sql.alter_parser import AlterParser
from floodmark.sql.elsewhere import refuse_elsewhere
from floodmark.sql.lexer import TokenKind
from floodmark.sql.nodes import ConstantRows
from floodmark.sql.statements import (
    Begin,
    Commit,
    CopyFrom,
    CopyTo,
    Delete,
    Describe,
    Explain,
    ExplainFormat,
    Flush,
    Insert,
    ObjectName,
    Option,
    Rollback,
    Select,
    SetOption,
    Show,
    Statement,
    Update,
)

_FIRST_WORDS = (
    "abort", "alter", "begin", "commit", "copy", "create", "delete", "describe", "drop", "end",
    "explain", "flush", "insert", "rollback", "select", "set", "show", "start", "update", "values",
    "with",
)  # fmt: skip
_SHOWN = (
    "tables", "sources", "sinks", "views", "materialized views", "functions", "aggregates",
    "indexes", "schemas", "columns", "objects", "epochs", "watermarks", "jobs", "parameters", "all",
)  # fmt: skip


class StatementParser(AlterParser):
    """Parses one statement or a whole script."""

    def script(self) -> tuple[Statement, ...]:
        """Parse statements between semicolons; only the last semicolon may be missing."""
        statements = []
        while self.current.kind is not TokenKind.END:
            if self.at(";"):
                self._empty_statement()
            statements.append(self.single())
            self.accept(";")
        return tuple(statements)

    def single(self) -> Statement:
        """Parse one statement, behind which nothing but its semicolon stands."""
        statement = self.statement()
        if not self.at_end():
            self._stray()
        return statement

    def _empty_statement(self) -> NoReturn:
        raise SqlSyntaxError(
            "E0105",
            "an empty statement",
            span=self.place(self.current),
            hint="remove the semicolon",
        )

    def _stray(self) -> NoReturn:
        token = self.current
        hint = None
        if token.kind is TokenKind.WORD and token.value in _FIRST_WORDS:
            hint = "is a semicolon missing in front of it?"
        elif token.kind is TokenKind.WORD and token.value == "into":
            hint = "write CREATE TABLE x AS SELECT …, or INSERT INTO x SELECT …"
        raise self.unexpected("the end of the statement", hint=hint)

    def statement(self) -> Statement:
        """Parse one statement up to its semicolon."""
        start, token = self.index, self.current
        if token.kind is not TokenKind.WORD:
            if self.at_query():
                return Select(query=self.query(), span=self.span_from(start))
            raise self.unexpected("a statement")
        if self.at_query():
            return self._query_statement(start)
        if token.value not in _FIRST_WORDS:
            self._unknown()
        self.advance()
        match token.value:
            case "create":
                return self.create(start)
            case "alter":
                return self.alter(start)
            case "drop":
                return self.drop(start)
            case "insert" | "update" | "delete" | "copy":
                return self._write(start, token.value)
            case "explain":
                return self._explain(start)
            case "show":
                return self._show(start)
            case "set":
                return self._set(start)
        return self._short(start, token.value)

    def _query_statement(self, start: int) -> Statement:
        query = self.query()
        if self.at("emit", "on"):
            raise self.unexpected(
                "the end of the statement",
                hint="EMIT ON WINDOW CLOSE belongs to a materialized view or sink",
            )
        return Select(query=query, span=self.span_from(start))

    def _unknown(self) -> NoReturn:
        token = self.current
        if token.kind is TokenKind.WORD:
            refuse_elsewhere(token.value, span=self.place(token))
        near = difflib.get_close_matches(token.value, _FIRST_WORDS, n=1, cutoff=0.6)
        raise SqlSyntaxError(
            "E0121",
            f'no statement starts with "{self.raw(token)}"',
            span=self.place(token),
            hint=f"did you mean {near[0].upper()}?"
            if near
            else f"there is {', '.join(_FIRST_WORDS).upper()}",
        )

    def _short(self, start: int, word: str) -> Statement:
        match word:
            case "begin" | "start":
                return self._begin(start, word)
            case "commit" | "end":
                self.accept_any("transaction", "work")
                return Commit(span=self.span_from(start))
            case "rollback" | "abort":
                self.accept_any("transaction", "work")
                return Rollback(span=self.span_from(start))
            case "flush":
                return Flush(span=self.span_from(start))
        kind = self.object_kind()
        name = self.object_name()
        return Describe(name=name, kind=kind, span=self.span_from(start))

    def _begin(self, start: int, word: str) -> Begin:
        """Parse BEGIN or START TRANSACTION; every level up to REPEATABLE READ is given."""
        if word == "start":
            self.expect("transaction", hint="write START TRANSACTION, or BEGIN")
        else:
            self.accept_any("transaction", "work")
        if self.accept("isolation"):
            self.expect("level")
            read = self.accept("read")
            levels = ("committed", "uncommitted") if read else ("repeatable",)
            if self.accept_any(*levels) is None:
                hint = "REPEATABLE READ, READ COMMITTED and READ UNCOMMITTED are given"
                raise self.unexpected("an isolation level", hint=hint)
            if not read:
                self.expect("read")
        return Begin(span=self.span_from(start))

    def _write(self, start: int, word: str) -> Statement:
        match word:
            case "insert":
                return self._insert(start)
            case "update":
                return self._update(start)
            case "delete":
                return self._delete(start)
        return self._copy(start)

    def _insert(self, start: int) -> Insert:
        self.expect("into")
        table = self.object_name("a table name")
        named = self.at("(") and not self.at_query()
        columns = self.parenthesised(self._placed_name) if named else []
        at = self.index
        if self.accept("default", "values"):
            row = exp.Tuple(expressions=[])
            query: exp.Expression = self.node(at, exp.Values(expressions=[row]))
        elif self.at("values") and self.peek().kind is TokenKind.ROWS:
            query = self._constant_rows()
        elif self.at_query():
            query = self.query()
        else:
            raise self.unexpected("VALUES or a query")
        if self.at("on", "conflict"):
            raise NotSupported(
                "E0395",
                "ON CONFLICT belongs to the table, not to one INSERT",
                span=self.place(self.current),
                hint="ALTER TABLE t ON CONFLICT …",
            )
        returning = self._returning()
        return Insert(
            table=table,
            columns=tuple(name for name, _ in columns),
            column_spans=tuple(span for _, span in columns),
            query=query,
            returning=returning,
            span=self.span_from(start),
        )

    def _constant_rows(self) -> exp.Expression:
        """Parse VALUES with a long list of constants; as a query where more than that follows."""
        at, rows = self.index, self.peek()
        self.advance()
        self.advance()
        if not (self.at_end() or self.at_any("returning", "on")):
            self.index = at
            return self.query()
        one = self.node(at + 1, ConstantRows(this=self.text[rows.start : rows.end]))
        return self.node(at, exp.Values(expressions=[one]))

    def _placed_name(self) -> tuple[str, Span]:
        at = self.index
        return self.name(), self.span_from(at)

    def _returning(self) -> tuple[exp.Expression, ...]:
        return tuple(self.comma_list(self.projection)) if self.accept("returning") else ()

    def _target(self) -> tuple[ObjectName, str | None]:
        table = self.object_name("a table name")
        if self.accept("as") or (self.at_name() and not self.at("set")):
            return table, self.name("an alias")
        return table, None

    def _relations(self) -> exp.Select:
        """Parse the relations of UPDATE … FROM and DELETE … USING as a SELECT without columns."""
        at = self.index - 1
        from_, joins = self.from_list(at)
        select = exp.Select(expressions=[], from_=from_)
        if joins:
            select.set("joins", joins)
        return self.node(at, select)

    def _update(self, start: int) -> Update:
        table, alias = self._target()
        self.expect("set", hint="write UPDATE t SET column = value WHERE …")
        assignments = tuple(self.comma_list(self.assignment))
        from_ = self._relations() if self.accept("from") else None
        where = self.expression() if self.accept("where") else None
        returning = self._returning()
        return Update(
            table=table,
            alias=alias,
            assignments=assignments,
            from_=from_,
            where=where,
            returning=returning,
            span=self.span_from(start),
        )

    def _delete(self, start: int) -> Delete:
        self.expect("from", hint="write DELETE FROM t WHERE …")
        table, alias = self._target()
        using = self._relations() if self.accept("using") else None
        where = self.expression() if self.accept("where") else None
        returning = self._returning()
        return Delete(
            table=table,
            alias=alias,
            using=using,
            where=where,
            returning=returning,
            span=self.span_from(start),
        )

    def _copy(self, start: int) -> CopyFrom | CopyTo:
        if self.accept("("):
            query = self.query()
            self.expect(")")
            self.expect("to", hint="COPY (query) TO 'file'")
            return self._copy_to(start, query)
        at = self.index
        table = self.object_name("a table name, or a query in parentheses")
        columns = self.parenthesised(self._placed_name) if self.at("(") else []
        direction = self.accept_any("from", "to")
        if direction is None:
            raise self.unexpected("FROM or TO")
        if direction == "to":
            items = [_column_at(*placed) for placed in columns] or [exp.Star()]
            schema = None if table.schema is None else exp.to_identifier(table.schema, quoted=True)
            named = exp.Table(this=exp.to_identifier(table.name, quoted=True), db=schema)
            from_ = exp.From(this=self.node(at, named))
            query = exp.Select(expressions=items, from_=from_)
            return self._copy_to(start, query, None if columns else table)
        path = self.expect_string("a path")
        return CopyFrom(
            table=table,
            path=path,
            columns=tuple(name for name, _ in columns),
            column_spans=tuple(span for _, span in columns),
            options=self._copy_options(),
            span=self.span_from(start),
        )

    def _copy_to(
        self, start: int, query: exp.Expression, table: ObjectName | None = None
    ) -> CopyTo:
        path = self.expect_string("a path")
        options = self._copy_options()
        span = self.span_from(start)
        return CopyTo(query=query, path=path, options=options, table=table, span=span)

    def _copy_options(self) -> tuple[Option, ...]:
        """Parse `[WITH] (format csv, header true)`, as in PostgreSQL also without `=`."""
        self.accept("with")
        if not self.at("("):
            return ()
        return self.options(bare=True)

    def _explain(self, start: int) -> Explain:
        format_, state = ExplainFormat.TEXT, False
        if self.at_any("analyze", "verbose") and self.peek().kind is TokenKind.WORD:
            hint = "EXPLAIN tells the plan, EXPLAIN (STATE) v the sizes of v's tables; "
            hint += "floodmark status tells how long epochs took"
            raise self.unexpected("a query, a CREATE statement or a name", hint=hint)
        if self.at("(") and not self.at_query():
            self.expect("(")
            while not self.accept(")"):
                word = self.accept_any("format", "state")
                if word is None:
                    hint = "the plan shows the changelog mode of each operator"
                    raise self.unexpected(
                        "FORMAT or STATE", hint=hint if self.at("changelog") else None
                    )
                if word == "format":
                    format_ = self._explain_format()
                else:
                    state = True
                if not self.at(")"):
                    self.expect(",")
        token = self.current
        if token.kind is TokenKind.WORD and token.value in _FIRST_WORDS:
            inner = self.statement()
            return Explain(statement=inner, format=format_, state=state, span=self.span_from(start))
        kind, name = self.object_kind(), self.object_name("a statement or a name")
        return Explain(
            name=name, kind=kind, format=format_, state=state, span=self.span_from(start)
        )

    def _explain_format(self) -> ExplainFormat:
        word = self.accept_any("text", "json", "html")
        if word is None:
            raise self.unexpected("TEXT, JSON or HTML")
        return ExplainFormat[word.upper()]

    def _show(self, start: int) -> Show:
        if self.accept("create"):
            kind = self.object_kind()
            name = self.object_name()
            return Show(what="CREATE", kind=kind, name=name, span=self.span_from(start))
        if self.current.kind is TokenKind.QUOTED:
            hint = "SHOW TABLES, SHOW CREATE TABLE t, SHOW retention"
            raise self.unexpected("what to show", hint=hint)
        what = self.name("what to show", any_word=True)
        if what == "materialized":
            self.expect("views")
            what = "materialized views"
        if what not in _SHOWN:
            return Show(what=what, is_setting=True, span=self.span_from(start))
        within = self.object_name() if self.accept_any("from", "in") else None
        like = self.expect_string("a pattern") if self.accept("like") else None
        return Show(what=what.upper(), name=within, like=like, span=self.span_from(start))

    def _set(self, start: int) -> SetOption:
        if self.at("local") and self.peek().value not in ("=", "to"):
            hint = "write SET, and SET … = DEFAULT when it is to end"
            raise self.unexpected(
                "the name of a setting: none ends with its transaction", hint=hint
            )
        if self.peek().value not in ("=", "to"):
            self.accept("session")
        name = self._option_name()
        if self.accept_any("=", "to") is None:
            raise self.unexpected("= or TO", hint="write SET name = value")
        if self.accept("default"):
            return SetOption(name=name, value=None, span=self.span_from(start))
        value = self._option_value()
        return SetOption(name=name, value=value, span=self.span_from(start))


def _column_at(name: str, span: Span) -> exp.Expression:
    column = exp.column(name, quoted=True)
    column.meta.update(start=span.start, end=span.end - 1)
    return column
