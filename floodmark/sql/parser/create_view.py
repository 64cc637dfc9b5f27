"""CREATE VIEW and CREATE MATERIALIZED VIEW."""

from __future__ import annotations

from typing import Any

from floodmark.sql.parser.as_query import read_as_query, read_view_tail
from floodmark.sql.parser.clauses import refuse_twice
from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.names import read_names
from floodmark.sql.parser.options import read_with_options
from floodmark.sql.statements import CreateMaterializedView, CreateView


def read_create_materialized_view(
    cursor: Cursor, start: int, head: dict[str, Any]
) -> CreateMaterializedView:
    """Read `[(columns)] [WITH (…)] AS query [EMIT ON WINDOW CLOSE] [WITH (…)]`."""
    columns = read_names(cursor)
    options = read_with_options(cursor)
    query = read_as_query(cursor, "MATERIALIZED VIEW")
    tail = read_view_tail(cursor)
    if options is not None:
        if tail.get("options"):
            refuse_twice("WITH (…)", tail["options"][0].span)
        tail["options"] = options
    return CreateMaterializedView(
        **head, **tail, columns=columns, query=query, span=cursor.span_from(start)
    )


def read_create_view(cursor: Cursor, start: int, head: dict[str, Any]) -> CreateView:
    """Read `[(columns)] AS query [WITH (…)]`."""
    columns = read_names(cursor)
    query = read_as_query(cursor, "VIEW")
    options = read_with_options(cursor) or ()
    if cursor.is_at("emit", "on"):
        raise cursor.syntax_error(
            "the end", hint="EMIT ON WINDOW CLOSE belongs to a materialized view"
        )
    return CreateView(
        **head, columns=columns, query=query, options=options, span=cursor.span_from(start)
    )
