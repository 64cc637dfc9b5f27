"""Joins whose condition keeps two times at a distance: each bounds what the other can still be.

Times are dates, timestamps of either type and whole numbers; a day begins at midnight UTC.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from floodmark.plan import nodes as n
from floodmark.plan.expr.conjunctions import conjuncts, is_movable
from floodmark.plan.expr.expressions import Call, Cast, ColumnRef, Expr, Literal
from floodmark.scalar.types import Kind

_GREATER = {">": (0, 1), ">=": (0, 1), "<": (1, 0), "<=": (1, 0)}
DAY = 86_400_000_000
_TIMES = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ})
_NUMBERS = {Kind.SMALLINT: 15, Kind.INT: 31, Kind.BIGINT: 63}
"""Whole numbers, and the bits of their values."""


@dataclass(frozen=True, slots=True)
class Distance:
    """`column` is never below `other` + `by`, in every pair of the join.

    `by` is in microseconds for times. `kind` is that of `column`, `other_kind` that of `other`.
    """

    column: str
    other: str
    by: Decimal
    kind: Kind
    other_kind: Kind

    @property
    def is_in_time(self) -> bool:
        """Tell whether both are dates or timestamps."""
        return {self.kind, self.other_kind} <= _TIMES

    @property
    def is_exact(self) -> bool:
        """Tell whether both are of types with distances, not only with an order."""
        return self.is_in_time or {self.kind, self.other_kind} <= _NUMBERS.keys()

    def least(self, other: Any) -> Any:
        """Return a value that `column` is never below, from one that `other` is never below.

        Raises OverflowError where it is beyond the values that a column can have.
        """
        return _shift_value(other, self.by, self.kind)

    def greatest(self, column: Any) -> Any:
        """Return a value that `other` is never above, from one that `column` is never above.

        Raises OverflowError where it is beyond the values that a column can have.
        """
        return _shift_value(column, -self.by, self.other_kind)


def shift_to_kind(value: Any, by: Decimal, kind: Kind) -> Any:
    """Return a value moved, as one of another kind: the greatest that is not above.

    Beyond the values of that kind it is the kind's last value.

    >>> from datetime import date
    >>> shift_to_kind(date(2024, 1, 3), Decimal(-1), Kind.DATE)
    datetime.date(2024, 1, 2)
    """
    try:
        return _shift_value(value, by, kind)
    except OverflowError:
        if kind in _NUMBERS:
            limit = 1 << _NUMBERS[kind]
            return limit - 1 if value + by > 0 else -limit
        return _convert_moment(datetime.max if by > 0 else datetime.min, kind)


def _shift_value(value: Any, by: Decimal, kind: Kind) -> Any:
    if kind in _NUMBERS:
        moved = int(value + by)
        if moved.bit_length() > _NUMBERS[kind]:
            raise OverflowError(moved)
        return moved
    if kind not in _TIMES:
        assert not by, (value, by, kind)
        return value
    moment = value if isinstance(value, datetime) else datetime.combine(value, time())
    return _convert_moment(moment.replace(tzinfo=None) + timedelta(microseconds=int(by)), kind)


def _convert_moment(moment: datetime, kind: Kind) -> Any:
    if kind is Kind.DATE:
        return moment.date()
    return moment.replace(tzinfo=UTC) if kind is Kind.TIMESTAMPTZ else moment


def distances(node: n.Join) -> tuple[Distance, ...]:
    """Return the distances that hold for all rows of a join: of columns that are never padded."""
    left = set(node.left.names)
    return tuple(d for d in all_distances(node) if not _is_padded(d.column in left, node.kind))


def all_distances(node: n.Join) -> tuple[Distance, ...]:
    """Return the distances between columns of the two sides that the join's condition gives.

    `l.t BETWEEN r.t - x AND r.t + y` gives one for each side. Intervals with months say nothing.
    """
    if node.residual is None:
        return ()
    found = (distance(part) for part in conjuncts(node.residual))
    left = set(node.left.names)
    return tuple(d for d in found if d is not None and (d.column in left) != (d.other in left))


def _is_padded(is_left: bool, kind: n.JoinKind) -> bool:
    return kind.pads_left if is_left else kind.pads_right


def bounds_pairs(part: Expr) -> bool:
    """Tell whether a condition can be asked of all pairs of an inner join before other conditions.

    That is a condition that cannot fail, or a distance of two times, which bounds how long a row
    pairs. Such a distance may fail, for a time beyond the years of a timestamp: it then puts the
    pair aside whatever the other conditions say.
    """
    if is_movable(part):
        return True
    found = distance(part)
    return found is not None and found.is_in_time


def distance(part: Expr) -> Distance | None:
    """Return what a condition says of two columns; None where it is no comparison of two times."""
    if not (isinstance(part, Call) and part.function in _GREATER and len(part.args) == 2):
        return None
    above, below = (part.args[i] for i in _GREATER[part.function])
    if isinstance(above, ColumnRef) and isinstance(below, ColumnRef):
        plain = Distance(above.name, below.name, Decimal(0), above.type.kind, below.type.kind)
        return plain if plain.is_exact or plain.kind is plain.other_kind else None
    upper, lower = _column_and_shift(above), _column_and_shift(below)
    if upper is None or lower is None:
        return None
    # column + more >= other + less; a date is up to a day below its time.
    (column, more, _), (other, less, cut) = upper, lower
    distance = Distance(
        column.name, other.name, less - cut - more, column.type.kind, other.type.kind
    )
    return distance if distance.is_exact else None


def _column_and_shift(expr: Expr) -> tuple[ColumnRef, Decimal, Decimal] | None:
    """Return a column, what is added to it, and how much casts to DATE take away at most."""
    match expr:
        case ColumnRef():
            return expr, Decimal(0), Decimal(0)
        case Cast():
            inner = _column_and_shift(expr.operand)
            kinds = {expr.type.kind, expr.operand.type.kind}
            if inner is None or not (kinds <= _TIMES or _widens(expr)):
                return None
            column, by, cut = inner
            return column, by, cut + DAY if expr.type.kind is Kind.DATE else cut
        case Call(function="+" | "-" as op, args=(operand, Literal() as added)):
            inner, length = _column_and_shift(operand), _length(added, expr.type.kind)
            if inner is None or length is None:
                return None
            column, by, cut = inner
            return column, by + length if op == "+" else by - length, cut
        case _:
            return None


def _widens(expr: Cast) -> bool:
    bits, own = (_NUMBERS.get(e.type.kind) for e in (expr, expr.operand))
    return bits is not None and own is not None and bits >= own


def _length(added: Literal, kind: Kind) -> Decimal | None:
    """Return a constant that is added, in microseconds to times; None where none has a length."""
    if added.value is None:
        return None
    if added.type.kind is Kind.INTERVAL:
        months, days, micros = added.value
        return None if months or kind not in _TIMES else Decimal(days * DAY + micros)
    if added.type.kind not in _NUMBERS:
        return None
    return Decimal(added.value) * (DAY if kind is Kind.DATE else 1)
