"""What an output column is called, and which one a number in ORDER BY means."""

from __future__ import annotations

from sqlglot import exp


def position_of(e: exp.Expression) -> int | None:
    """Return the number that stands for an output column, None for anything else."""
    return (
        int(e.this) if isinstance(e, exp.Literal) and not e.is_string and e.this.isdigit() else None
    )


def output_name(e: exp.Expression) -> str:
    """Return the name PostgreSQL gives an output column."""
    match e:
        case exp.Alias():
            return str(e.alias)
        case exp.Column():
            return str(e.name)
        case exp.Cast():
            inner = output_name(e.this)
            return e.to.sql("postgres").lower() if inner == "?column?" else inner
        case exp.Anonymous():
            return str(e.this).lower()
        case exp.Window() | exp.Filter() | exp.WithinGroup():
            return output_name(e.this)
        case exp.Case():
            return "case"
        case exp.Extract():
            return "extract"
        case exp.Dot():
            return str(e.expression.name)
        case exp.Paren():
            return output_name(e.this)
        case _:
            return "?column?"
