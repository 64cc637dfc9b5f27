"""Parentheses around a query."""

from __future__ import annotations

from sqlglot import exp


def without_parentheses(query: exp.Expression) -> exp.Expression:
    """Return the query in parentheses that have no clauses of their own."""
    while isinstance(query, exp.Subquery) and not any(
        query.args.get(a) for a in ("alias", "order", "limit", "offset", "with_", "with")
    ):
        query = query.this
    return query
