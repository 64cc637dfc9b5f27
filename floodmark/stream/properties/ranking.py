"""The pattern of a top-N: a filter that bounds the row number of an OVER below it."""

from __future__ import annotations

from dataclasses import dataclass

from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Call, ColumnRef, Expr, Literal

_RANKS = ("row_number", "rank", "dense_rank")


@dataclass(frozen=True, slots=True)
class Ranking:
    """A top-N: per `partition` the rows whose `column`, a row number, is small.

    `first` says that one row of each partition is kept.
    """

    window: n.OverWindow
    column: str
    first: bool

    @property
    def partition(self) -> tuple[str, ...]:
        """Return the columns within which rows are numbered."""
        return self.window.partition


def ranking_of(node: n.Filter) -> Ranking | None:
    """Return the top-N that a filter makes of the OVER directly below it, or None."""
    below = node.input
    if not isinstance(below, n.OverWindow) or len(below.calls) != 1:
        return None
    ((column, call),) = below.calls
    bound = _rank_limit(node.predicate, column)
    if call.function not in _RANKS or bound is None:
        return None
    return Ranking(below, column, bound == 1 and call.function == "row_number")


def _rank_limit(predicate: Expr, column: str) -> int | None:
    match predicate:
        case Call(function="=" | "<=", args=(ColumnRef(name=name), Literal(value=int(value)))):
            return value if name == column else None
        case Call(function="<", args=(ColumnRef(name=name), Literal(value=int(value)))):
            return value - 1 if name == column else None
        case _:
            return None
