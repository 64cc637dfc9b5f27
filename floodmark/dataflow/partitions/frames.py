"""Frames of window functions as Spark has them: over which order, and between which bounds.

GROUPS counts the numbers of peer groups; a distance is measured on a number wide enough for both
its ends. What Spark calls a frame never raises then.
"""

from __future__ import annotations

from dataclasses import dataclass

from floodmark.plan import nodes as n
from floodmark.scalar.types import Kind, SqlType
from floodmark.spark.sorting import sort_key, sort_text
from floodmark.spark.types import ident
from floodmark.stream.properties.reach import has_distance, parts_of, reach_of

PEERS = "__peers"
"""The number of a row's peer group in its partition: a BIGINT from 1 in the window's order."""
_DAY = 86_400_000_000
_TIMES = (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ)


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame: its ORDER BY (None: the total order), its bounds, whether no row is ever in it."""

    order: str | None
    bounds: str
    empty: bool = False


def frame_of(node: n.OverWindow, call: n.WindowCall) -> Frame:
    """Return a call's frame; the rows must have `__peers` where `needs_peers`."""
    unit, start, end, _ = parts_of(node, call)
    empty = _is_empty(start, end)
    if unit == "ROWS":
        return Frame(None, f"ROWS BETWEEN {start} AND {end}", empty)
    if unit == "GROUPS":
        counted = [_with_amount(bound, "{}L") for bound in (start, end)]
        return Frame(f"{PEERS} ASC", f"RANGE BETWEEN {counted[0]} AND {counted[1]}", empty)
    if not has_distance(start, end):
        return Frame(plain_order(node), f"RANGE BETWEEN {start} AND {end}")
    (key,) = node.order
    months = any("/" in bound and not bound.startswith("0/") for bound in (start, end))
    column, literal = measure(node.input.field(key.column).type, key.column, months=months)
    low, high = (_with_amount(bound, literal) for bound in (start, end))
    order = sort_key(column, key.descending, key.nulls_first)
    return Frame(order, f"RANGE BETWEEN {low} AND {high}", empty)


def needs_peers(node: n.OverWindow, call: n.WindowCall) -> bool:
    """Tell whether a call's frame is counted, or cut, by groups of peers."""
    unit, _, _, exclude = parts_of(node, call)
    return unit == "GROUPS" or (exclude in ("GROUP", "TIES") and bool(node.order))


def plain_order(node: n.OverWindow) -> str:
    """Return the ORDER BY of a window: equal rows are peers."""
    texts = ((k, sort_text(k.column, node.input.field(k.column).type)) for k in node.order)
    return ", ".join(sort_key(text, k.descending, k.nulls_first) for k, text in texts)


def _is_empty(start: str, end: str) -> bool:
    """Tell whether the bounds are so that the frame ends before it starts."""
    sides = [bound.rpartition(" ") for bound in (start, end)]
    if sides[0][2] != sides[1][2] or not all(amount[0].isdigit() for amount, _, _ in sides):
        return False
    low, high = (_comparable(amount) for amount, _, _ in sides)
    return low < high if sides[0][2] == "PRECEDING" else low > high


def _comparable(amount: str) -> tuple[float, ...]:
    if "/" not in amount:
        return (float(amount),)
    # A frame has months or days, not both.
    months, days, micros = map(int, amount.split("/"))
    return months, days * _DAY + micros


def _with_amount(bound: str, literal: str) -> str:
    """Return a bound with its amount as Spark writes it: what it takes there are literals."""
    amount, _, side = bound.rpartition(" ")
    if not amount[0].isdigit():
        return bound
    if "/" not in amount:
        return f"{literal.format(amount)} {side}"
    months, days, micros = map(int, amount.split("/"))
    return f"{literal.format(days * _DAY + micros, months=months)} {side}"


def measure(type_: SqlType, name: str, *, months: bool = False) -> tuple[str, str]:
    """Return what is ordered by, a number unless in `months`, and how a distance is written."""
    column = ident(name)
    match type_.kind:
        case Kind.SMALLINT | Kind.INT:
            return f"CAST({column} AS BIGINT)", "{}L"
        case Kind.BIGINT:
            return f"CAST({column} AS DECIMAL(38,0))", "{}BD"
        case Kind.NUMERIC:
            return column, "{}BD"
        case Kind.REAL | Kind.DOUBLE:
            return f"CAST({column} AS DOUBLE)", "{}D"
        case _:
            assert type_.kind in _TIMES, type_
    instant = f"CAST({column} AS TIMESTAMP_NTZ)"
    if months:
        return instant, "INTERVAL '{months}' MONTH"
    epoch = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"
    return f"timestampdiff(MICROSECOND, {epoch}, {instant})", "{}L"


Key = tuple[str, ...]


def total_order(node: n.OverWindow, key: Key) -> str:
    """Return the ORDER BY in which no two rows of a partition are equal."""
    asked = {k.column for k in node.order}
    rest = [c for c in key if c not in asked and c not in node.partition]
    keys = [plain_order(node)] if node.order else []
    keys += [sort_key(ident(c), descending=False, nulls_first=False) for c in rest]
    return ", ".join(keys) or "CAST(NULL AS INT)"


def last_rows(node: n.OverWindow, last: int, key: Key) -> tuple[tuple[str, ...], str]:
    """Return the columns with a row's place in its partition, and which are the last, as time goes.

    They are so many rows, or groups of peers, where the frames are of those.
    """
    reach = reach_of(node)
    groups = reach is not None and reach.unit == "GROUPS"
    order = plain_order(node) if groups else total_order(node, key)
    by = f"PARTITION BY {', '.join(map(ident, node.partition))}" if node.partition else ""
    place = f"{'dense_rank' if groups else 'row_number'}() OVER ({by} ORDER BY {order})"
    whole = f"{by} ORDER BY {order} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
    counted = f"last_value(__place) OVER ({whole})"
    descends = node.order[0].descending
    stays = f"__place <= {last}" if descends else f"__last - __place < {last}"
    return (f"{place} AS __place", f"{counted} AS __last"), stays
