"""Numbers of more digits than a NUMERIC has: they are written for a DOUBLE, or are refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from floodmark.errors import BindError, Span
from floodmark.plan.expr.expressions import Expr, Literal
from floodmark.scalar.casts import from_text
from floodmark.scalar.functions.model import RowError
from floodmark.scalar.types import DOUBLE, Kind, SqlType

_MOST = 38
_INEXACT = (Kind.REAL, Kind.DOUBLE)


def is_wide(text: str) -> bool:
    """Tell whether a number needs more than 38 digits without its exponent.

    >>> [is_wide(text) for text in ("1e37", "1e38", "0.001e-36", "0e400")]
    [False, True, True, False]
    """
    mantissa, _, power = text.lower().lstrip("+-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = len((whole + fraction).lstrip("0"))
    places = int(power.lstrip("+-").lstrip("0")[:9] or 0)
    last = (-places if power.startswith("-") else places) - len(fraction)
    return max(0, -last) + (max(0, digits + last) if digits else 0) > _MOST


def as_inexact(node: exp.Expression, type_: SqlType, span: Span | None) -> Literal | None:
    """Return a wide number as the REAL or DOUBLE that it is written for; None for all else.

    E0258 for one that the type cannot hold.
    """
    text = _wide_text(node) if type_.kind in _INEXACT else None
    if text is None:
        return None
    try:
        return Literal(type_, from_text(text, type_), span=span)
    except RowError:
        raise BindError(
            "E0258",
            f"{text} is not a value of type {type_}",
            span=span,
            hint="correct the literal: it is beyond what the type holds",
        ) from None


def bind_alike(
    nodes: Sequence[exp.Expression],
    bind: Callable[[exp.Expression], Expr],
    place: Callable[[exp.Expression], Span | None],
) -> list[Expr]:
    """Bind what stands together in a call; a wide number beside a REAL or DOUBLE is a DOUBLE."""
    wide = [_wide_text(node) is not None for node in nodes]
    bound = [None if late else bind(node) for node, late in zip(nodes, wide, strict=True)]
    beside = any(e is not None and e.type.kind in _INEXACT for e in bound)
    out = []
    for node, expr in zip(nodes, bound, strict=True):
        double = as_inexact(node, DOUBLE, place(node)) if expr is None and beside else None
        out.append(expr or double or bind(node))
    return out


def _wide_text(node: exp.Expression) -> str | None:
    """Return how a wide number is written, with its sign; None for anything else."""
    sign = ""
    while isinstance(node, (exp.Paren, exp.Neg)):
        sign = ("" if sign else "-") if isinstance(node, exp.Neg) else sign
        node = node.this
    number = isinstance(node, exp.Literal) and not node.is_string and is_wide(str(node.this))
    return f"{sign}{str(node.this).lower()}" if number else None
