"""Aggregates and top-N: operators that look at whole groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from floodmark.changelog import is_hidden
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import AggCall
from floodmark.reference.moment import Moment
from floodmark.reference.rows import Row, ascending, canonical, key_of, sort_rows
from floodmark.scalar.functions import RowError, aggregate_overload
from floodmark.scalar.functions.comparison import order_key

Argument = tuple[Any, ...]


def aggregate(
    node: n.Aggregate | n.CloseAggregate,
    rows: Sequence[Row],
    key: tuple[str, ...],
    moment: Moment,
    released: Callable[[Row], bool] = lambda head: True,
) -> list[Row]:
    """Return one row per group, or exactly one when there are no group columns.

    A row is put aside, for all aggregates of its group, if an argument or a FILTER fails for it. A
    group for which an aggregate fails goes to the dead letters itself. `key` is the input's stream
    key: it breaks ties where an aggregate depends on the order. Only groups that are `released`
    come out, but rows are put aside whenever they come in.
    """
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    if not node.group:
        groups[()] = []
    for row in sort_rows(rows, ascending(key)):
        if not _bury_errors(node, row, moment):
            groups[key_of(row, node.group)].append(row)
    out: list[Row] = []
    for values, members in groups.items():
        head = dict(zip(node.group, values, strict=True))
        if not released(head):
            continue
        try:
            results = {name: compute(call, members, moment) for name, call in node.aggregates}
        except RowError as error:
            moment.bury(node, int(error.code), head)
        else:
            out.append(head | results)
    return out


def _bury_errors(node: n.Aggregate | n.CloseAggregate, row: Row, moment: Moment) -> bool:
    codes = [
        error
        for _, call in node.aggregates
        for expr in _argument_exprs(call, row, moment)
        if (error := moment.value(expr, row)[1]) is not None
    ]
    if codes:
        moment.bury(node, min(codes), row)
    return bool(codes)


def _argument_exprs(call: AggCall, row: Row, moment: Moment) -> Iterable[Any]:
    """Return the expressions that count for a row: the arguments only where FILTER lets it in."""
    if call.filter is None:
        return call.children
    value, error = moment.value(call.filter, row)
    return call.children if error is None and value is True else (call.filter,)


def compute(call: AggCall, rows: Iterable[Row], moment: Moment) -> Any:
    """Return the value of an aggregate over rows in stream-key order; raises `RowError`."""
    members = [
        row for row in rows if call.filter is None or moment.value(call.filter, row)[0] is True
    ]
    for expr, descending, nulls_first in reversed(call.order_by):
        rank = -1 if nulls_first != descending else 1

        def position(row: Row, expr: Any = expr, rank: int = rank) -> tuple[Any, ...]:
            value = moment.value(expr, row)[0]
            return (rank, ()) if value is None else (0, order_key(value, expr.type))

        members.sort(key=position, reverse=descending)
    arguments = [tuple(moment.value(arg, row)[0] for arg in call.args) for row in members]
    if call.distinct:
        first: dict[Any, Argument] = {}
        for argument in arguments:
            first.setdefault(canonical(argument), argument)
        arguments = list(first.values())
    types = tuple(arg.type for arg in call.args)
    return aggregate_overload(call.function, types).python(arguments, types, call.type)


def top_n(node: n.TopN, rows: Sequence[Row], key: tuple[str, ...]) -> list[Row]:
    """Return the rows of each group from `offset` to `offset + limit`, with ties if asked.

    Ties are broken by the input's stream key; without an order the visible columns come first.
    """
    total = (*node.order, *ascending((*free_order(node), *key)))
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in sort_rows(rows, total):
        groups[key_of(row, node.group)].append(row)
    return [row for members in groups.values() for row in _first(node, _number_rows(node, members))]


def _number_rows(node: n.TopN, members: list[Row]) -> list[Row]:
    if node.number is None:
        return members
    out: list[Row] = []
    columns = tuple(k.column for k in node.order)
    rank = 0
    for i, row in enumerate(members):
        peer = node.with_ties and i and key_of(row, columns) == key_of(members[i - 1], columns)
        rank = rank if peer else i + 1
        out.append({**row, node.number: rank})
    return out


def free_order(node: n.TopN) -> tuple[str, ...]:
    """Return the columns that order rows for which no order is asked: what people see."""
    if node.order:
        return ()
    return tuple(f.name for f in node.input.schema if f.type.is_orderable and not is_hidden(f.name))


def _first(node: n.TopN, members: list[Row]) -> list[Row]:
    if node.limit is None:
        return members[node.offset :]
    end = node.offset + node.limit
    if node.with_ties and node.limit and end <= len(members):
        columns = tuple(k.column for k in node.order)
        last = key_of(members[end - 1], columns)
        while end < len(members) and key_of(members[end], columns) == last:
            end += 1
    return members[node.offset : end]
