"""CREATE: which object it defines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from floodmark.sql.parser.create_function import read_create_aggregate, read_create_function
from floodmark.sql.parser.create_index import read_create_index
from floodmark.sql.parser.create_sink import read_create_sink
from floodmark.sql.parser.create_source import read_create_source
from floodmark.sql.parser.create_table import read_create_table
from floodmark.sql.parser.create_view import read_create_materialized_view, read_create_view
from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.elsewhere import refuse_elsewhere
from floodmark.sql.parser.names import read_object_name
from floodmark.sql.statements import CreateSchema, Statement


def _read_create_schema(cursor: Cursor, start: int, head: dict[str, Any]) -> CreateSchema:
    return CreateSchema(**head, span=cursor.span_from(start))


_DEFINITIONS: dict[tuple[str, ...], Callable[[Cursor, int, dict[str, Any]], Statement]] = {
    ("source",): read_create_source,
    ("table",): read_create_table,
    ("materialized", "view"): read_create_materialized_view,
    ("view",): read_create_view,
    ("sink",): read_create_sink,
    ("index",): read_create_index,
    ("function",): read_create_function,
    ("aggregate",): read_create_aggregate,
    ("schema",): _read_create_schema,
}


def read_create(cursor: Cursor, start: int) -> Statement:
    """Read what follows CREATE; `start` is the index of CREATE."""
    or_replace = cursor.accept("or", "replace")
    for words, read in _DEFINITIONS.items():
        if cursor.accept(*words):
            if_not_exists = cursor.accept("if", "not", "exists")
            name = read_object_name(cursor)
            head = {"or_replace": or_replace, "if_not_exists": if_not_exists, "name": name}
            return read(cursor, start, head)
    refuse_elsewhere("create", cursor.current.value, span=cursor.place(cursor.current))
    raise cursor.syntax_error(
        "SOURCE, TABLE, MATERIALIZED VIEW, VIEW, SINK, INDEX, FUNCTION, AGGREGATE or SCHEMA"
    )
