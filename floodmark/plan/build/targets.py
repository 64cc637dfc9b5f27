"""Checks of the target columns of statements, sinks and conflict clauses."""

from __future__ import annotations

from collections.abc import Iterable

from floodmark.errors import BindError, Span
from floodmark.plan.bind.scope import unknown_column
from floodmark.plan.declaration import ColumnInfo


def not_writable(name: str, columns: Iterable[ColumnInfo], span: Span | None) -> BindError:
    """Return the error for a column that is not there, or is there and computed (E0707)."""
    known = {c.name: c for c in columns}
    if name not in known:
        return unknown_column(name, (n for n, c in known.items() if c.generated is None), span)
    generated = known[name].generated
    where = None if generated is None else generated.span
    text = where.text if where is not None else ""
    return BindError(
        "E0707",
        f'column "{name}" is computed' + (f": AS ({text})" if text else ""),
        span=span,
        hint="leave it out: the table computes it from the row",
    )


def check_writable(name: str, *, external: bool, span: Span | None) -> None:
    """Raise E0399 where rows are to be written into a table that is kept elsewhere."""
    if external:
        raise BindError(
            "E0399",
            f"{name} is an external table: it cannot be written",
            span=span,
            hint="change it in its own store",
        )
