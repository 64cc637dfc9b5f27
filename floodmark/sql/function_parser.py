"""CREATE FUNCTION and CREATE AGGREGATE."""

from __future__ import annotations

from typing import Any

from floodmark.errors import SqlSyntaxError
from floodmark.sql.create_parser import CreateParser
from floodmark.sql.elsewhere import refuse_elsewhere
from floodmark.sql.lexer import TokenKind
from floodmark.sql.statements import (
    CreateAggregate,
    CreateFunction,
    Parameter,
    Statement,
    TypeName,
    Volatility,
)
from floodmark.sql.type_parser import TYPES


class FunctionParser(CreateParser):
    """Parses the definitions of functions."""

    def create_function(self, start: int, head: dict[str, Any]) -> Statement:
        """Parse CREATE FUNCTION or AGGREGATE, or fail naming what can be created."""
        if self.accept("aggregate"):
            return self._aggregate(start, self._head(head))
        if self.accept("function"):
            return self._function(start, self._head(head))
        refuse_elsewhere("create", self.current.value, span=self.place(self.current))
        raise self.unexpected(
            "SOURCE, TABLE, MATERIALIZED VIEW, VIEW, SINK, INDEX, FUNCTION, AGGREGATE or SCHEMA"
        )

    def _function(self, start: int, head: dict[str, Any]) -> CreateFunction:
        parameters = self._parameters()
        returns: TypeName | None = None
        table: tuple[Parameter, ...] = ()
        self.expect("returns")
        if self.accept("table"):
            table = tuple(self.parenthesised(self._table_column))
        else:
            returns = self.type_name()
        facts = self._facts()
        return CreateFunction(
            **head,
            **facts,
            parameters=parameters,
            returns=returns,
            returns_table=table,
            span=self.span_from(start),
        )

    def _aggregate(self, start: int, head: dict[str, Any]) -> CreateAggregate:
        parameters = self._parameters()
        self.expect("returns")
        returns = self.type_name()
        facts = self._facts()
        return CreateAggregate(
            **head, **facts, parameters=parameters, returns=returns, span=self.span_from(start)
        )

    def _parameters(self) -> tuple[Parameter, ...]:
        if self.at("(", ")"):
            self.accept("(", ")")
            return ()
        return tuple(self.parenthesised(self._parameter))

    def _parameter(self) -> Parameter:
        start = self.index
        named = self.current.value not in TYPES or (
            self.peek().kind is TokenKind.WORD and self.peek().value in TYPES
        )
        name = self.name("a parameter") if named and self.peek().value not in (",", ")") else None
        return Parameter(name=name, type=self.type_name(), span=self.span_from(start))

    def _table_column(self) -> Parameter:
        start = self.index
        name = self.name("a column name")
        return Parameter(name=name, type=self.type_name(), span=self.span_from(start))

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {}
        while not self.at_end():
            start = self.index
            if self.accept("language"):
                self._clause(facts, "language", self.name("a language"), start)
            elif (word := self.accept_any("immutable", "stable", "volatile")) is not None:
                self._clause(facts, "volatility", Volatility[word.upper()], start)
            elif self.accept("as"):
                self._clause(facts, "body", self.expect_string("the body"), start)
            elif (options := self.with_options()) is not None:
                self._clause(facts, "options", options, start)
            else:
                raise self.unexpected("LANGUAGE, IMMUTABLE, STABLE, VOLATILE or AS")
        for clause, what in (("language", "LANGUAGE python"), ("body", "AS 'module.function'")):
            if clause not in facts:
                raise SqlSyntaxError(
                    "E0120",
                    f"a function needs {clause.upper() if clause == 'language' else 'a body'}",
                    span=self.place(self.previous),
                    hint=f"add {what}",
                )
        return facts
