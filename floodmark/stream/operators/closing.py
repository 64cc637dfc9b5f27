"""When an operator that emits on window close needs no state."""

from __future__ import annotations

from floodmark.plan import nodes as n
from floodmark.plan.expr.can_fail import can_fail
from floodmark.stream.operators.base import StreamOperator


def closes_from_input(node: n.Node, below: StreamOperator[n.Node]) -> bool:
    """Tell whether an operator reads what the watermark has passed from its input, `below`.

    The input only grows and can be read again, range by range. No row of it is refused or goes
    unheard.
    """
    parts = (node, *n.walk(below.node))
    if any(can_fail(expr) for part in parts for expr in part.expressions):
        return False
    read = n.scans(below.node)
    stays = not any(scan.drops_silently for scan in read)
    return below.append_only and stays and below.has_arrangement and len(read) == 1
