"""Refuses what parses and plans but does not run incrementally yet, with a reason code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from floodmark.catalog.objects import CatalogObject, ObjectKind
from floodmark.catalog.option_table import OptionPlace, OptionSpec, specs_of
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
from floodmark.sql import statements as s
from floodmark.stream.ndu.mode import OPTION
from floodmark.stream.objects.analysed import BACKFILL
from floodmark.stream.objects.owners import ON_DELETE
from floodmark.stream.objects.snapshot import SNAPSHOT
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.lower import StreamPlan
from floodmark.stream.operators.pairing import unsupported_subquery
from floodmark.stream.passes.refresh import OPTION as REFRESH

PAIRED = "join the rows in a view, with that as a column, and LEFT JOIN the pairs that it finds"
_CODES = {
    OPTION: ("E0324", "strict is the default"),
    REFRESH: ("E0328", "leave it out: the view is then maintained incrementally"),
    ON_DELETE: (
        "E0780", "a delete takes the 'row' away, or clears the 'columns' that the sink lists",
    ),
    BACKFILL: (
        "E0840",
        "'diff' writes the differences at once; 'none' applies the new query only to changes that "
        "come",
    ),
    SNAPSHOT: (
        "E0850",
        "WITH (snapshot = false) starts with the rows that come, without those that exist already",
    ),
}  # fmt: skip
"""The code and hint of a value that an option cannot have; of others it is E0354."""


def check_options(obj: CatalogObject) -> None:
    """Raise E0354 for an option that a view or a sink into a table does not have.

    A value that an option cannot have is E0324, E0328, E0354, E0780, E0840 or E0850.
    """
    options: tuple[s.Option, ...] = getattr(obj.statement, "options", ())
    format_ = getattr(obj.statement, "format", None)
    if isinstance(obj.statement, s.CreateSink) and format_ is not None:
        raise NotSupported(
            "E0354",
            f"FORMAT {format_.format} has no meaning for a sink into a table",
            span=format_.span,
            hint="leave it out: rows go into the table as they are",
        )
    specs = _specs_of(obj.kind)
    known = f"leave it out; available: {', '.join(spec.usage for spec in specs.values())}"
    for option in options:
        name = option.name.lower()
        if name not in specs:
            what = f"the option {option.name} = '{option.value}' is not available"
            raise NotSupported("E0354", what, span=option.span, hint=known)
        if name in _CODES:
            specs[name].check(option, *_CODES[name])
        else:
            specs[name].check(option, "E0354", known, NotSupported)


def _specs_of(kind: ObjectKind) -> Mapping[str, OptionSpec]:
    """Return the options of a view or of a sink into a table, by name."""
    if kind is ObjectKind.SINK:
        return specs_of(OptionPlace.SINK_INTO)
    specs = specs_of(OptionPlace.MATERIALIZED_VIEW)
    # A plain view is a part of what reads it; that it names a mode does no harm.
    return specs if kind is ObjectKind.MATERIALIZED_VIEW else {OPTION: specs[OPTION]}


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
    calls = [call for call in node.generated_columns.values() if not isinstance(call, str)]
    if len(calls) > LIMITS.query_calls:
        what = "window functions" if isinstance(calls[0], n.WindowCall) else "aggregates"
        raise NotSupported(
            "E0349",
            f"{len(calls):,} {what} of one query are too many to be maintained incrementally: "
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
    """Return the expression that another evaluation may change, as the start of a reason."""
    expr = operator.unstable_expression()
    return None if expr is None else f"{to_text(expr)} is {determinism(expr).value} and"


def check_columns(obj: CatalogObject, plan: StreamPlan) -> None:
    """Raise E0219 for a query without a column that can be seen."""
    if all(is_hidden(f.name) for f in plan.root.schema):
        raise BindError(
            "E0219",
            f'"{obj.name}" has no columns',
            span=obj.statement.name.span,
            hint="select at least one column",
        )
