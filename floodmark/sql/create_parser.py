"""CREATE statements."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlglot import exp

from floodmark.errors import SqlSyntaxError
from floodmark.sql.definition_parser import DefinitionParser
from floodmark.sql.statements import (
    ConflictAction,
    ConflictClause,
    CreateIndex,
    CreateMaterializedView,
    CreateSchema,
    CreateSink,
    CreateSource,
    CreateTable,
    CreateTableAs,
    CreateView,
    ObjectName,
    Option,
    Statement,
    Transform,
)


class CreateParser(DefinitionParser):
    """Parses the definitions of relations."""

    def create(self, start: int) -> Statement:
        """Parse what follows CREATE; `start` is the index of CREATE."""
        replace = self.accept("or", "replace")
        head: dict[str, Any] = {"or_replace": replace}
        match True:
            case _ if self.accept("source"):
                return self._source(start, self._head(head))
            case _ if self.accept("table"):
                return self._table(start, self._head(head))
            case _ if self.accept("materialized", "view"):
                return self._materialized_view(start, self._head(head))
            case _ if self.accept("view"):
                return self._view(start, self._head(head))
            case _ if self.accept("sink"):
                return self._sink(start, self._head(head))
            case _ if self.accept("index"):
                return self._index(start, self._head(head))
            case _ if self.accept("schema"):
                return CreateSchema(**self._head(head), span=self.span_from(start))
        return self.create_function(start, head)

    def create_function(self, start: int, head: dict[str, Any]) -> Statement:
        """Parse CREATE FUNCTION or AGGREGATE; supplied by the function parser."""
        raise NotImplementedError

    def _head(self, head: dict[str, Any]) -> dict[str, Any]:
        if_not_exists = self.accept("if", "not", "exists")
        return {**head, "if_not_exists": if_not_exists, "name": self.object_name()}

    def _clause(self, clauses: dict[str, Any], key: str, value: Any, span_from: int) -> None:
        if clauses.get(key):
            clause = "ON CONFLICT" if key == "conflict" else key.replace("_", " ").upper()
            self.twice(clause, self.span_from(span_from))
        clauses[key] = value

    def _ingestion_clauses(self, clauses: dict[str, Any]) -> bool:
        """Parse one of the clauses that sources and tables share, in any order."""
        start = self.index
        if self.accept("append", "only"):
            self._clause(clauses, "append_only", True, start)
        elif (options := self.with_options()) is not None:
            self._clause(clauses, "options", options, start)
        elif (format_ := self.format_encode()) is not None:
            self._clause(clauses, "format", format_, start)
        elif self.at("include"):
            clauses["includes"] = (*clauses.get("includes", ()), self.include())
        else:
            return False
        return True

    def _source(self, start: int, head: dict[str, Any]) -> CreateSource:
        elements = self.elements()
        clauses: dict[str, Any] = {}
        while self._ingestion_clauses(clauses) or self._transform_clauses(clauses):
            pass
        return CreateSource(
            **head,
            **clauses,
            columns=tuple(elements.columns),
            primary_key=elements.primary_key,
            watermarks=tuple(elements.watermarks),
            span=self.span_from(start),
        )

    def _transform_clauses(self, clauses: dict[str, Any]) -> bool:
        start = self.index
        if self.at("transform", "using"):
            self._one_kind(clauses, for_tables=False)
            self._clause(clauses, "transforms", (self._transform({}),), start)
        elif self.at("for", "tables"):
            self._one_kind(clauses, for_tables=True)
            self.accept("for", "tables")
            self.expect("(")
            if self.at(")"):
                raise self.unexpected(
                    "a table name", hint="FOR TABLES (t TRANSFORM USING (SELECT … FROM t), u)"
                )
            tables = self.comma_list(self._table_transform, trailing=(")",))
            self.expect(")")
            self._clause(clauses, "transforms", tuple(tables), start)
            clauses["for_tables"] = True
        else:
            return False
        return True

    def _one_kind(self, clauses: dict[str, Any], *, for_tables: bool) -> None:
        if clauses.get("transforms") and clauses.get("for_tables", False) is not for_tables:
            raise SqlSyntaxError(
                "E0132",
                "TRANSFORM USING stands beside FOR TABLES",
                span=self.place(self.current),
                hint="write it behind each table: FOR TABLES (t TRANSFORM USING (…))",
            )

    def _transform(self, parts: dict[str, Any]) -> Transform:
        """Parse `TRANSFORM USING (query) [WITH (…)]`; without a query where `parts` has a table."""
        start = self.index
        query: exp.Expression | None = None
        options: tuple[Option, ...] = ()
        if self.accept("transform", "using"):
            self.expect("(")
            if not self.at_query():
                raise self.unexpected("a query")
            query = self.query()
            self.expect(")")
            options = self.with_options() or ()
        return Transform(query=query, options=options, span=self.span_from(start), **parts)

    def _table_transform(self) -> Transform:
        start = self.index
        table = self.name("a table name")
        parts: dict[str, Any] = {"table": table, "name_span": self.span_from(start)}
        elements = self.elements()
        parts["columns"] = tuple(elements.columns)
        parts["primary_key"] = elements.primary_key
        parts["watermarks"] = tuple(elements.watermarks)
        found = self._transform(parts)
        if self.accept("as"):
            alias_at = self.index
            alias = self.name("an alias")
            found = replace(found, alias=alias, name_span=self.span_from(alias_at))
        return replace(found, span=self.span_from(start))

    def _table(self, start: int, head: dict[str, Any]) -> Statement:
        names_at = self.index
        if self._at_bare_names():
            columns = self.names()
            return self._table_as(start, head, {}, columns)
        elements = self.elements()
        clauses: dict[str, Any] = {}
        while self._ingestion_clauses(clauses) or self._conflict_clause(clauses):
            pass
        if self.at("as"):
            if elements.columns:
                raise SqlSyntaxError(
                    "E0119",
                    "CREATE TABLE … AS takes column names without types",
                    span=self.span_from(names_at),
                    hint="leave the types out, or cast in the query",
                )
            clauses["primary_key"] = elements.primary_key
            return self._table_as(start, head, clauses, ())
        if not elements.columns and not clauses.get("options"):
            raise self.unexpected("the columns in parentheses, or AS and a query")
        return CreateTable(
            **head,
            **clauses,
            columns=tuple(elements.columns),
            primary_key=elements.primary_key,
            watermarks=tuple(elements.watermarks),
            span=self.span_from(start),
        )

    def _at_bare_names(self) -> bool:
        """Tell `(a, b)` from `(a int, …)`."""
        return self.at("(") and self.peek(2).value in (",", ")") and self.peek(1).value != ")"

    def _conflict_clause(self, clauses: dict[str, Any]) -> bool:
        start = self.index
        if self.at("on", "conflict"):
            self._clause(clauses, "conflict", self.conflict(), start)
            return True
        if self.at("with", "version"):
            columns = self._version_columns()
            old = clauses.get("conflict")
            if old is not None and old.version_columns:
                self.twice("WITH VERSION COLUMN", self.span_from(start))
            clauses["conflict"] = ConflictClause(
                action=old.action if old else ConflictAction.UPDATE_FULL,
                assignments=old.assignments if old else (),
                where=old.where if old else None,
                version_columns=columns,
                span=old.span if old else self.span_from(start),
            )
            return True
        return False

    def _table_as(
        self,
        start: int,
        head: dict[str, Any],
        clauses: dict[str, Any],
        columns: tuple[str, ...],
    ) -> CreateTableAs:
        while self._conflict_clause(clauses) or self._ingestion_clauses(clauses):
            pass
        self._as_query("TABLE")
        query = self.query()
        while self._conflict_clause(clauses) or self._ingestion_clauses(clauses):
            pass
        for key in ("format", "includes"):
            if clauses.pop(key, None):
                raise self.unexpected(f"no {key} behind a query")
        return CreateTableAs(
            **head, **clauses, columns=columns, query=query, span=self.span_from(start)
        )

    def _as_query(self, what: str) -> None:
        self.expect("as", hint=f"write CREATE {what} name AS SELECT …")
        if not self.at_query():
            raise self.unexpected("a query", hint="a query starts with SELECT, WITH or VALUES")

    def view_tail(self) -> dict[str, Any]:
        """Parse EMIT ON WINDOW CLOSE and WITH options behind a query, in either order."""
        tail: dict[str, Any] = {}
        while True:
            start = self.index
            if self.at("emit"):
                span = self.emit_on_window_close()
                if span is None and self.index == start:
                    raise self.unexpected("EMIT ON WINDOW CLOSE")
                if "emit_on_window_close" in tail:
                    self.twice("EMIT ON WINDOW CLOSE", span)
                tail.update(emit_on_window_close=span is not None, emit_span=span)
            elif (options := self.with_options()) is not None:
                self._clause(tail, "options", options, start)
            else:
                return tail

    def _materialized_view(self, start: int, head: dict[str, Any]) -> CreateMaterializedView:
        columns = self.names()
        options = self.with_options()
        self._as_query("MATERIALIZED VIEW")
        query = self.query()
        tail = self.view_tail()
        if options is not None:
            if "options" in tail:
                self.twice("WITH (…)", tail["options"][0].span)
            tail["options"] = options
        return CreateMaterializedView(
            **head, **tail, columns=columns, query=query, span=self.span_from(start)
        )

    def _view(self, start: int, head: dict[str, Any]) -> CreateView:
        columns = self.names()
        self._as_query("VIEW")
        query = self.query()
        options = self.with_options() or ()
        if self.at("emit", "on"):
            raise self.unexpected(
                "the end", hint="EMIT ON WINDOW CLOSE belongs to a materialized view"
            )
        return CreateView(
            **head, columns=columns, query=query, options=options, span=self.span_from(start)
        )

    def _sink(self, start: int, head: dict[str, Any]) -> CreateSink:
        parts: dict[str, Any] = {}
        if self.accept("into"):
            parts["into"] = self.object_name("a table name")
            parts["target_columns"] = self.names()
        from_at = self.index
        if self.accept("from"):
            parts["from_relation"] = self.object_name("the name of a table or view")
            parts["query"] = self._star_query(parts["from_relation"], from_at)
        elif self.at("as"):
            self._as_query("SINK")
            parts["query"] = self.query()
        else:
            behind = " WITH (…): the options come last" if self.at("with") else ""
            raise self.unexpected(
                "FROM or AS", hint=f"write CREATE SINK k INTO t {{AS SELECT … | FROM v}}{behind}"
            )
        tail = self.view_tail()
        format_ = self.format_encode()
        return CreateSink(**head, **parts, **tail, format=format_, span=self.span_from(start))

    def _star_query(self, name: ObjectName, from_at: int) -> exp.Select:
        """Make `SELECT * FROM name`, all of it placed at the name."""
        schema = exp.to_identifier(name.schema, quoted=False) if name.schema else None
        this = self.node(from_at + 1, exp.Identifier(this=name.name, quoted=False))
        table = self.node(from_at + 1, exp.Table(this=this, db=schema))
        star = self.node(from_at + 1, exp.Star())
        from_ = self.node(from_at, exp.From(this=table))
        return self.node(from_at, exp.Select(expressions=[star], from_=from_))

    def _index(self, start: int, head: dict[str, Any]) -> CreateIndex:
        self.expect("on")
        table = self.object_name("a table name")
        if self.accept("using"):
            self.name("an index method")
        keys = tuple(self.parenthesised(self.ordered))
        include = self.names() if self.accept("include") else ()
        distributed: tuple[exp.Expression, ...] = ()
        if self.accept("distributed", "by"):
            distributed = tuple(self.parenthesised(self.expression))
        return CreateIndex(
            **head,
            table=table,
            keys=keys,
            include=include,
            distributed_by=distributed,
            span=self.span_from(start),
        )
