"""Refuses what parses and plans but does not run incrementally yet, with a reason code."""

from __future__ import annotations

from floodmark.catalog.objects import CatalogObject, Kind
from floodmark.changelog import is_hidden
from floodmark.errors import BindError, NotSupported
from floodmark.plan import nodes as n
from floodmark.plan.expr.determinism import (
    asks_again,
    determinism,
    is_deterministic,
    is_volatile,
    reads_now,
)
from floodmark.plan.expr.expressions import Expr, UserCall, columns_of, walk
from floodmark.plan.expr.printing import to_text
from floodmark.sql import statements as s
from floodmark.stream.ndu.mode import OPTION, parse_mode
from floodmark.stream.objects.analysed import BACKFILL
from floodmark.stream.objects.owners import COLUMNS, ON_DELETE, ROW, parse_on_delete
from floodmark.stream.objects.replacement import parse_backfill
from floodmark.stream.objects.sinks import FORCED, KEEPING
from floodmark.stream.objects.snapshot import SNAPSHOT, parse_snapshot
from floodmark.stream.operators.lower import StreamPlan
from floodmark.stream.operators.over_window import unlisted
from floodmark.stream.passes.refresh import OPTION as REFRESH
from floodmark.stream.passes.refresh import parse_refresh
from floodmark.stream.properties.state import persisted

PAIRED = "join the rows in a view, with that as a column, and LEFT JOIN the pairs that it finds"
MAX_CALLS = 512
"""So many aggregates, or window functions, has one operator. A `sum(CASE …)` is some 230 nodes of
an epoch's query, and a query of 100,000 nodes is planned for some ten seconds."""
_SINK_TYPES = ("append-only", "upsert")


def check_options(found: CatalogObject) -> None:
    """Raise E0354 for an option of a view or sink that has no effect yet."""
    options: tuple[s.Option, ...] = getattr(found.statement, "options", ())
    format_ = getattr(found.statement, "format", None)
    if isinstance(found.statement, s.CreateSink) and format_ is not None:
        raise NotSupported(
            "E0354",
            f"FORMAT {format_.format} has no meaning for a sink into a table",
            span=format_.span,
            hint="leave it out: rows go into the table as they are",
        )
    for option in options:
        if option.name.lower() == "type" and option.value in _SINK_TYPES:
            continue
        of_sink = found.kind is Kind.SINK and option.name.lower() in (FORCED, KEEPING)
        if of_sink and s.truth_of(option.value) is not None:
            continue
        if option.name.lower() == OPTION:
            parse_mode(option)
            continue
        if option.name.lower() == SNAPSHOT and found.kind is not Kind.VIEW:
            parse_snapshot(option)
            continue
        if option.name.lower() == BACKFILL and found.kind is Kind.SINK:
            parse_backfill(option)
            continue
        if option.name.lower() == ON_DELETE and found.kind is Kind.SINK:
            parse_on_delete(option)
            continue
        if option.name.lower() == REFRESH and found.kind is Kind.MATERIALIZED_VIEW:
            parse_refresh(option)
            continue
        raise NotSupported(
            "E0354",
            f"the option {option.name} = '{option.value}' is not available",
            span=option.span,
            hint=f"leave it out: there is {_available(found.kind)}",
        )


def _available(kind: Kind) -> str:
    """Return the options of a view or sink, as a hint."""
    modes = "determinism = 'strict' | 'flink' | 'ignore'"
    if kind is Kind.SINK:
        types = " | ".join(map(repr, _SINK_TYPES))
        kept = f"{FORCED} = 'true', {KEEPING} = 'true', {BACKFILL} = 'diff' | 'none'"
        kept += f", {ON_DELETE} = '{ROW}' | '{COLUMNS}'"
        return f"type = {types}, {kept}, {SNAPSHOT} = 'false', {modes}"
    return f"{modes}, refresh = 'full', snapshot = 'false'"


def check_supported(plan: StreamPlan, *, refreshes: bool = False) -> None:
    """Raise E0350 for the first operator that cannot be kept incremental yet; E0349.

    What a view that `refreshes` evaluates needs no incremental form, only operators that run.
    """
    for node in plan.nodes:
        if not refreshes:
            _check_calls(node)
        reason = (None if refreshes else _loose(node, plan)) or _reason(node)
        if reason is not None:
            raise NotSupported(
                "E0350",
                f"{reason} cannot be kept incremental yet",
                span=node.span,
                hint=_remedy(node),
            )


