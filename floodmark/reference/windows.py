"""The window table functions: tumble, hop, session."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from floodmark.plan import nodes as n
from floodmark.reference.rows import Row, key_of
from floodmark.scalar.time_windows import shift_and_clamp, windows_of


def tumble(node: n.Tumble, rows: Iterable[Row]) -> list[Row]:
    """Return the rows with their window; a NULL time has a NULL window."""
    out: list[Row] = []
    for row in rows:
        start = end = None
        if row[node.time] is not None:
            ((start, end),) = windows_of(row[node.time], node.size, node.size, node.offset)
        out.append({**row, node.start: start, node.end: end})
    return out


def hop(node: n.Hop, rows: Iterable[Row]) -> list[Row]:
    """Return each row once per window that holds it, earliest first; none for a NULL time."""
    out: list[Row] = []
    for row in rows:
        if row[node.time] is None:
            continue
        bounds = windows_of(row[node.time], node.slide, node.size, node.offset)
        out += [{**row, node.start: start, node.end: end} for start, end in bounds]
    return out


def session(node: n.Session, rows: Sequence[Row]) -> list[Row]:
    """Return the rows with their session `[first, last + gap]`; a row without a time is in none.

    A row at exactly `last + gap` belongs to the session.
    """
    parts: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        if row[node.time] is not None:
            parts[key_of(row, node.partition)].append(row)
    untimed = [row for row in rows if row[node.time] is None and node.keeps_untimed]
    out: list[Row] = [{**row, node.start: None, node.end: None} for row in untimed]
    for part in parts.values():
        for members in _split(node, sorted(part, key=lambda row: row[node.time])):
            end = shift_and_clamp(members[-1][node.time], node.gap)
            start = members[0][node.time]
            out += [{**row, node.start: start, node.end: end} for row in members]
    return out


def _split(node: n.Session, rows: list[Row]) -> list[list[Row]]:
    sessions: list[list[Row]] = []
    for row in rows:
        if sessions and row[node.time] <= shift_and_clamp(sessions[-1][-1][node.time], node.gap):
            sessions[-1].append(row)
        else:
            sessions.append([row])
    return sessions
