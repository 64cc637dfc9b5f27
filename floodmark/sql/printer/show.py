"""The text of SHOW."""

from __future__ import annotations

from floodmark.sql.printer.dialect import quote_string
from floodmark.sql.printer.parts import object_sql
from floodmark.sql.statements import Show


def show_sql(statement: Show) -> str:
    """Return the text of a SHOW statement."""
    if statement.is_setting:
        return f"SHOW {statement.what}"
    text = f"SHOW {statement.what}"
    if statement.kind is not None:
        text += f" {statement.kind.value}"
    if statement.name is not None:
        link = " " if statement.what == "CREATE" else " FROM "
        text += link + object_sql(statement.name)
    return text if statement.like is None else f"{text} LIKE {quote_string(statement.like)}"
