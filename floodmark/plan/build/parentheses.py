"""Expressions without marks of correlation."""

from __future__ import annotations

from sqlglot import exp


def plain(query: exp.Expression) -> exp.Expression:
    """Return the query in parentheses."""
    while isinstance(query, exp.Subquery) and not any(
        query.args.get(a) for a in ("alias", "order", "limit", "offset", "with_", "with")
    ):
        query = query.this
    return query
