"""TUMBLE, HOP and SESSION in FROM: a relation beside the start and end of its windows."""

from __future__ import annotations

from dataclasses import replace

from floodmark.errors import BindError
from floodmark.plan import nodes as n
from floodmark.plan.bind.binder import bind_interval, bind_scalar
from floodmark.plan.bind.scope import Column, QueryScope, Source
from floodmark.plan.build.aliases import alias_of
from floodmark.plan.build.protocol import BoundNode, QueryBuilder
from floodmark.plan.expr.expressions import ColumnRef
from floodmark.plan.nodes.columns import fresh_name, with_column
from floodmark.scalar.functions.intervals import DAY_MICROS, length_micros
from floodmark.scalar.functions.series import LONGEST
from floodmark.scalar.types import Kind, SqlType
from floodmark.sql.nodes import WindowTable

_TIMES = (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ)


def window_table(builder: QueryBuilder, item: WindowTable, inner: BoundNode) -> BoundNode:
    """Return a relation with the columns of its windows."""
    time = bind_scalar(item.args["time"], inner.scope, builder.context)
    if not isinstance(time, ColumnRef) or time.type.kind not in _TIMES:
        raise BindError(
            "E0210",
            f"{item.args['kind'].upper()} needs a timestamp or date column of its relation",
            span=builder.span(item.args["time"]),
            hint="name the column, e.g. TUMBLE(orders, event_time, INTERVAL '1' HOUR)",
        )
    taken = set(inner.node.names)
    start, end = fresh_name("window_start", taken), fresh_name("window_end", taken)
    node = _window_node(builder, item, inner, time, start, end)
    old = inner.scope.sources[0]
    shown = (
        *old.visible,
        Column("window_start", start, time.type),
        Column("window_end", end, time.type),
    )
    hidden = tuple(c for c in old.columns if c not in old.visible)
    name, given = alias_of(builder, item, old.alias, len(shown))
    named = [replace(column, name=name) for column, name in zip(shown, given, strict=False)]
    return BoundNode(
        node, QueryScope.from_sources(Source(name, (*named, *shown[len(named) :], *hidden)))
    )


def _window_node(
    builder: QueryBuilder,
    item: WindowTable,
    inner: BoundNode,
    time: ColumnRef,
    start: str,
    end: str,
) -> n.Node:
    span = builder.span(item)
    match item.args["kind"]:
        case "tumble":
            size, shift = (_length(builder, item, name, time.type) for name in ("size", "offset"))
            return n.Tumble(inner.node, time.name, size, shift, start=start, end=end, span=span)
        case "hop":
            slide, size, shift = (
                _length(builder, item, name, time.type) for name in ("slide", "size", "offset")
            )
            _check_windows(builder, item, slide, size)
            return n.Hop(inner.node, time.name, slide, size, shift, start=start, end=end, span=span)
        case _:
            gap = _length(builder, item, "gap", time.type)
            node, names = inner.node, list[str]()
            for key in item.expressions:
                node, name = with_column(node, bind_scalar(key, inner.scope, builder.context))
                names.append(name)
            return n.Session(node, time.name, gap, tuple(names), start=start, end=end, span=span)


def _length(builder: QueryBuilder, item: WindowTable, name: str, time: SqlType) -> n.Interval:
    """Return a length of a window, or the offset of all, 0 where none is given."""
    given = item.args.get(name)
    if given is None:
        return 0, 0, 0
    months, days, micros = bind_interval(given, builder.context)
    if months or (name != "offset" and days * DAY_MICROS + micros <= 0):
        raise BindError(
            "E0211",
            "a window needs a fixed, positive length: days or less",
            span=builder.span(given),
            hint="a calendar month is GROUP BY date_trunc('month', ts)",
        )
    if time.kind is Kind.DATE and micros % DAY_MICROS:
        raise BindError(
            "E0211",
            "a window of dates needs a length of whole days",
            span=builder.span(given),
            hint="cast the dates to times in a subquery: SELECT *, d::timestamp AS ts",
        )
    return months, days, micros


def _check_windows(
    builder: QueryBuilder, item: WindowTable, slide: n.Interval, size: n.Interval
) -> None:
    """Raise E0156 where a row would have more windows than a series has values."""
    windows = -(-length_micros(size) // length_micros(slide))
    if windows > LONGEST:
        raise BindError(
            "E0156",
            f"each row would be in {windows:,} windows; at most {LONGEST:,} are possible",
            span=builder.span(item.args["slide"]),
            hint="take a longer slide or a shorter size",
        )
