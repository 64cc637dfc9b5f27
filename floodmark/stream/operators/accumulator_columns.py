"""Accumulator columns: what an aggregate keeps of each group.

Every group has `__rows`, the number of its input rows. Beside it are the columns of its aggregates,
which follow from their types. Equal columns of several aggregates are stored once; two are equal if
their expressions print alike, and the caller supplies the printer.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from floodmark.changelog import WEIGHT
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import AggCall, ColumnRef, Expr, Literal
from floodmark.scalar.functions.comparison import print_order
from floodmark.scalar.functions.model import Accumulator, Decomposition, Operand
from floodmark.scalar.types import BIGINT, Field, Kind, Schema
from floodmark.stream.operators.walks import stream_key
from floodmark.stream.properties.aggregate_calls import aggregate_of, overflows
from floodmark.stream.properties.strategy import Distinct, KeepGroups, Upkeep

ROWS = "__rows"
OLD, NEW = "__old_", "__new_"
"""What the names of state columns of before and after an epoch begin with."""
GroupingNode = n.Aggregate | n.CloseAggregate
Print = Callable[[Expr], str]
"""Prints an expression over the rows of the input."""


def decomposition_of(call: AggCall) -> Decomposition:
    """Return how an aggregate is kept by addition alone."""
    decompose = aggregate_of(call).decompose
    assert decompose is not None, call
    return decompose(tuple(a.type for a in call.args), call.type)


def fields_of(index: int, call: AggCall, upkeep: Upkeep) -> Schema:
    """Return the columns of one aggregate, as if no other one had their like."""
    match upkeep:
        case Upkeep.ADDED | Upkeep.VALUES:
            return tuple(
                Field(f"__acc{index}_{acc.suffix}", acc.type, nullable=False)
                for acc in decomposition_of(call).accumulators
            )
        case Upkeep.EXTREMUM:
            return (Field(f"__acc{index}_{aggregate_of(call).extremum}", call.type),)
        case Upkeep.SCOPE | Upkeep.GROWING:
            value = Field(f"__acc{index}_value", call.type)
            nonnull = Field(f"__acc{index}_nonnull", BIGINT)
            return (value, nonnull) if overflows(call) else (value,)


def accumulators(node: GroupingNode, keeps: KeepGroups, text: Print) -> Schema:
    """Return the accumulator columns of a node whose groups are kept in this way."""
    names = accumulator_names(node, keeps, text)
    fields = (f for i, call, upkeep in _calls(keeps) for f in fields_of(i, call, upkeep))
    return tuple(f for f in fields if names[f.name] == f.name)


def accumulator_names(node: GroupingNode, keeps: KeepGroups, text: Print) -> dict[str, str]:
    """Return for each column of an aggregate the one that is kept: the first of its like."""
    values, ties = value_columns(keeps.distinct), ties_of(node)
    first: dict[Hashable, str] = {}
    names = {}
    for i, call, upkeep in _calls(keeps):
        contents = _contents(call, upkeep, text, values.get(i), ties)
        for field, content in zip(fields_of(i, call, upkeep), contents, strict=True):
            names[field.name] = first.setdefault((upkeep, field.type, content), field.name)
    return names


def state_schema(group: Schema, columns: Iterable[Field]) -> Schema:
    """Return the columns of the state table: group key, row count, accumulators."""
    return (*group, Field(ROWS, BIGINT, nullable=False), *columns)


def group_fields(node: GroupingNode) -> Schema:
    """Return the group columns."""
    return tuple(node.input.field(name) for name in node.group)


def value_columns(arguments: Iterable[Distinct]) -> dict[int, tuple[str, str]]:
    """Return for each aggregate with DISTINCT the column with the value that comes or goes.

    Beside it is the column that says whether the value comes (1), goes (-1) or stays (0).
    Aggregates of one argument and condition have the same columns.
    """
    return {
        call: (f"__value{i}", f"__crossing{i}_{m}")
        for i, one in enumerate(arguments)
        for call, m in one.calls.items()
    }


def ties_of(node: GroupingNode) -> Schema:
    """Return the columns that order the rows of a group: of the stream key what the group leaves.

    None of them where no aggregate depends on an order.
    """
    if not any(aggregate_of(call).order_sensitive for _, call in node.aggregates):
        return ()
    return tuple(node.input.field(c) for c in stream_key(node.input) if c not in node.group)


@dataclass(frozen=True, slots=True)
class ListKey:
    """What the entries of a list are ordered by: a text."""

    value: str
    descending: bool = False
    nulls_first: bool = False
    nullable: bool = True
    zeros: bool = False
    """Values can be zeros of both signs, which are equal: their texts are not."""


def list_order(call: AggCall, text: Print, ties: Schema) -> tuple[ListKey, ...]:
    """Return what the list of a call is ordered by: first by ORDER BY, then by the `ties`.

    Rows with the same bytes in the list need no ties. The list of an ordered set has no NULLs.
    """
    nullable = not aggregate_of(call).ordered_set
    asked = [
        ListKey(
            print_order(text(expr), expr.type),
            descending,
            nullable and nulls_first,
            nullable,
            expr.type.kind in (Kind.REAL, Kind.DOUBLE),
        )
        for expr, descending, nulls_first in call.order_by
    ]
    left = () if _is_order_total(call) else _tie_columns(call, ties)
    return (*asked, *(ListKey(text(ColumnRef(f.type, f.name)), nullable=f.nullable) for f in left))


def _is_order_total(call: AggCall) -> bool:
    """Tell whether rows that ORDER BY leaves equal have the same bytes in the list."""
    value = call.args[0]
    loose = value.type.kind in (Kind.REAL, Kind.DOUBLE, Kind.INTERVAL)
    return any(e == value for e, _, _ in call.order_by) and value.type.is_orderable and not loose


def _tie_columns(call: AggCall, ties: Schema) -> Schema:
    named = [e.name for e, _, _ in call.order_by if isinstance(e, ColumnRef)]
    return tuple(f for f in ties if f.name not in named and f.type.is_orderable)


def operands(call: AggCall, text: Print) -> list[Operand]:
    """Return the arguments of an aggregate call as texts."""
    return [
        Operand(text(a), a.type, a.value) if isinstance(a, Literal) else Operand(text(a), a.type)
        for a in call.args
    ]


def condition_of(call: AggCall, text: Print) -> str | None:
    """Return the text of the condition of FILTER, if there is one."""
    return None if call.filter is None else text(call.filter)


def contribution(acc: Accumulator, args: Sequence[str], weight: str, condition: str | None) -> str:
    """Return the text of what a row adds to an accumulator."""
    text = acc.contribution.format(*args, w=weight)
    return text if condition is None else f"CASE WHEN {condition} THEN {text} END"


def extremum_text(call: AggCall, text: Print) -> str:
    """Return the text of the extremum of rows that come."""
    # What comes and goes of values of DISTINCT is there beside the rows, without weight.
    asked = condition_of(call, text)
    condition = f"{WEIGHT} > 0" if asked is None else f"({asked}) AND {WEIGHT} > 0"
    return aggregate_of(call).print_batch(operands(call, text), condition=condition)


def count_text(call: AggCall, text: Print) -> str:
    """Return the text of how many arguments are not NULL."""
    condition = condition_of(call, text)
    clause = "" if condition is None else f" FILTER (WHERE {condition})"
    return f"count({operands(call, text)[0]}){clause}"


def _calls(keeps: KeepGroups) -> Iterator[tuple[int, AggCall, Upkeep]]:
    kept = zip(keeps.calls, keeps.upkeeps, strict=True)
    return ((i, call, upkeep) for i, (call, upkeep) in enumerate(kept))


def _contents(
    call: AggCall, upkeep: Upkeep, text: Print, values: tuple[str, str] | None, ties: Schema
) -> list[Hashable]:
    """Return what each column of one aggregate holds, equal where two hold the same."""
    match upkeep:
        case Upkeep.ADDED:
            args, condition = [o.sql for o in operands(call, text)], condition_of(call, text)
            return _contributions(call, args, WEIGHT, condition)
        case Upkeep.VALUES:
            assert values is not None, call
            return _contributions(call, [values[0]], values[1], None)
        case Upkeep.EXTREMUM | Upkeep.GROWING:
            return [(aggregate_of(call).extremum, extremum_text(call, text))]
        case Upkeep.SCOPE:
            value = _recompute_parts(call, text, ties)
            return [value, count_text(call, text)] if overflows(call) else [value]


def _contributions(
    call: AggCall, args: Sequence[str], weight: str, cond: str | None
) -> list[Hashable]:
    parts = decomposition_of(call).accumulators
    return [(acc.gathered, contribution(acc, args, weight, cond)) for acc in parts]


def _recompute_parts(call: AggCall, text: Print, ties: Schema) -> Hashable:
    """Return what the value of an aggregate over all rows of a group is made of."""
    entry, args, condition = aggregate_of(call), operands(call, text), condition_of(call, text)
    if entry.over_list is None:
        return entry.print_batch(args, distinct=call.distinct, condition=condition)
    listed = (entry.print_list(args, "l"), args[0].sql, call.distinct, condition)
    order = list_order(call, text, ties)
    if entry.ordered_set and args[0].type.kind is not Kind.INTERVAL:
        return (*listed, order[0].descending)
    return (*listed, order)
