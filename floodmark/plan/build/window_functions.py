"""Window functions of a SELECT: what they compute below them, and one node per window."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from floodmark.errors import Span
from floodmark.plan import nodes as n
from floodmark.plan.bind.binder import bind_scalar
from floodmark.plan.bind.collectors import AggregateCollector, WindowCollector, WindowSite
from floodmark.plan.bind.context import BindContext
from floodmark.plan.bind.scope import Scope
from floodmark.plan.bind.window_calls import overridden, window_parts
from floodmark.plan.build.session_frames import add_sessions, gap_of, whole_sessions
from floodmark.plan.expr.expressions import Case, ColumnRef, Expr, Literal, columns_of
from floodmark.plan.nodes.columns import fresh_name
from floodmark.scalar.functions import AGGREGATES

Sites = Sequence[tuple[str, WindowSite]]


def collector_of(
    query: exp.Select, span: Callable[[exp.Expression], Span | None]
) -> WindowCollector:
    """Return a collector that knows the query's WINDOW clause."""
    named: dict[str, exp.Window] = {}
    for window in query.args.get("windows") or ():
        if window.name in named:
            raise overridden(f'window "{window.name}" is already defined', span(window))
        parts = window_parts(window, named, span(window))
        named[window.name] = exp.Window(this=window.this, **parts)
    return WindowCollector(named=named)


def check_window_clause(
    named: Mapping[str, exp.Window], scope: Scope, context: BindContext
) -> None:
    """Bind what a WINDOW clause says, so that a mistake is told although no call uses it."""
    for window in named.values():
        if window.find(exp.Query) is not None:
            # Bound where it is used: once for each place.
            continue
        order = window.args.get("order")
        ordered = [] if order is None else [item.this for item in order.expressions]
        for key in (*(window.args.get("partition_by") or ()), *ordered):
            bind_scalar(key, scope, context, aggregates=AggregateCollector())


def map_sites(sites: Sites, change: Callable[[Expr], Expr]) -> list[tuple[str, WindowSite]]:
    """Return the window calls with every expression changed."""
    return [(name, _map(site, change)) for name, site in sites]


def _map(site: WindowSite, change: Callable[[Expr], Expr]) -> WindowSite:
    call = site.call
    return WindowSite(
        n.WindowCall(
            call.function,
            tuple(map(change, call.args)),
            call.type,
            call.frame,
            None if call.filter is None else change(call.filter),
            call.ignore_nulls,
        ),
        tuple(map(change, site.partition)),
        tuple((change(e), d, f) for e, d, f in site.order),
        span=site.span,
    )


_Window = tuple[tuple[str, ...], tuple[n.SortKey, ...], str | None]
"""PARTITION BY, ORDER BY, the gap of the sessions that are the frames."""


def add_windows(node: n.Node, sites: Sites, above: Sequence[Expr]) -> n.Node:
    """Return the rows with a column per window call; `above` are the expressions over them.

    What a call reads is computed below it, once, so that a row that has no value there is in no
    frame. Calls over the same rows in the same order are one node.
    """
    if not sites:
        return node
    below = _WindowInput(node)
    windows: dict[_Window, list[tuple[str, WindowSite]]] = {}
    for name, site in sites:
        guarded = (
            _map(site, below.column) if site.call.filter is None else _guard_arguments(site, below)
        )
        partition = tuple(dict.fromkeys(_column_name(e) for e in guarded.partition))
        order: dict[str, n.SortKey] = {}
        for e, descending, nulls_first in guarded.order:
            order.setdefault(_column_name(e), n.SortKey(_column_name(e), descending, nulls_first))
        gap = gap_of(guarded.call)
        windows.setdefault((partition, tuple(order.values()), gap), []).append((name, guarded))
    made = {name for name, _ in sites}
    out = below.node({c for e in above for c in columns_of(e)} - made)
    # Sessions last: those below could not tell any more what comes before what.
    for (partition, keys, gap), members in sorted(windows.items(), key=lambda w: bool(w[0][2])):
        calls = tuple((name, whole_sessions(site.call)) for name, site in members)
        if gap is not None:
            out, partition = add_sessions(out, partition, keys, gap)
        out = n.OverWindow(out, partition, keys, calls, span=members[0][1].span)
    return out


def _guard_arguments(site: WindowSite, below: _WindowInput) -> WindowSite:
    """Compute the arguments only where FILTER lets the row in."""
    condition = site.call.filter
    assert condition is not None

    def guard(e: Expr) -> Expr:
        computed = not isinstance(e, ColumnRef | Literal)
        return Case(e.type, ((condition, e),), None, span=e.span) if computed else e

    aggregated = site.call.function in AGGREGATES
    args = tuple(guard(e) if aggregated else e for e in site.call.args)
    call = n.WindowCall(
        site.call.function, args, site.call.type, site.call.frame, condition,
        site.call.ignore_nulls,
    )  # fmt: skip
    return _map(WindowSite(call, site.partition, site.order, span=site.span), below.column)


def _column_name(expr: Expr) -> str:
    assert isinstance(expr, ColumnRef)
    return expr.name


class _WindowInput:
    """The projection below the windows."""

    def __init__(self, node: n.Node) -> None:
        self._node = node
        self._taken = set(node.names)
        self._computed: dict[Expr, str] = {}
        self._read: set[str] = set()

    def column(self, expr: Expr) -> Expr:
        """Return the column that holds an expression; a literal argument stays."""
        if isinstance(expr, Literal):
            return expr
        if isinstance(expr, ColumnRef):
            self._read.add(expr.name)
            return expr
        if expr not in self._computed:
            self._computed[expr] = fresh_name("__arg", self._taken)
        return ColumnRef(expr.type, self._computed[expr], span=expr.span)

    def node(self, above: set[str]) -> n.Node:
        """Return the projection of what the windows and the expressions above read."""
        kept = [f for f in self._node.schema if f.name in self._read | above]
        kept = kept or list(self._node.schema[:1])
        if not self._computed and len(kept) == len(self._node.schema):
            return self._node
        columns = [(f.name, ColumnRef(f.type, f.name)) for f in kept]
        computed = [(name, e) for e, name in self._computed.items()]
        return n.Project(self._node, (*columns, *computed), span=self._node.span)
