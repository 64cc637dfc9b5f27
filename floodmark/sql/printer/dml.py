"""The text of statements that change rows, and of COPY."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from floodmark.sql.nodes import ConstantRows
from floodmark.sql.printer.dialect import print_expression, quote_name, quote_string
from floodmark.sql.printer.parts import assignments_sql, names_sql, object_sql, options_sql
from floodmark.sql.statements import (
    CopyFrom,
    CopyTo,
    Delete,
    Insert,
    Update,
)


def dml_sql(statement: Insert | Update | Delete | CopyFrom | CopyTo) -> str:
    """Return the text of a statement that changes or copies rows."""
    match statement:
        case Insert():
            head = f"INSERT INTO {object_sql(statement.table)}{names_sql(statement.columns)}"
            return f"{head}\n{_insert_query(statement.query)}{_returning(statement.returning)}"
        case Update():
            head = f"UPDATE {object_sql(statement.table)}{_alias(statement.alias)}"
            head += f" SET {assignments_sql(statement.assignments)}"
            head += _relations("FROM", statement.from_) + _where(statement.where)
            return head + _returning(statement.returning)
        case Delete():
            head = f"DELETE FROM {object_sql(statement.table)}{_alias(statement.alias)}"
            head += _relations("USING", statement.using) + _where(statement.where)
            return head + _returning(statement.returning)
        case CopyFrom():
            head = f"COPY {object_sql(statement.table)}{names_sql(statement.columns)} FROM"
        case CopyTo() if statement.table is not None:
            head = f"COPY {object_sql(statement.table)} TO"
        case CopyTo():
            head = f"COPY (\n{print_expression(statement.query, pretty=True)}\n) TO"
    with_ = f" WITH {options_sql(statement.options)}" if statement.options else ""
    return f"{head} {quote_string(statement.path)}{with_}"


def _insert_query(query: exp.Expression) -> str:
    if isinstance(query, exp.Values) and isinstance(query.expressions[0], ConstantRows):
        return f"VALUES {query.expressions[0].name}"
    if isinstance(query, exp.Values) and not query.expressions[0].expressions:
        return "DEFAULT VALUES"
    if isinstance(query, exp.Values):
        rows = [f"({_items(row.expressions)})" for row in query.expressions]
        return "VALUES " + ", ".join(rows)
    return print_expression(query, pretty=True)


def _items(items: Iterable[exp.Expression]) -> str:
    return ", ".join(print_expression(item) for item in items)


def _alias(alias: str | None) -> str:
    return f" AS {quote_name(alias)}" if alias else ""


def _relations(word: str, select: exp.Expression | None) -> str:
    if select is None:
        return ""
    star = select.copy()
    star.set("expressions", [exp.Star()])
    text = print_expression(star)
    return f"\n{word} {text.removeprefix('SELECT * FROM ')}"


def _where(where: exp.Expression | None) -> str:
    return f"\nWHERE {print_expression(where)}" if where is not None else ""


def _returning(items: tuple[exp.Expression, ...]) -> str:
    return f"\nRETURNING {_items(items)}" if items else ""
