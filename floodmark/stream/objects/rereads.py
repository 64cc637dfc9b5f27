"""Which operators read the stored rows of an object again, and refuse one that forgets them.

A table whose rows are discarded, or end below a watermark, emits no deletes for them. Objects that
read it keep their results for these rows, as long as they compute them from changes alone. An
operator that reads the rows of a key again finds fewer than it has counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from floodmark.changelog import ChangelogMode
from floodmark.errors import BindError
from floodmark.plan import nodes as n
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.lower import StreamPlan


def check_rereads(plan: StreamPlan, name: str, *, refreshes: bool = False) -> None:
    """Raise E0759 for the first operator that reads rows again which an object forgets.

    `name` is that of the view or sink. One that `refreshes` reads all rows in each epoch.
    """
    if refreshes:
        found = next((scan for scan in n.scans(plan.root) if scan.drops_silently), None)
        if found is not None:
            raise _refusal(name, "refresh = 'full'", found, found)
    for operator in plan.operators.values():
        for scan in reread_scans(operator):
            if scan.drops_silently:
                raise _refusal(name, operator.title, operator.node, scan)


def reread_scans(operator: StreamOperator[Any]) -> tuple[n.Scan, ...]:
    """Return the objects whose stored rows an operator reads beside their changes."""
    inputs = operator.inputs if operator.needs_all_rows else ()
    return tuple(scan for below in inputs for scan in _subplan_scans(below))


def _subplan_scans(operator: StreamOperator[Any]) -> Iterator[n.Scan]:
    """Yield the scans that a subplan reads again, down to inputs with state of their own."""
    if not operator.has_arrangement or isinstance(operator.node, n.Aggregate):
        return
    if isinstance(operator.node, n.Scan):
        yield operator.node
    for below in operator.inputs:
        yield from _subplan_scans(below)


def _refusal(name: str, operator: str, node: n.Node, scan: n.Scan) -> BindError:
    return BindError(
        "E0759",
        f'{operator} in "{name}" rereads rows of "{scan.object}", but the TTL of that table '
        "removes "
        "rows without a change for its readers",
        span=node.span,
        hint=f'{_instead(scan)} removes them from "{name}", too; or use only operators that need '
        "changes alone: count, sum, FOR SYSTEM_TIME AS OF PROCTIME(), EMIT ON WINDOW CLOSE",
    )


def _instead(scan: n.Scan) -> str:
    """Return the hint: a TTL that emits deletes to the readers of the table."""
    if scan.mode is ChangelogMode.APPEND_ONLY:
        return f"ttl_mode = 'delete' on \"{scan.object}\""
    return f"ttl = '…' with ttl_column on \"{scan.object}\", in the place of WITH TTL,"
