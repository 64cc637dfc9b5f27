"""The text of DROP statements."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from floodmark.sql.printer.dialect import print_expression
from floodmark.sql.printer.parts import object_sql
from floodmark.sql.statements import Drop


def drop_sql(statement: Drop) -> str:
    """Return the text of a DROP statement."""
    parts = [
        f"DROP {statement.kind.value}",
        "IF EXISTS" if statement.if_exists else "",
        ", ".join(_targets(statement)),
        "WITH ROWS" if statement.with_rows else "",
        "CASCADE" if statement.cascade else "",
    ]
    return " ".join(part for part in parts if part)


def _targets(statement: Drop) -> Iterator[str]:
    names = (statement.name, *statement.others)
    for name, taken in zip_longest(names, statement.takes[: len(names)]):
        types = None if taken is None else [print_expression(p.type.type) for p in taken]
        yield object_sql(name) if types is None else f"{object_sql(name)}({', '.join(types)})"
