"""Window functions over a partitioning and an order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import AggCall
from floodmark.reference.grouping import compute
from floodmark.reference.moment import Moment
from floodmark.reference.rows import Row, ascending, key_of, sort_rows, sort_value
from floodmark.scalar.functions import RowError
from floodmark.scalar.time_windows import shift


@dataclass(frozen=True)
class _Partition:
    """The rows of one partition in total order; rows with equal order columns are peers."""

    node: n.OverWindow
    rows: list[Row]
    peers: list[tuple[int, int]]
    """Per row, the first position of its peers and the one after the last."""

    @property
    def group_numbers(self) -> list[int]:
        """Return for each row the number of its peer group, from 0."""
        starts = sorted({start for start, _ in self.peers})
        return [starts.index(start) for start, _ in self.peers]


def over_window(
    node: n.OverWindow, rows: Sequence[Row], key: tuple[str, ...], moment: Moment
) -> list[Row]:
    """Return the rows with their window functions; `key` (the stream key) breaks ties.

    A row for which a function has no value goes to the dead letters.
    """
    parts: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in sort_rows(rows, (*node.order, *ascending(key))):
        parts[key_of(row, node.partition)].append(row)
    out: list[Row] = []
    for members in parts.values():
        part = _Partition(node, members, _peers(node, members))
        for position, row in enumerate(members):
            try:
                values = {name: _value(part, call, position, moment) for name, call in node.calls}
            except RowError as error:
                moment.bury(node, int(error.code), row)
            else:
                out.append({**row, **values})
    return out


def _peers(node: n.OverWindow, rows: list[Row]) -> list[tuple[int, int]]:
    columns = tuple(k.column for k in node.order)
    keys = [key_of(row, columns) for row in rows]
    counts = {k: keys.count(k) for k in keys}
    return [(first := keys.index(k), first + counts[k]) for k in keys]


def _value(part: _Partition, call: n.WindowCall, position: int, moment: Moment) -> Any:
    size, (first, end) = len(part.rows), part.peers[position]
    match call.function:
        case "row_number":
            return position + 1
        case "rank":
            return first + 1
        case "dense_rank":
            return part.group_numbers[position] + 1
        case "percent_rank":
            return first / (size - 1) if size > 1 else 0.0
        case "cume_dist":
            return end / size
        case "ntile":
            return _tile(position, size, moment.value(call.args[0], part.rows[position])[0])
        case "lag" | "lead":
            return _neighbour(part, call, position, moment)
        case "first_value" | "last_value" | "nth_value":
            return _frame_value(part, call, position, moment)
        case _:
            aggregate = AggCall(call.function, call.args, call.type, filter=call.filter)
            frame = [part.rows[i] for i in frame_of(part, call, position)]
            return compute(aggregate, frame, moment)


def _tile(position: int, size: int, tiles: int) -> int:
    small, larger = divmod(size, tiles)
    edge = larger * (small + 1)
    if position < edge:
        return position // (small + 1) + 1
    return larger + (position - edge) // small + 1


def _neighbour(part: _Partition, call: n.WindowCall, position: int, moment: Moment) -> Any:
    row = part.rows[position]
    step = moment.value(call.args[1], row)[0] if len(call.args) > 1 else 1
    if step is None:
        return None
    step = -step if call.function == "lag" else step
    if not call.ignore_nulls or not step:
        target = position + step
        if 0 <= target < len(part.rows):
            return moment.value(call.args[0], part.rows[target])[0]
    else:
        beyond = part.rows[position + 1 :] if step > 0 else part.rows[:position][::-1]
        values = [v for r in beyond if (v := moment.value(call.args[0], r)[0]) is not None]
        if abs(step) <= len(values):
            return values[abs(step) - 1]
    return moment.value(call.args[2], row)[0] if len(call.args) > 2 else None


def _frame_value(part: _Partition, call: n.WindowCall, position: int, moment: Moment) -> Any:
    rows = [part.rows[i] for i in frame_of(part, call, position)]
    values = [moment.value(call.args[0], row)[0] for row in rows]
    if call.ignore_nulls:
        values = [value for value in values if value is not None]
    if call.function == "last_value":
        return values[-1] if values else None
    nth = 1
    if call.function == "nth_value":
        nth = moment.value(call.args[1], part.rows[position])[0]
    return values[nth - 1] if len(values) >= nth else None


def frame_of(part: _Partition, call: n.WindowCall, position: int) -> list[int]:
    """Return the positions inside the frame of a row.

    Bounds are texts: `unbounded preceding`, `current row`, `3 following`; a RANGE over time counts
    an interval as `months/days/micros`, e.g. `0/0/5000000 preceding`. Without a frame: with an
    order from the start to the last peer, otherwise the whole partition.
    """
    size = len(part.rows)
    unit, start, end, exclude = call.frame or (
        ("range", "unbounded preceding", "current row", "no others")
        if part.node.order
        else ("rows", "unbounded preceding", "unbounded following", "no others")
    )
    match unit.lower():
        case "rows":
            low, high = position + _steps(start, size), position + _steps(end, size)
            inside = [i for i in range(size) if low <= i <= high]
        case "groups":
            numbers = part.group_numbers
            low, high = (numbers[position] + _steps(bound, size) for bound in (start, end))
            inside = [i for i in range(size) if low <= numbers[i] <= high]
        case _:
            low, high = _range_start(part, start, position), _range_end(part, end, position)
            inside = list(range(low, high))
    return _excluding(part, exclude.lower(), position, inside)


def _excluding(part: _Partition, exclude: str, position: int, inside: list[int]) -> list[int]:
    peers = range(*part.peers[position])
    match exclude:
        case "current row":
            return [i for i in inside if i != position]
        case "group":
            return [i for i in inside if i not in peers]
        case "ties":
            return [i for i in inside if i == position or i not in peers]
        case _:
            return inside


def _steps(bound: str, size: int) -> int:
    amount, _, side = bound.lower().rpartition(" ")
    if side == "row":
        return 0
    count = size if amount == "unbounded" else int(amount)
    return -count if side == "preceding" else count


def _range_start(part: _Partition, bound: str, position: int) -> int:
    limit = _limit(part, bound, position)
    if limit is None:
        return _edge(part, bound, position)[0]
    column = part.node.order[0]
    values = [_instant(row[column.column]) for row in part.rows]
    inside = (
        i
        for i, value in enumerate(values)
        if (
            not column.nulls_first
            if value is None
            else not _precedes(value, limit, column.descending)
        )
    )
    return next(inside, len(values))


def _range_end(part: _Partition, bound: str, position: int) -> int:
    limit = _limit(part, bound, position)
    if limit is None:
        return _edge(part, bound, position)[1]
    column = part.node.order[0]
    values = [_instant(row[column.column]) for row in part.rows]
    inside = [
        i
        for i, value in enumerate(values)
        if (column.nulls_first if value is None else not _precedes(limit, value, column.descending))
    ]
    return inside[-1] + 1 if inside else 0


def _edge(part: _Partition, bound: str, position: int) -> tuple[int, int]:
    """Return the bound as (first position, end position) when it is no distance."""
    match bound.lower():
        case "unbounded preceding":
            return 0, 0
        case "unbounded following":
            return len(part.rows), len(part.rows)
        case _:
            return part.peers[position]


def _limit(part: _Partition, bound: str, position: int) -> Any:
    """Return the value at a distance from the row's; None where the bound is no distance."""
    amount, _, side = bound.lower().rpartition(" ")
    if side == "row" or amount == "unbounded":
        return None
    column = part.node.order[0]
    value = _instant(part.rows[position][column.column])
    if value is None:
        return None
    sign = -1 if (side == "preceding") != column.descending else 1
    if "/" in amount:
        months, days, micros = (int(piece) for piece in amount.split("/"))
        return shift(value, (months, days, micros), sign)
    return value + sign * type(value)(Decimal(amount))


def _instant(value: Any) -> Any:
    """Return a date as its first moment: a distance from it can be some hours."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    return value


def _precedes(a: Any, b: Any, descending: bool) -> bool:
    return sort_value(b) < sort_value(a) if descending else sort_value(a) < sort_value(b)
