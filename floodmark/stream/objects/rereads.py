"""Which operators read the stored rows of an object again, and refuse one that forgets them.

A table whose rows are discarded, or end below a watermark, tells nobody of it. What follows it
keeps what it has made of them, as long as it does so from changes alone: an operator that reads the
rows of a key again finds fewer than it has counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from floodmark.changelog import ChangelogMode
from floodmark.errors import BindError
from floodmark.plan import nodes as n
from floodmark.stream.operators.lower import StreamPlan
from floodmark.stream.properties import strategy
from floodmark.stream.properties.state import rereadable


def check_rereads(plan: StreamPlan, name: str, *, refreshes: bool = False) -> None:
    """Raise E0759 for the first operator that reads rows again which an object forgets.

    `name` is that of the view or sink. One that `refreshes` reads all rows in each epoch.
    """
    if refreshes:
        found = next((scan for scan in n.scans(plan.root) if scan.forgets), None)
        if found is not None:
            raise _refused(name, "refresh = 'full'", found, found)
    for node in plan.nodes:
        for scan in read_again(node, plan):
            if scan.forgets:
                raise _refused(name, _text(node, plan), node, scan)


def read_again(node: n.Node, plan: StreamPlan) -> tuple[n.Scan, ...]:
    """Return the objects whose stored rows an operator reads beside their changes."""
    return tuple(scan for child in _inputs(node, plan) for scan in _stored(child))


def _inputs(node: n.Node, plan: StreamPlan) -> tuple[n.Node, ...]:
    """Return the inputs of which an operator asks for rows that have not changed."""
    modes = tuple(plan[child].mode for child in node.inputs)
    match node:
        case n.Join() | n.SetOperation() | n.OverWindow() | n.Session():
            return node.inputs
        case n.TopN() if not strategy.keeps_first(node, modes[0]):
            return node.inputs
        case n.Aggregate() | n.CloseAggregate():
            computed = strategy.derive(node, modes).computed
            return node.inputs if computed is strategy.Computed.SCOPE else ()
        case _:
            return ()


def _stored(node: n.Node) -> Iterator[n.Scan]:
    """Yield what is read of a subplan that has no rows kept apart, down to the next that has."""
    if not rereadable(node) or isinstance(node, n.Aggregate):
        return
    if isinstance(node, n.Scan):
        yield node
    for child in node.inputs:
        yield from _stored(child)


def _text(node: n.Node, plan: StreamPlan) -> str:
    """Return an operator as people say it."""
    modes = tuple(plan[child].mode for child in node.inputs)
    match node:
        case n.Aggregate() | n.CloseAggregate():
            closes = isinstance(node, n.CloseAggregate)
            way = partial(strategy.aggregate_strategy, mode=modes[0], closes=closes)
            calls = (c for _, c in node.aggregates if way(c).computed is strategy.Computed.SCOPE)
            call = next(calls, None)
            return "the aggregate" if call is None else f"the aggregate {call.function}"
        case n.Join():
            return f"the {node.kind.value.lower()} join"
        case n.SetOperation():
            return "the set operation"
        case n.OverWindow():
            return f"the window function {node.calls[0][1].function}"
        case n.Session():
            return "the session window"
        case _:
            return "LIMIT"


def _refused(name: str, operator: str, node: n.Node, scan: n.Scan) -> BindError:
    return BindError(
        "E0759",
        f'{operator} in "{name}" reads rows of "{scan.object}" again, and that table forgets them: '
        "its TTL takes rows away without telling what follows it",
        span=node.span,
        hint=f'{_instead(scan)} takes them out of "{name}", too; or let the query do with changes: '
        "count, sum, FOR SYSTEM_TIME AS OF PROCTIME(), EMIT ON WINDOW CLOSE",
    )


def _instead(scan: n.Scan) -> str:
    """Return the TTL of a table that tells what follows it: other rows than those below W."""
    if scan.mode is ChangelogMode.APPEND_ONLY:
        return f"ttl_mode = 'delete' on \"{scan.object}\""
    return f"ttl = '…' with ttl_column on \"{scan.object}\", in the place of WITH TTL,"
