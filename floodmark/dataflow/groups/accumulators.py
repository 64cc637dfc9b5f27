"""Accumulators: how a group's columns are maintained, and how a value follows from them.

Invertible aggregates keep sums of signed contributions. min and max over append-only input, or over
values that only grow towards them, keep the extremum itself. All others keep their value, which is
recomputed for the groups that an epoch touches (the scope rule).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from floodmark.changelog import WEIGHT
from floodmark.plan.expr.expressions import AggCall
from floodmark.scalar.functions.comparison import print_extreme
from floodmark.scalar.functions.model import Operand
from floodmark.scalar.types import Field, Kind, Schema
from floodmark.spark.expressions import CompiledExpr, canonical_key, compile as compile_expr
from floodmark.spark.types import ident, spark_type
from floodmark.stream.operators import accumulator_columns as columns
from floodmark.stream.properties.aggregate_calls import aggregate_of, overflows
from floodmark.stream.properties.strategy import Upkeep


@dataclass(frozen=True)
class Accumulation:
    """One aggregate of a group: its state columns and the texts that maintain them.

    `partial` aggregates changes to a state column of the epoch. `merge` combines `{old}` (NULL for
    a new group) with `{new}`. `finish` gives the value from state columns prefixed `{p}`. NULLs
    there stand for a group that is not kept: they give the value over no rows. Where `overflow` is
    TRUE the group's row is refused. Both read what `bound` has beside the state, by name.
    """

    name: str
    upkeep: Upkeep
    columns: tuple[Field, ...]
    partial: tuple[str, ...]
    merge: tuple[str, ...]
    finish: str
    overflow: str | None = None
    bound: tuple[tuple[str, str], ...] = ()


def accumulate(
    name: str,
    index: int,
    call: AggCall,
    upkeep: Upkeep,
    now: int,
    ties: Schema = (),
    *,
    values: tuple[str, str] | None = None,
) -> Accumulation:
    """Return how one aggregate call is maintained.

    `ties` are the columns by which rows follow each other that ORDER BY leaves equal; `values` are
    the columns of what comes and goes of its DISTINCT argument.
    """
    match upkeep:
        case Upkeep.ADDED:
            texts = [o.sql for o in operands(call, now)]
            return _sum_of_contributions(name, index, call, texts, WEIGHT, _condition(call, now))
        case Upkeep.VALUES:
            assert values is not None, call
            return _sum_of_contributions(name, index, call, [values[0]], values[1], None)
        case Upkeep.EXTREMUM | Upkeep.GROWING:
            return _extremum(name, index, call, upkeep, now)
        case Upkeep.SCOPE:
            return _recompute(name, index, call, now, ties)


def printer(now: int) -> columns.Print:
    """Return the printer of expressions in an epoch."""
    return lambda expr: compile_expr(expr, now).value


def operands(call: AggCall, now: int) -> list[Operand]:
    """Return the arguments of an aggregate call as Spark texts."""
    return columns.operands(call, printer(now))


def count_text(call: AggCall, now: int) -> str:
    """Return the Spark text of how many arguments are not NULL."""
    return columns.count_text(call, printer(now))


def _condition(call: AggCall, now: int) -> str | None:
    return columns.condition_of(call, printer(now))


def errors_of(call: AggCall, now: int) -> list[CompiledExpr]:
    """Return the expressions of a call, compiled, for their errors.

    Only of rows that FILTER lets in the others are looked at.
    """
    condition = None if call.filter is None else compile_expr(call.filter, now)
    compiled = [compile_expr(e, now) for e in (*call.args, *(e for e, _, _ in call.order_by))]
    if condition is None:
        return compiled
    guarded = (
        replace(c, error=f"CASE WHEN {condition.value} THEN {c.error} END") if c.error else c
        for c in compiled
    )
    return [condition, *guarded]


def _sum_of_contributions(
    name: str, index: int, call: AggCall, args: list[str], weight: str, condition: str | None
) -> Accumulation:
    """Return an aggregate that is a sum of its arguments' contributions, each with a weight."""
    parts, fields = columns.decomposition_of(call), columns.fields_of(index, call, Upkeep.ADDED)
    partial, merge = [], []
    names = {}
    for field, acc in zip(fields, parts.accumulators, strict=True):
        combine = _combine_lists if acc.gathered else _combine_sums
        text = columns.contribution(acc, args, weight, condition)
        zero, of_changes, of_both = combine(text, spark_type(acc.type))
        names[acc.suffix] = f"coalesce({{p}}{field.name}, {zero})"
        partial.append(of_changes)
        merge.append(of_both)
    bound = {name: f"__acc{index}_{name}" for name, _ in parts.bound}
    slots = {**names, **{name: f"{{p}}{column}" for name, column in bound.items()}}
    return Accumulation(
        name,
        Upkeep.ADDED,
        fields,
        tuple(partial),
        tuple(merge),
        parts.finish.format(**slots),
        parts.overflow.format(**slots) if parts.overflow else None,
        tuple((bound[name], text.format(**names)) for name, text in parts.bound),
    )


def _combine_sums(text: str, type_: str) -> tuple[str, str, str]:
    """Return nothing, the sum of contributions, and that of what was there and what comes."""
    zero = f"CAST(0 AS {type_})"
    merge = f"CAST(coalesce({{old}}, {zero}) + {{new}} AS {type_})"
    return zero, f"coalesce(CAST(sum({text}) AS {type_}), {zero})", merge


