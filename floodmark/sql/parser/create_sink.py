"""CREATE SINK."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from floodmark.sql.parser.as_query import read_as_query, read_view_tail
from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.ingestion import read_format_encode
from floodmark.sql.parser.names import read_names, read_object_name
from floodmark.sql.statements import CreateSink, ObjectName


def read_create_sink(cursor: Cursor, start: int, head: dict[str, Any]) -> CreateSink:
    """Read `[INTO t [(columns)]] {FROM v | AS query}` and its clauses."""
    parts: dict[str, Any] = {}
    if cursor.accept("into"):
        parts["into"] = read_object_name(cursor, "a table name")
        parts["target_columns"] = read_names(cursor)
    from_at = cursor.index
    if cursor.accept("from"):
        parts["from_relation"] = read_object_name(cursor, "the name of a table or view")
        parts["query"] = _make_star_query(cursor, parts["from_relation"], from_at)
    elif cursor.is_at("as"):
        parts["query"] = read_as_query(cursor, "SINK")
    else:
        behind = " WITH (…): the options come last" if cursor.is_at("with") else ""
        raise cursor.syntax_error(
            "FROM or AS", hint=f"write CREATE SINK k INTO t {{AS SELECT … | FROM v}}{behind}"
        )
    tail = read_view_tail(cursor)
    format_ = read_format_encode(cursor)
    return CreateSink(**head, **parts, **tail, format=format_, span=cursor.span_from(start))


def _make_star_query(cursor: Cursor, name: ObjectName, from_at: int) -> exp.Select:
    """Make `SELECT * FROM name`, all of it placed at the name."""
    schema = exp.to_identifier(name.schema, quoted=False) if name.schema else None
    this = cursor.node(from_at + 1, exp.Identifier(this=name.name, quoted=False))
    table = cursor.node(from_at + 1, exp.Table(this=this, db=schema))
    star = cursor.node(from_at + 1, exp.Star())
    from_ = cursor.node(from_at, exp.From(this=table))
    return cursor.node(from_at, exp.Select(expressions=[star], from_=from_))