def _check_calls(node: n.Node) -> None:
    """Refuse an operator whose query in an epoch no splitting makes small enough to be planned."""
    match node:
        case n.Aggregate() | n.CloseAggregate():
            count, what = len(node.aggregates), "aggregates"
        case n.OverWindow():
            count, what = len(node.calls), "window functions"
        case _:
            return
    if count > MAX_CALLS:
        raise NotSupported(
            "E0349",
            f"{count:,} {what} of one query are too many to be kept incremental: {MAX_CALLS} "
            "are the most",
            span=node.span,
            hint="compute parts of them in materialized views of their own, and join these by key",
        )


def _remedy(node: n.Node) -> str:
    if isinstance(node, n.LookupJoin) and node.residual is not None and is_volatile(node.residual):
        return "compute it in a view below, as a column, and compare that; or make the join inner"
    if isinstance(node, n.Pairing) and unpaired(node) is not None:
        return PAIRED
    alone = "a SELECT on its own can use it: floodmark sql"
    if any(reads_now(e) for e in node.expressions):
        return f"{alone}; a materialized view WITH (refresh = 'full') recomputes it in each epoch"
    return alone


def _loose(node: n.Node, plan: StreamPlan) -> str | None:
    """Return what is not deterministic where nothing makes it so.

    A row that is only added is projected and filtered once. What rows that are updated need stored
    is stored by now; a built-in volatile value that is not is the same for all changes of its key.
    """
    loose = [e for e in node.expressions if not is_deterministic(e)]
    once = bool(node.inputs) and plan[node.inputs[0]].append_only
    match node:
        case n.MaterializeProject():
            return None
        case n.Project():
            loose = [e for e in loose if not (once or _is_replayed(e))]
        case n.GrowingSeries():
            return None
        case n.Filter() | n.ProjectSet():
            loose = [e for e in loose if reads_now(e) or not (once or _is_replayed(e))]
        case n.TemporalFilter() | n.SortBuffer():
            return None
        case _:
            pass
    return f"{to_text(loose[0])} is {determinism(loose[0]).value} and" if loose else None


def _is_replayed(expr: Expr) -> bool:
    """Tell whether nothing but built-in volatile functions makes an expression volatile."""
    return not reads_now(expr) and not asks_again(expr)


def _reason(node: n.Node) -> str | None:
    match node:
        case n.Scan() | n.Values() | n.Project() | n.Filter() | n.UnionAll():
            return None
        case n.MaterializeProject() | n.ProjectSet() | n.SetOperation():
            return None
        case n.Tumble() | n.Hop() | n.Session() | n.TemporalFilter():
            return None
        case n.Aggregate() | n.CloseAggregate() | n.SortBuffer():
            return None
        case n.LookupJoin() if not persisted(node.right):
            return "a lookup in a query that nothing stores"
        case n.Pairing():
            return unpaired(node)
        case n.OverWindow():
            return unlisted(node)
        case n.TopN():
            return None
        case _:
            return type(node).__name__


def unpaired(node: n.Pairing) -> str | None:
    """Return what Spark cannot ask of a pair: it asks for one row at a time, or above the join."""
    if node.residual is None:
        return None
    if is_volatile(node.residual):
        return "a volatile condition of an outer join that reads both sides"
    calls = (part for part in walk(node.residual) if isinstance(part, UserCall))
    sides = [set(side.names) for side in node.inputs]
    if node.kind is not n.JoinKind.INNER and any(
        all(columns_of(call) & side for side in sides) for call in calls
    ):
        return "a condition of an outer join in which a function of yours takes both sides"
    return None


def check_columns(declared: CatalogObject, plan: StreamPlan) -> None:
    """Raise E0219 for a query without a column that can be seen."""
    if all(is_hidden(f.name) for f in plan.root.schema):
        raise BindError(
            "E0219",
            f'"{declared.name}" has no columns',
            span=declared.statement.name.span,
            hint="select at least one column",
        )
