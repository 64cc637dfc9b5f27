"""What to do about a query that cannot emit on close: where it loses its last watermark."""

from __future__ import annotations

from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Expr, Literal, columns_of, walk
from floodmark.plan.expr.printing import show_name, to_text
from floodmark.plan.rules.interval_join import all_distances
from floodmark.scalar.types import Field, Kind
from floodmark.stream.operators.lower import StreamPlan
from floodmark.stream.passes.close.names import choice_text, watermark_texts
from floodmark.stream.passes.close.window_hints import window_hint

ELSEWHERE = "ask for it in a view without EMIT ON WINDOW CLOSE that reads this one"

_DEFINE = "define a watermark in the source: WATERMARK FOR ts AS ts - INTERVAL '5' SECOND"
_NEAR = (
    "join by windows or times with a watermark on both sides, or keep two of them at a distance: "
    "l.ts BETWEEN r.ts - INTERVAL '5 minutes' AND r.ts"
)
_FULL = (
    "no FULL JOIN at a distance closes: LEFT JOIN, UNION ALL the other side's rows WHERE NOT "
    "EXISTS a match, with the time of either side as the first column"
)
_MONTHS = "a month has no fixed length: give the distance in days, INTERVAL '31 days'"
_NOT_IN = "NOT IN asks for NULLs, too: write NOT EXISTS (SELECT 1 FROM r WHERE r.ts = l.ts)"


def hint_of(plan: StreamPlan, node: n.Node | None = None) -> str:
    """Return what to change first: at the operator that passes none of its input's on."""
    node = plan.root if node is None else node
    while True:
        carrying = [c for c in node.inputs if plan[c].watermarks]
        paired = [c for c in node.inputs if plan[c].watermark_pairs]
        if paired and not carrying:
            return _operator_hint(paired[0], plan)
        if carrying:
            return _operator_hint(node, plan)
        if not node.inputs:
            return _DEFINE
        node = max(node.inputs, key=lambda child: len([*n.walk(child)]))


def group_hint(node: n.Aggregate, plan: StreamPlan) -> str:
    """Return the column to group by where no group column carries a watermark."""
    into = "GROUP BY " if node.aggregates else "have in GROUP BY, or among what is DISTINCT, "
    known = watermark_texts(plan, node.input)
    if known:
        return into + " or ".join(known)
    below = node.input
    if isinstance(below, n.Project) and watermark_texts(plan, below.input):
        lost = _lost_watermark_hint(node, below, plan)
        place = "GROUP BY it" if node.aggregates else "have it among what is DISTINCT"
        return lost or f"pass {choice_text(plan, below.input)} on, and {place}"
    return hint_of(plan, below)


def _lost_watermark_hint(node: n.Aggregate, below: n.Project, plan: StreamPlan) -> str | None:
    """Return the hint for a group column that reads a time and has no watermark itself."""
    carried = [w.column for w in plan[below.input].watermarks]
    for column, expr in below.columns:
        for time in carried:
            if column in node.group and time in columns_of(expr):
                field = below.input.field(time)
                return f"`{to_text(expr)}` passes no watermark on: GROUP BY {_grouping_text(field)}"
    return None


def _grouping_text(field: Field) -> str:
    """Return by what rows of a time can be grouped."""
    name = show_name(field.name)
    match field.type.kind:
        case Kind.TIMESTAMP | Kind.TIMESTAMPTZ:
            return f"date_trunc('hour', {name}), or a window: TUMBLE(…, {name}, …)"
        case Kind.DATE:
            return f"{name}, or date_trunc('month', {name})"
        case Kind.SMALLINT | Kind.INT | Kind.BIGINT:
            return f"{name}, or {name} / 60"
        case _:
            return name


def _operator_hint(node: n.Node, plan: StreamPlan) -> str:
    match node:
        case n.Project() | n.MaterializeProject():
            if not watermark_texts(plan, node.input):
                return _operator_hint(node.input, plan)
            return f"keep {choice_text(plan, node.input)} in the result"
        case n.OverWindow():
            return window_hint(node, plan)
        case n.OrderedNode() if node.scope:
            return f"PARTITION BY or DISTINCT ON {choice_text(plan, node.input)}"
        case n.OrderedNode():
            return f"rank within windows: PARTITION BY {choice_text(plan, node.input)}"
        case n.Join():
            return join_hint(node, plan)
        case _ if node.positional_columns is not None:
            return "every input needs a watermark on the same column"
        case n.TemporalFilter() | n.GrowingSeries():
            return "a condition on now() passes none on: ask it in a view that reads this one"
        case n.Aggregate():
            return group_hint(node, plan)
        case _:
            return f"keep {choice_text(plan, node.inputs[0])} in the result"


def join_hint(node: n.Join, plan: StreamPlan) -> str:
    """Return what a join that no watermark passes can be instead."""
    if plan[node].watermark_pairs:
        return "keep what is never NULL of both sides: the USING column, coalesce(l.ts, r.ts)"
    for side in node.inputs:
        if not any(plan[below].watermarks for below in n.walk(side)):
            return _lookup_hint(node, side)
    if node.kind is n.JoinKind.FULL and all_distances(node):
        return _FULL
    if node.residual is not None and any(map(_has_months, walk(node.residual))):
        return _MONTHS
    if node.kind is n.JoinKind.ANTI and node.residual is not None and not node.equi:
        return f"{_NOT_IN}; {_NEAR}"
    return _NEAR


def _lookup_hint(node: n.Join, side: n.Node) -> str:
    """Return the hint for a side without any watermark."""
    (name, *more) = {scan.object for scan in n.scans(side)} or {"VALUES"}
    called = "one side" if more else show_name(name)
    lookup = f"JOIN {'t' if more else called} FOR SYSTEM_TIME AS OF PROCTIME() ON …"
    none = f"{called} has no watermark"
    if not node.equi:
        return f"{none}: {ELSEWHERE}"
    keeps = {n.JoinKind.LEFT: node.left, n.JoinKind.RIGHT: node.right}
    if node.kind is n.JoinKind.FULL or keeps.get(node.kind) is side:
        return f"{none}, and its rows never close: keep those of the other side, LEFT {lookup}"
    match node.kind:
        case n.JoinKind.ANTI:
            return f"{none}: look it up, LEFT {lookup} WHERE its key IS NULL"
        case n.JoinKind.SEMI:
            return f"{none}: look it up by its key in place of the subquery, {lookup}"
        case n.JoinKind.LEFT | n.JoinKind.RIGHT:
            return f"{none}: look it up, LEFT {lookup}"
        case _:
            return f"{none}: look it up, {lookup}"


def _has_months(expr: Expr) -> bool:
    return (
        isinstance(expr, Literal)
        and expr.type.kind is Kind.INTERVAL
        and expr.value is not None
        and bool(expr.value[0])
    )
