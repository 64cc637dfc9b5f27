"""EXPLAIN of a table whose rows end: by which rule, and which changes its readers get."""

from __future__ import annotations

from floodmark.plan.declaration import Declaration, Ttl
from floodmark.plan.expr.printing import delay_text, show_name


def ttl_lines(declared: Declaration) -> tuple[str, ...]:
    """Return lines that say how rows of a table end; none if they do not."""
    if declared.ttl_column is not None:
        column = show_name(declared.ttl_column)
        return (
            f"ttl: below the watermark of {column} the row of a key counts as absent, unheard",
            f"     {key_text(declared)} can have another row then: {column} tells the two apart",
        )
    if declared.ttl is None:
        return ()
    return (f"ttl: {_length(declared.ttl)}", *(f"     {line}" for line in _effects(declared)))


def key_text(declared: Declaration) -> str:
    """Return the primary key as people read it."""
    return ", ".join(show_name(c) for c in declared.primary_key)


def _length(ttl: Ttl) -> str:
    micros = ttl.length.seconds * 1_000_000 + ttl.length.microseconds
    since = "the last write of a row" if ttl.column is None else show_name(ttl.column)
    end = "deleted" if ttl.deletes else "discarded, unheard"
    return f"{delay_text((0, ttl.length.days, micros))} from {since}, then {end}"


def _effects(declared: Declaration) -> list[str]:
    """Return how a TTL that deletes changes an append-only table."""
    assert declared.ttl is not None
    if not (declared.append_only and declared.ttl.deletes):
        return []
    out = ["APPEND ONLY, and retracting: what is over is taken back"]
    if declared.watermarks:
        columns = ", ".join(show_name(mark.column) for mark in declared.watermarks)
        out.append(f"the watermark of {columns} says what is late, and closes nothing")
    return out
