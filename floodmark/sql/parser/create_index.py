"""CREATE INDEX."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.names import read_names, read_object_name
from floodmark.sql.parser.ordering import read_sort_key
from floodmark.sql.statements import CreateIndex


def read_create_index(cursor: Cursor, start: int, head: dict[str, Any]) -> CreateIndex:
    """Read `ON t [USING method] (keys) [INCLUDE (…)] [DISTRIBUTED BY (…)]`."""
    cursor.expect("on")
    table = read_object_name(cursor, "a table name")
    if cursor.accept("using"):
        cursor.name("an index method")
    keys = tuple(cursor.paren_list(read_sort_key))
    include = read_names(cursor) if cursor.accept("include") else ()
    distributed: tuple[exp.Expression, ...] = ()
    if cursor.accept("distributed", "by"):
        distributed = tuple(cursor.paren_list(Cursor.expression))
    return CreateIndex(
        **head,
        table=table,
        keys=keys,
        include=include,
        distributed_by=distributed,
        span=cursor.span_from(start),
    )