def _combine_lists(text: str, type_: str) -> tuple[str, str, str]:
    """Return nothing, contributions as a list, and what was there with what comes: each `v` once.

    Meant for a few values: its cost is the square of how many there are.
    """
    nothing = f"CAST(array() AS {type_})"
    both = f"concat(coalesce({{old}}, {nothing}), {{new}})"
    count = "aggregate(l, 0L, (a, e) -> CASE WHEN e.v = v THEN a + e.n ELSE a END)"
    each = f"transform(array_sort(array_distinct(l.v)), v -> struct(v AS v, {count} AS n))"
    once = f"CASE WHEN size(l) = 0 THEN l ELSE filter({each}, e -> e.n <> 0) END"
    return (
        nothing,
        f"CAST(collect_list({text}) AS {type_})",
        f"CAST(transform(array({both}), l -> {once})[0] AS {type_})",
    )


def _extremum(name: str, index: int, call: AggCall, upkeep: Upkeep, now: int) -> Accumulation:
    fields = columns.fields_of(index, call, upkeep)
    pick = "least" if aggregate_of(call).extremum == "min" else "greatest"
    both = print_extreme(pick, [Operand("{old}", call.type), Operand("{new}", call.type)])
    text = columns.extremum_text(call, printer(now))
    return Accumulation(name, upkeep, fields, (text,), (both,), "{p}" + fields[0].name)


def _recompute(name: str, index: int, call: AggCall, now: int, ties: Schema) -> Accumulation:
    fields = columns.fields_of(index, call, Upkeep.SCOPE)
    partial, refused = [batch_text(call, now, ties)], None
    finish = "{p}" + fields[0].name
    if overflows(call):
        partial.append(count_text(call, now))
        refused = f"{{p}}{fields[1].name} > 0 AND {finish} IS NULL"
    if aggregate_of(call).python([], tuple(a.type for a in call.args), call.type) == 0:
        finish = f"coalesce({finish}, CAST(0 AS {spark_type(call.type)}))"
    merge = ("{new}",) * len(fields)
    return Accumulation(name, Upkeep.SCOPE, fields, tuple(partial), merge, finish, refused)


def batch_text(call: AggCall, now: int, ties: Schema = ()) -> str:
    """Return the Spark text of an aggregate over a set without retractions."""
    if aggregate_of(call).over_list is not None:
        return list_text(call, now, ties)
    return aggregate_of(call).print_batch(
        operands(call, now), distinct=call.distinct, condition=_condition(call, now)
    )


def list_text(call: AggCall, now: int, ties: Schema = ()) -> str:
    """Return the Spark text of an aggregate over the list of its first arguments in order.

    Each entry is a struct of the sort keys and the argument. Before a key stands a flag that puts
    NULL first or last. Ascending keys then sort as structs do. `ties` order the rows that ORDER BY
    leaves equal.
    """
    entry, args = aggregate_of(call), operands(call, now)
    if entry.ordered_set and args[0].type.kind is not Kind.INTERVAL:
        return entry.print_list(args, _sort(call, args[0], now))
    keys = columns.list_order(call, printer(now), ties)
    parts = []
    for i, key in enumerate(keys):
        if key.nullable:
            parts.append(f"({key.value}) IS {'NOT ' if key.nulls_first else ''}NULL AS f{i}")
        parts.append(f"{key.value} AS k{i}")
        if key.zeros:
            parts.append(f"CAST({key.value} AS STRING) AS z{i}")
    tests = [_condition(call, now), f"{args[0]} IS NOT NULL" if entry.ordered_set else None]
    condition = " AND ".join(f"({test})" for test in tests if test is not None)
    clause = f" FILTER (WHERE {condition})" if condition else ""
    entries = f"collect_list(struct({', '.join([*parts, f'{args[0]} AS v'])})){clause}"
    upwards = not any(key.descending for key in keys)
    order = "" if upwards else f", {_comparator(keys)}"
    values = f"transform({f'array_sort({entries}{order})' if keys else entries}, __e -> __e.v)"
    return entry.print_list(args, f"array_distinct({values})" if call.distinct else values)


def _sort(call: AggCall, value: Operand, now: int) -> str:
    """Return the text of the sorted list of an ordered set: equal values have equal bytes."""
    condition = _condition(call, now)
    clause = "" if condition is None else f" FILTER (WHERE {condition})"
    entries = f"array_sort(collect_list({canonical_key(value.sql, value.type)}){clause})"
    return f"reverse({entries})" if call.order_by[0][1] else entries


def _comparator(keys: Sequence[columns.ListKey]) -> str:
    """Return the lambda that compares two entries key by key."""
    tests = []
    for i, key in enumerate(keys):
        if key.nullable:
            tests.append(f"WHEN __l.f{i} < __r.f{i} THEN -1 WHEN __l.f{i} > __r.f{i} THEN 1")
        down = (1, -1) if key.descending else (-1, 1)
        tests += [
            f"WHEN __l.{c} < __r.{c} THEN {down[0]} WHEN __l.{c} > __r.{c} THEN {down[1]}"
            for c in (f"k{i}", *([f"z{i}"] if key.zeros else []))
        ]
    return f"(__l, __r) -> CASE {' '.join(tests)} ELSE 0 END"


def state_schema(group: Schema, parts: Iterable[Accumulation]) -> Schema:
    """Return the columns of the state table: group key, row count, accumulators."""
    return columns.state_schema(group, (f for part in parts for f in part.columns))


def null_safe(names: tuple[str, ...], left: str, right: str) -> str:
    """Return the condition that two prefixed keys are equal, NULL included.

    >>> null_safe(("a",), "l.", "r.")
    'l.`a` <=> r.`a`'
    """
    return " AND ".join(f"{left}{ident(c)} <=> {right}{ident(c)}" for c in names) or "TRUE"
