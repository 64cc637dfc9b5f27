"""Aliases in FROM: the name of a relation, and the names of its columns."""

from __future__ import annotations

from sqlglot import exp

from floodmark.changelog import is_hidden
from floodmark.errors import BindError, Span
from floodmark.plan import nodes as n
from floodmark.plan.build.protocol import QueryBuilder
from floodmark.plan.expr.expressions import ColumnRef


def alias_of(
    builder: QueryBuilder, item: exp.Expression, default: str, width: int
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


def rename_columns(node: n.Node, names: tuple[str, ...], span: Span | None) -> n.Node:
    """Return the plan with other names for its first visible columns (`CREATE VIEW v (a, b)`)."""
    shown = [f for f in node.schema if not is_hidden(f.name)]
    if len(names) > len(shown):
        raise BindError(
            "E0209",
            f"the query has {len(shown)} columns, {len(names)} names are given",
            span=span,
            hint="give at most one name per column",
        )
    new = dict(zip((f.name for f in shown), names, strict=False))
    after = [new.get(f.name, f.name) for f in shown]
    twice = next((name for name in after if after.count(name) > 1), None)
    if twice is not None:
        raise BindError(
            "E0145",
            f'two columns would have the name "{twice}"',
            span=span,
            hint="name both, or another one in the list",
        )
    columns = tuple((new.get(f.name, f.name), ColumnRef(f.type, f.name)) for f in node.schema)
    return n.Project(node, columns)
