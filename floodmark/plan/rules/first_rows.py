"""Recognises a top-N that is written as a filter on a row number; drops orders nobody sees.

`SELECT … FROM (SELECT *, row_number() OVER (PARTITION BY p ORDER BY o) AS n …) WHERE n <= 3` keeps
three rows of each `p`, not a number for every row. The number is computed only where it is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from floodmark.plan import nodes as n
from floodmark.plan.expr.conjunctions import conjuncts
from floodmark.plan.expr.expressions import BoolOp, Call, ColumnRef, Expr, Literal, columns_of
from floodmark.scalar.types import BOOLEAN

NamedExprs = tuple[tuple[str, Expr], ...]
_FLIPPED = {"=": "=", "<=": ">=", "<": ">", ">=": "<=", ">": "<"}


def first_rows(node: n.Node) -> n.Node:
    """Return the plan with recognised top-Ns."""
    if isinstance(node, n.Project) and isinstance(node.input, n.Filter):
        read = frozenset(c for _, e in node.columns for c in columns_of(e))
        scan = _as_top_n(node.input, read)
        if scan is not None:
            return n.Project(first_rows(scan), node.columns, span=node.span)
    if isinstance(node, n.Filter):
        scan = _as_top_n(node, frozenset(node.names))
        if scan is not None:
            return first_rows(scan)
    return node.with_inputs([first_rows(child) for child in node.inputs])


def drop_orders(node: n.Node) -> n.Node:
    """Return the plan without orders of all rows: stored rows have no order."""
    node = node.with_inputs([drop_orders(child) for child in node.inputs])
    plain = isinstance(node, n.TopN) and node.limit is None and not node.offset
    return node.inputs[0] if plain else node


def drop_inner_orders(node: n.Node) -> n.Node:
    """Return the plan with an order of all rows at most on top, below projections."""
    if isinstance(node, n.Project):
        return node.with_inputs([drop_inner_orders(node.input)])
    return node.with_inputs([drop_orders(child) for child in node.inputs])


@dataclass(frozen=True, slots=True)
class _Range:
    """Rows from `offset` on, at most `limit` of them."""

    limit: int
    offset: int = 0


def _as_top_n(node: n.Filter, read: frozenset[str]) -> n.Node | None:
    """Return the filter and what is below it as a top-N; `read` are the columns read above."""
    above: list[n.Project] = []
    below = node.input
    while isinstance(below, n.Project):
        above.append(below)
        below = below.input
    if not isinstance(below, n.OverWindow) or len(below.calls) != 1:
        return None
    ((number, call),) = below.calls
    names = _names_of(number, above)
    if names is None or call.function not in ("row_number", "rank"):
        return None
    wanted, rest = _split(node.predicate, names, ties=call.function == "rank")
    if wanted is None:
        return None
    needed = frozenset(read).union(*(columns_of(e) for e in rest))
    shown: list[tuple[n.Project, NamedExprs]] = []
    for project in above:
        columns = tuple((c, e) for c, e in project.columns if c in needed)
        shown.insert(0, (project, columns or project.columns[:1]))
        needed = frozenset().union(*(columns_of(e) for _, e in shown[0][1]))
    top: n.Node = n.TopN(
        _prune_columns(below, needed), below.partition, below.order, wanted.limit, wanted.offset,
        call.function == "rank", number if number in needed else None, span=below.span,
    )  # fmt: skip
    for project, columns in shown:
        top = n.Project(top, columns, span=project.span)
    if not rest:
        return top
    predicate = rest[0] if len(rest) == 1 else BoolOp(BOOLEAN, "and", tuple(rest))
    return n.Filter(top, predicate, span=node.span)


def _prune_columns(window: n.OverWindow, needed: frozenset[str]) -> n.Node:
    """Return the rows of a window with the columns that order them or are read above."""
    ordering = {*window.partition, *(k.column for k in window.order)}
    kept = [f for f in window.input.schema if f.name in needed | ordering]
    if len(kept) == len(window.input.schema):
        return window.input
    return n.Project(window.input, tuple((f.name, ColumnRef(f.type, f.name)) for f in kept))


def _names_of(number: str, above: Sequence[n.Project]) -> frozenset[str] | None:
    """Return what the projections call the number; None where they compute with it."""
    names = frozenset({number})
    for project in reversed(above):
        passed = {c for c, e in project.columns if isinstance(e, ColumnRef) and e.name in names}
        if any(columns_of(e) & names for c, e in project.columns if c not in passed):
            return None
        names = frozenset(passed)
    return names


def _split(
    predicate: Expr, names: frozenset[str], *, ties: bool
) -> tuple[_Range | None, list[Expr]]:
    """Return the bound of the number, and the other conditions."""
    parts = list(conjuncts(predicate))
    for i, part in enumerate(parts):
        found = _range(part, names, ties=ties)
        if found is not None:
            return found, parts[:i] + parts[i + 1 :]
    return None, parts


def _range(part: Expr, names: frozenset[str], *, ties: bool) -> _Range | None:
    match part:
        case Call(function=op, args=(ColumnRef(name=name), Literal(value=int(value)))):
            pass
        case Call(function=op, args=(Literal(value=int(value)), ColumnRef(name=name))):
            op = _FLIPPED.get(op, op)
        case _:
            return None
    if name not in names:
        return None
    match op:
        case "=" if value == 1:
            return _Range(1)
        case "=" if value > 1 and not ties:
            return _Range(1, value - 1)
        case "<=" if value > 0:
            return _Range(value)
        case "<" if value > 1:
            return _Range(value - 1)
        case _:
            return None
