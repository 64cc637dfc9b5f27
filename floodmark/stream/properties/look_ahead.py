"""How far window functions look ahead in time, and so when their value for a row is final.

Time is the first column of ORDER BY, if that carries a watermark. Ascending, a call looks ahead as
far as its frame ends after its row; descending, as far as the frame starts before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Literal
from floodmark.stream.properties.reach import bound_distance, parts_of

_RANKS = ("row_number", "rank", "dense_rank")


@dataclass(frozen=True, slots=True)
class LookAhead:
    """What must be below the watermark beside a row: in time, in rows after it, in peer groups.

    `distance` is in the units of the time column, microseconds for times, never too short.
    """

    distance: Decimal = Decimal(0)
    rows: int = 0
    groups: int = 0

    @property
    def counts(self) -> bool:
        """Tell whether later rows have to come, however far the watermark is."""
        return bool(self.rows or self.groups)

    def and_also(self, other: LookAhead) -> LookAhead:
        """Return the look-ahead that covers both."""
        return LookAhead(
            max(self.distance, other.distance),
            max(self.rows, other.rows),
            max(self.groups, other.groups),
        )


_NOTHING = LookAhead()


def look_ahead(node: n.OverWindow) -> LookAhead | None:
    """Return how far the calls of a window look ahead; None where one looks to the end of time."""
    if not node.order:
        return None
    total = _NOTHING
    for _, call in node.calls:
        found = call_look_ahead(node, call)
        if found is None:
            return None
        total = total.and_also(found)
    return total


def call_look_ahead(node: n.OverWindow, call: n.WindowCall) -> LookAhead | None:
    """Return how far one call of an ordered window looks ahead; None for to the end of time."""
    descending = node.order[0].descending
    if call.function in _RANKS:
        return None if descending else _NOTHING
    if call.function in ("percent_rank", "cume_dist", "ntile"):
        return None
    if call.function in ("lag", "lead"):
        return _neighbour(call, descending=descending)
    unit, start, end, _ = parts_of(node, call)
    amount, _, side = (start if descending else end).rpartition(" ")
    if side != ("PRECEDING" if descending else "FOLLOWING"):
        return _NOTHING
    if amount == "UNBOUNDED":
        return None
    if unit == "ROWS":
        return LookAhead(rows=int(amount))
    if unit == "GROUPS":
        return LookAhead(groups=int(amount))
    return LookAhead(distance=bound_distance(start if descending else end, side))


def _neighbour(call: n.WindowCall, *, descending: bool) -> LookAhead | None:
    step = 1
    if len(call.args) > 1:
        given = call.args[1]
        assert isinstance(given, Literal), given
        step = given.value or 0
    ahead = step if (call.function == "lead") != descending else -step
    if ahead <= 0:
        return _NOTHING
    return None if call.ignore_nulls else LookAhead(rows=ahead)
