"""What a statement may say and nothing follows from: hints to engines that have a choice here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from sqlglot import exp

from floodmark.sql.statements import CreateIndex, Statement


def hints_of(statement: Statement) -> tuple[str, ...]:
    """Return what is to be told of the hints in a statement, each once.

    >>> from floodmark.sql.parse import parse_statement
    >>> hints_of(parse_statement("WITH q AS MATERIALIZED (SELECT 1) SELECT * FROM q"))
    ('nothing follows from MATERIALIZED: a WITH query is planned once, where it stands',)
    """
    return tuple(dict.fromkeys(_hints(statement)))


def _hints(part: Any) -> Iterator[str]:
    if isinstance(part, CreateIndex):
        yield "nothing follows from an index: tables are laid out and read by their keys"
    if isinstance(part, exp.Expression):
        for cte in part.find_all(exp.CTE):
            if cte.args.get("materialized") is not None:
                word = "MATERIALIZED" if cte.args["materialized"] else "NOT MATERIALIZED"
                yield f"nothing follows from {word}: a WITH query is planned once, where it stands"
    elif isinstance(part, tuple):
        for one in part:
            yield from _hints(one)
    elif is_dataclass(part) and type(part).__module__.startswith(__package__):
        for f in fields(part):
            yield from _hints(getattr(part, f.name))
