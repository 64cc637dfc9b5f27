"""SESSION frames: all rows of the session that holds the row.

`sum(v) OVER (PARTITION BY k ORDER BY ts SESSION WITH GAP INTERVAL '10 minutes')` is a sum over the
partition of the row's key and session. Rows without a time are in one session of their own.
"""

from __future__ import annotations

from dataclasses import replace

from floodmark.plan import nodes as n
from floodmark.plan.bind.frames import SESSION
from floodmark.plan.nodes.columns import fresh_name

_FRAMELESS = (
    "row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead",
)  # fmt: skip
_WHOLE = ("ROWS", "UNBOUNDED PRECEDING", "UNBOUNDED FOLLOWING", "NO OTHERS")


def gap_of(call: n.WindowCall) -> str | None:
    """Return the gap of the sessions that a call looks at, `months/days/micros`; None for none.

    Functions that have no frame look at their partition, whatever the frame.
    """
    if call.frame is None or call.frame[0] != SESSION or call.function in _FRAMELESS:
        return None
    return call.frame[1]


def whole_sessions(call: n.WindowCall) -> n.WindowCall:
    """Return a call over sessions as one over partitions."""
    if call.frame is None or call.frame[0] != SESSION:
        return call
    return replace(call, frame=None if call.function in _FRAMELESS else _WHOLE)


def add_sessions(
    node: n.Node, partition: tuple[str, ...], order: tuple[n.SortKey, ...], gap: str
) -> tuple[n.Node, tuple[str, ...]]:
    """Return the rows with the bounds of their sessions, and the columns that tell these apart."""
    months, days, micros = map(int, gap.split("/"))
    taken = set(node.names)
    start, end = (fresh_name(f"__session_{side}", taken) for side in ("start", "end"))
    (key,) = order
    sessions = n.Session(
        node, key.column, (months, days, micros), partition, keeps_untimed=True,
        start=start, end=end, span=node.span,
    )  # fmt: skip
    return sessions, (*partition, start, end)
