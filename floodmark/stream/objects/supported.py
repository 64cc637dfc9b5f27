"""Refuses what parses and plans but does not run incrementally yet, with a reason code."""

from __future__ import annotations

from typing import Any

from floodmark.catalog.objects import CatalogObject, Kind
from floodmark.changelog import is_hidden
from floodmark.errors import BindError, NotSupported
from floodmark.limits import LIMITS
from floodmark.plan import nodes as n
from floodmark.plan.expr.determinism import (
    determinism,
    is_volatile,
    reads_now,
)
from floodmark.plan.expr.printing import to_text
from floodmark.scalar.casts import truth_of
from floodmark.sql import statements as s
from floodmark.stream.ndu.mode import OPTION, parse_mode
from floodmark.stream.objects.analysed import BACKFILL
from floodmark.stream.objects.owners import COLUMNS, ON_DELETE, ROW, parse_on_delete
from floodmark.stream.objects.replacement import parse_backfill
from floodmark.stream.objects.sinks import FORCED, KEEPING
from floodmark.stream.objects.snapshot import SNAPSHOT, parse_snapshot
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.lower import StreamPlan
from floodmark.stream.operators.pairing import unsupported_subquery
from floodmark.stream.passes.refresh import OPTION as REFRESH
from floodmark.stream.passes.refresh import parse_refresh

PAIRED = "join the rows in a view, with that as a column, and LEFT JOIN the pairs that it finds"
_SINK_TYPES = ("append-only", "upsert")


def check_options(obj: CatalogObject) -> None:
    """Raise E0354 for an option of a view or sink that has no effect yet."""
    options: tuple[s.Option, ...] = getattr(obj.statement, "options", ())
    format_ = getattr(obj.statement, "format", None)
    if isinstance(obj.statement, s.CreateSink) and format_ is not None:
        raise NotSupported(
            "E0354",
            f"FORMAT {format_.format} has no meaning for a sink into a table",
            span=format_.span,
            hint="leave it out: rows go into the table as they are",
        )
    for option in options:
        if option.name.lower() == "type" and option.value in _SINK_TYPES:
            continue
        of_sink = obj.kind is Kind.SINK and option.name.lower() in (FORCED, KEEPING)
        if of_sink and truth_of(option.value) is not None:
            continue
        if option.name.lower() == OPTION:
            parse_mode(option)
            continue
        if option.name.lower() == SNAPSHOT and obj.kind is not Kind.VIEW:
            parse_snapshot(option)
            continue
        if option.name.lower() == BACKFILL and obj.kind is Kind.SINK:
            parse_backfill(option)
            continue
        if option.name.lower() == ON_DELETE and obj.kind is Kind.SINK:
            parse_on_delete(option)
            continue
        if option.name.lower() == REFRESH and obj.kind is Kind.MATERIALIZED_VIEW:
            parse_refresh(option)
            continue
        raise NotSupported(
            "E0354",
            f"the option {option.name} = '{option.value}' is not available",
            span=option.span,
            hint=f"leave it out; available: {_available(obj.kind)}",
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
    for node, operator in plan.operators.items():
        if not refreshes:
            _check_calls(node)
        reason = (None if refreshes else _unstable(operator)) or operator.unsupported_part()
        if reason is not None:
            raise NotSupported(
                "E0350",
                f"{reason} cannot be maintained incrementally yet",
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
    if count > LIMITS.query_calls:
        raise NotSupported(
            "E0349",
            f"{count:,} {what} of one query are too many to be maintained incrementally: "
            f"{LIMITS.query_calls} are the most",
            span=node.span,
            hint="compute parts of them in materialized views of their own, and join these by key",
        )


def _remedy(node: n.Node) -> str:
    if n.is_lookup(node) and node.residual is not None and is_volatile(node.residual):
        return "compute it in a view below, as a column, and compare that; or make the join inner"
    if isinstance(node, n.Pairing) and unsupported_subquery(node) is not None:
        return PAIRED
    alone = "a SELECT on its own can use it: floodmark sql"
    if any(reads_now(e) for e in node.expressions):
        return f"{alone}; a materialized view WITH (refresh = 'full') recomputes it in each epoch"
    return alone


def _unstable(operator: StreamOperator[Any]) -> str | None:
    """Return what is not deterministic where nothing makes it so."""
    expr = operator.unstable_expression()
    return None if expr is None else f"{to_text(expr)} is {determinism(expr).value} and"


def check_columns(declared: CatalogObject, plan: StreamPlan) -> None:
    """Raise E0219 for a query without a column that can be seen."""
    if all(is_hidden(f.name) for f in plan.root.schema):
        raise BindError(
            "E0219",
            f'"{declared.name}" has no columns',
            span=declared.statement.name.span,
            hint="select at least one column",
        )
