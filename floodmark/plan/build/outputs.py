"""The columns of a select list: their names and types, and which one a number or a text means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from floodmark.digits import whole
from floodmark.errors import BindError, Span
from floodmark.plan.bind.coercion import coerce
from floodmark.plan.expr.expressions import Expr, Literal, without_places
from floodmark.scalar.types import VARCHAR, SqlType
from floodmark.sql.validate import check_visible


@dataclass(frozen=True, slots=True)
class Item:
    """One output column: its name and its expression over FROM (aggregates as columns)."""

    name: str
    expr: Expr


@dataclass(frozen=True, slots=True)
class ColumnTypes:
    """What the columns of a query get their types from, where they are bare texts and NULLs.

    That is the other side of a set operation, or the table that takes the rows. `types` are empty
    as long as they are not known; `untyped` gathers, by position, the texts and NULLs. `defaults`
    stand for the word DEFAULT in VALUES.
    """

    types: tuple[SqlType, ...] = ()
    defaults: tuple[Expr, ...] = ()
    untyped: dict[int, Literal] = field(default_factory=dict)

    def give_type(self, position: int, value: Literal) -> Expr:
        """Return a bare text or NULL in its type: VARCHAR where nothing else is known."""
        self.untyped[position] = value
        return coerce(value, self.types[position] if position < len(self.types) else VARCHAR)


def position_of(e: exp.Expression) -> int | None:
    """Return the number that stands for an output column, None for anything else."""
    plain = isinstance(e, exp.Literal) and not e.is_string and e.this.isdigit()
    return whole(e.this) if plain else None


def item_at(items: Sequence[Item], position: int, span: Span | None) -> Item:
    """Return the output of a number; E0216 for one that there is not."""
    if 1 <= position <= len(items):
        return items[position - 1]
    raise BindError(
        "E0216",
        f"position {position} is not in the select list",
        span=span,
        hint=f"it has {len(items)} columns",
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


def visible_name(e: exp.Expression, span: Span | None) -> str:
    """Return the name of an output; E0127 for an alias that would hide it."""
    name = output_name(e)
    if isinstance(e, exp.Alias):
        check_visible(name, span)
    return name


def same_output(expr: Expr, items: Iterable[Item]) -> Item | None:
    """Return the output that an expression's text says once more."""
    text = without_places(expr)
    return next((i for i in items if without_places(i.expr) == text), None)
