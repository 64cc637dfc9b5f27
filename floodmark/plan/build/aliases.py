"""Aliases in FROM: the name of a relation, and the names of its columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from floodmark.errors import BindError

if TYPE_CHECKING:
    from floodmark.plan.build.builder import Builder


def alias_of(
    builder: Builder, item: exp.Expression, default: str, width: int
) -> tuple[str, list[str]]:
    """Return the name of a relation of FROM, and those that its first columns are given.

    Raises E0209 for more names than the relation has columns.
    """
    alias = item.args.get("alias")
    name = (alias.name if alias is not None else "") or default
    given = [c.name for c in (alias.args.get("columns") or ())] if alias is not None else []
    if len(given) > width:
        raise BindError(
            "E0209",
            f'"{name}" has {width} columns, {len(given)} names are given',
            span=builder.span(alias),
            hint="give at most one name per column",
        )
    return name, given
