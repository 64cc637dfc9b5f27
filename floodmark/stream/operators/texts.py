"""Shared texts of the operators' descriptions in EXPLAIN."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from floodmark.plan import nodes as n
from floodmark.plan.expr.determinism import is_deterministic
from floodmark.plan.expr.expressions import Expr
from floodmark.plan.expr.printing import interval_words, show_name
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.printing.description import Description, NodePlace
from floodmark.stream.printing.strategies import strategy_text
from floodmark.stream.properties.state import OwnTableState, StateTable

TextLines = tuple[tuple[str, ...], ...]
"""Lines of cells that are aligned with those of other operators."""
WIDEST_HEAD = 52
"""Characters of a head; what does not fit moves to lines of its own."""
STATELESS = "stateless: reads what the watermark has passed"
_EVALUATED = ("stored values", "looked-up rows", "an epoch's fetched rows", "an epoch's rows")


def fit_head(operator: str, arguments: str) -> Description:
    """Return a head with its arguments; long ones stand on a line of their own."""
    if len(arguments) <= WIDEST_HEAD:
        return Description(operator, arguments)
    return Description(operator, "", ((arguments,),))


def columns_text(columns: Sequence[str], names: Mapping[str, str]) -> str:
    """Return the names of columns as people know them."""
    return ", ".join(names.get(c, show_name(c)) for c in columns)


def offset_texts(offset: n.Interval) -> list[str]:
    """Return the offset of a window, if it has one."""
    return [f"offset {interval_words(offset)}"] if any(offset) else []


def role_cells(table: StateTable | None) -> tuple[str, ...]:
    """Return the role of a state table, and its cleaning."""
    if table is None:
        return ()
    return (table.role,) if table.cleaned_by is None else (table.role, "cleaned by watermark")


def recompute_lines(operator: StreamOperator[Any], place: NodePlace) -> TextLines:
    """Return what the changes of rows in an order are computed from, and how."""
    if place.owner is None:
        return ()
    how = (strategy_text(operator.strategy),)
    table = next(iter(operator.state), None)
    if table is not None and table.role == "first rows":
        return ((f"kept: {place.state_text(table, operator.own_table)}", table.role), how)
    source = reread_text(operator.input, place) if table is None else place.state_text(table)
    before = (("before: own table",),) if operator.own_table is OwnTableState.ROWS else ()
    return ((f"input: {source}", *role_cells(table)), *before, how)


def side_lines(operator: StreamOperator[Any], place: NodePlace) -> TextLines:
    """Return where the rows of both sides are read again, and how changes are computed."""
    if place.owner is None:
        return ()
    lines = []
    for i, (side, below) in enumerate(zip(("left", "right"), operator.inputs, strict=True)):
        table = operator.arrangement(i)
        source = reread_text(below, place) if table is None else place.state_text(table)
        lines.append((f"{side}: {source}", *role_cells(table)))
    return (*lines, (strategy_text(operator.strategy),))


def due_lines(operator: StreamOperator[Any], place: NodePlace) -> TextLines:
    """Return a line for state that waits for its time."""
    if place.owner is None:
        return ()
    how = strategy_text(operator.strategy)
    return tuple((f"due: {place.state_text(t)}", t.role, how) for t in operator.state)


def buffer_lines(operator: StreamOperator[Any], place: NodePlace) -> TextLines:
    """Return a line for state that waits for the watermark."""
    if place.owner is None:
        return ()
    return tuple((f"held: {place.state_text(t)}", "cleaned by watermark") for t in operator.state)


def state_cells(operator: StreamOperator[Any], place: NodePlace) -> tuple[str, ...]:
    """Return where the values are that an operator stores."""
    if place.owner is None:
        return ()
    if operator.own_table:
        return ("state: own table" if place.stores else "state: target table",)
    tables = [t for t in operator.state if t.role in _EVALUATED]
    return tuple(
        f"state: {place.owner}.{t.name}{', cleaned by watermark' if t.cleaned_by else ''}"
        for t in tables
    )


def reread_text(operator: StreamOperator[Any], place: NodePlace) -> str:
    """Return where the rows of an input are read again."""
    assert operator.has_arrangement
    leaves = dict.fromkeys(_leaf_texts(operator))
    return f"re-reads {', '.join(leaves)}" if leaves else "re-reads constants"


def _leaf_texts(operator: StreamOperator[Any]) -> Iterator[str]:
    """Yield what a re-readable operator is read from."""
    match operator.node:
        case n.Scan() as scan:
            yield f"{scan.object} (persisted)"
        case n.Aggregate():
            yield f"the groups of {operator.identifier}"
        case _:
            for below in operator.inputs:
                yield from _leaf_texts(below)


def one_group(
    operator: StreamOperator[Any], group: Sequence[str], what: str
) -> Sequence[tuple[str, str]]:
    """Return the note A104 where an operator has no columns that divide its rows."""
    text = f"{operator.identifier} treats all rows as one group: {what}"
    return () if group else (("A104", text),)


def first_unstable(expressions: Sequence[Expr]) -> Expr | None:
    """Return the first expression that is not deterministic."""
    return next((e for e in expressions if not is_deterministic(e)), None)
