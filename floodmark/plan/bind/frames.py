"""Frames of window functions: `ROWS BETWEEN 2 PRECEDING AND CURRENT ROW EXCLUDE TIES`.

A bound is a text: `UNBOUNDED PRECEDING`, `CURRENT ROW`, `3 FOLLOWING`; a distance in time is
`months/days/micros`, such as `0/0/5000000 PRECEDING`. A SESSION frame has its gap for a start.
"""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from floodmark.errors import BindError, Span
from floodmark.plan.bind.coercion import coerce, refuse
from floodmark.plan.bind.protocol import ExpressionBinder
from floodmark.plan.expr.expressions import Expr, Literal
from floodmark.scalar.types import INTERVAL, Kind, SqlType

FrameClause = tuple[str, str, str, str]
SESSION = "SESSION"
_WHOLE = (Kind.SMALLINT, Kind.INT, Kind.BIGINT)
_NUMBERS = (*_WHOLE, Kind.NUMERIC, Kind.REAL, Kind.DOUBLE)
_TIMES = (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ)
_MOST_ROWS = 2**31 - 1
_DAY = 86_400_000_000


def bind_frame(
    binder: ExpressionBinder, spec: object, order: tuple[SqlType, ...]
) -> FrameClause | None:
    """Return the frame, None where none is written; `order` are the types of ORDER BY.

    Raises E0291 for bounds that cannot be, E0292 for a distance that does not fit.
    """
    if not isinstance(spec, exp.WindowSpec):
        return None
    unit, span = str(spec.args["kind"]).upper(), binder.span(spec)
    if unit == SESSION:
        return unit, _gap(binder, spec.args["start"], order, span), "", "NO OTHERS"
    if unit == "GROUPS" and not order:
        raise _wrong(
            "GROUPS needs an ORDER BY in the window that tells rows apart: no constant", span
        )
    sides = [(spec.args.get(name), spec.args.get(f"{name}_side")) for name in ("start", "end")]
    start, end = (_frame_bound(binder, unit, value, side, order, span) for value, side in sides)
    _check_order(start, end, span)
    _check_months(start, end, span)
    exclude = spec.args.get("exclude")
    return unit, start, end, "NO OTHERS" if exclude is None else str(exclude.name).upper()


def _check_order(start: str, end: str, span: Span | None) -> None:
    if start == "UNBOUNDED FOLLOWING":
        raise _wrong("a frame cannot start at UNBOUNDED FOLLOWING", span)
    if end == "UNBOUNDED PRECEDING":
        raise _wrong("a frame cannot end at UNBOUNDED PRECEDING", span)
    ranks = {"PRECEDING": 0, "ROW": 1, "FOLLOWING": 2}
    if ranks[start.rpartition(" ")[2]] > ranks[end.rpartition(" ")[2]]:
        raise _wrong(f"a frame that starts at {start} cannot end at {end}", span)


def _check_months(start: str, end: str, span: Span | None) -> None:
    """Refuse months and days in one frame: Spark measures with one kind of interval."""
    amounts = [bound.partition(" ")[0].split("/") for bound in (start, end) if "/" in bound]
    months = any(amount[0] != "0" for amount in amounts)
    if months and any(amount[1:] != ["0", "0"] for amount in amounts):
        raise refuse(
            "RANGE with months and days in one frame is not available",
            span,
            "measure in months alone, or in days and less: '30 days'",
        )


def _wrong(message: str, span: Span | None) -> BindError:
    return BindError("E0291", message, span=span, hint="write the earlier bound before AND")


def _frame_bound(
    binder: ExpressionBinder,
    unit: str,
    value: object,
    side: object,
    order: tuple[SqlType, ...],
    span: Span | None,
) -> str:
    if side is None or not isinstance(value, exp.Expression):
        return f"{value} {side}" if side else str(value)
    expr = binder.without_calls().bind(value)
    if unit == "RANGE":
        return f"{_distance(expr, order, span)} {side}"
    if not (isinstance(expr, Literal) and expr.type.kind in _WHOLE and expr.value is not None):
        raise _misfit(f"{unit} counts with a whole number", span)
    if not 0 <= expr.value <= _MOST_ROWS:
        raise _misfit(f"{unit} counts from 0 to {_MOST_ROWS}", span)
    return f"{expr.value} {side}"


def _gap(
    binder: ExpressionBinder, value: exp.Expression, order: tuple[SqlType, ...], span: Span | None
) -> str:
    """Return the gap of a SESSION frame."""
    if len(order) != 1 or order[0].kind not in _TIMES:
        raise _misfit("SESSION needs one column in ORDER BY, a time", span)
    gap = _distance(binder.without_calls().bind(value), order, span)
    months, days, micros = map(int, gap.split("/"))
    if months or days * _DAY + micros <= 0 or (order[0].kind is Kind.DATE and micros % _DAY):
        raise _misfit("the gap of a SESSION is a fixed, positive interval: days or less", span)
    return gap


def _distance(expr: Expr, order: tuple[SqlType, ...], span: Span | None) -> str:
    if len(order) != 1:
        raise _misfit("RANGE with a distance needs one column in ORDER BY", span)
    (column,) = order
    if column.kind in _TIMES:
        moved = coerce(expr, INTERVAL)
        if isinstance(moved, Literal) and moved.value is not None:
            months, days, micros = moved.value
            if min(months, days, micros) < 0:
                raise _misfit("a distance cannot be negative", span)
            return f"{months}/{days}/{micros}"
        raise _misfit("the distance between times is a constant interval", span)
    if column.kind not in _NUMBERS:
        what = f"RANGE with a distance over {column} is not available"
        raise refuse(what, span, "order by a number or a time, or write ROWS, which counts rows")
    if not isinstance(expr, Literal) or expr.value is None or expr.type.kind not in _NUMBERS:
        raise _misfit("the distance between numbers is a constant number", span)
    amount = Decimal(str(expr.value))
    if amount < 0 or not amount.is_finite():
        raise _misfit("a distance cannot be negative", span)
    if column.kind in _WHOLE and amount != amount.to_integral_value():
        raise _misfit(f"the distance between values of {column} is a whole number", span)
    if column.kind is Kind.NUMERIC and -int(amount.as_tuple().exponent) > (column.scale or 0):
        raise _misfit(f"the distance has more digits than {column}", span)
    return f"{amount:f}"


def _misfit(message: str, span: Span | None) -> BindError:
    return BindError(
        "E0292", message, span=span, hint="such as 5 PRECEDING, or INTERVAL '1 day' PRECEDING"
    )
