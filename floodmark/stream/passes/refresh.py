"""`WITH (refresh = 'full')`: a view that is recomputed instead of kept incremental.

Its rows are the query's over all rows of its inputs, at the epoch's time; what differs from its
stored rows is its changelog. So nothing has to be taken back as it was given out, and an expression
may be stable within an epoch only. What is to be evaluated once cannot be recomputed.
"""

from __future__ import annotations

from typing import Any

from floodmark.catalog.objects import CatalogObject, ObjectKind
from floodmark.changelog import ChangelogMode
from floodmark.errors import NotSupported, Span
from floodmark.plan import nodes as n
from floodmark.plan.expr.determinism import is_volatile, reads_now
from floodmark.plan.expr.printing import to_text
from floodmark.sql import statements as s
from floodmark.stream.operators.lower import StreamPlan
from floodmark.stream.properties.watermark import Watermarks

OPTION = "refresh"


def refreshes(obj: CatalogObject) -> bool:
    """Tell whether an object is a view that is recomputed."""
    return obj.kind is ObjectKind.MATERIALIZED_VIEW and obj.option(OPTION) is not None


def refuse_on_close(statement: s.Definition) -> None:
    """Raise E0315 for a view that emits on window close and asks to be recomputed."""
    raise NotSupported(
        "E0315",
        "EMIT ON WINDOW CLOSE emits each row once, and refresh = 'full' recomputes all rows",
        span=statement.span,
        hint="leave one of them out",
    )


def refresh_plan(plan: StreamPlan) -> StreamPlan:
    """Return the plan of a view that is recomputed: no state, any row may go, no watermark."""
    changes: dict[n.Node, dict[str, Any]] = {node: {"state": ()} for node in plan.nodes}
    changes[plan.root] |= {"mode": ChangelogMode.RETRACT, "marks": Watermarks()}
    return plan.evolve(changes)


def follows_time(plan: StreamPlan) -> bool:
    """Tell whether the rows change with the epoch's time, whatever the inputs do."""
    return any(reads_now(e) for node in plan.nodes for e in node.expressions)


def could_refresh(plan: StreamPlan, statement: s.Statement) -> bool:
    """Tell whether a plan that cannot be kept incremental is a view's that could be recomputed."""
    if not isinstance(statement, s.CreateMaterializedView) or statement.emit_on_window_close:
        return False
    return _single_use(plan) is None


def check_repeatable(plan: StreamPlan) -> None:
    """Raise E0329 for the first operator that cannot be done again over the same rows."""
    found = _single_use(plan)
    if found is not None:
        span, what = found
        raise NotSupported(
            "E0329",
            f"{what} cannot be recomputed with refresh = 'full'",
            span=span,
            hint="leave refresh out, or compute it in another view and read that",
        )


def _single_use(plan: StreamPlan) -> tuple[Span | None, str] | None:
    """Return where something is done once per row first, and what, in words."""
    for node in plan.nodes:
        loose = next((e for e in node.expressions if is_volatile(e)), None)
        what = None if loose is None else f"{to_text(loose)} is evaluated once per row, and"
        if n.is_lookup(node):
            what = "a lookup is made once per row, and"
        if what is not None:
            return (None if loose is None else loose.span) or node.span, what
    return None
