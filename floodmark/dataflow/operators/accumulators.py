"""Accumulators: which columns an aggregate keeps per group, and how its value follows from them.

Every group has `__rows`, the number of its input rows. Invertible aggregates keep sums of signed
contributions; min and max over append-only input keep the extremum itself; anything else keeps
its value, recomputed for the groups that an epoch touches (the scope rule).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from floodmark.changelog import WEIGHT, ChangelogMode
from floodmark.plan.expr.expressions import AggCall, ColumnRef, Expr, Literal
from floodmark.scalar.functions import Aggregate, aggregate_for
from floodmark.scalar.functions.comparison import print_extreme, print_order
from floodmark.scalar.functions.model import Operand
from floodmark.scalar.types import BIGINT, Field, Kind, Schema
from floodmark.spark.expressions import Compiled, canonical_key
from floodmark.spark.expressions import compile as compile_expr
from floodmark.spark.types import quoted, spark_type
from floodmark.stream.properties.strategy import Computed, Distinct, aggregate_strategy

ROWS = "__rows"
OLD, NEW = "__old_", "__new_"
"""What the names of state columns of before and after an epoch begin with."""


def aggregate_of(call: AggCall) -> Aggregate:
    """Return the registry's entry of an aggregate call."""
    return aggregate_for(call.function, (arg.type for arg in call.args))


class Strategy(Enum):
    """How one aggregate is kept."""

    ADDED = "exact delta"
    EXTREMUM = "extremum of append-only input"
    SCOPE = "touched groups recomputed"
    VALUES = "added where a value comes or goes"


@dataclass(frozen=True)
class Kept:
    """One aggregate of a group: its state columns and the texts that maintain them.

    `partial` aggregates changes to a state column of the epoch, `merge` combines `{old}` (NULL for
    a new group) with `{new}`, `finish` gives the value from state columns prefixed `{p}`; from
    NULLs, which stand for a group that is not kept, the value over nothing. Where `overflow` is
    TRUE the group's row is refused. Both read what `bound` has beside the state, by name.
    """

    name: str
    strategy: Strategy
    columns: tuple[Field, ...]
    partial: tuple[str, ...]
    merge: tuple[str, ...]
    finish: str
    overflow: str | None = None
    bound: tuple[tuple[str, str], ...] = ()


def strategy_of(call: AggCall, mode: ChangelogMode, *, closes: bool = False) -> Strategy:
    """Return how an aggregate is kept over input of a changelog mode."""
    if aggregate_strategy(call, mode, closes=closes).computed is Computed.SCOPE:
        return Strategy.SCOPE
    if call.distinct and not aggregate_of(call).ignores_distinct:
        return Strategy.VALUES
    added = aggregate_of(call).is_sum(arg.type for arg in call.args)
    return Strategy.ADDED if added else Strategy.EXTREMUM


def kept(
    name: str,
    index: int,
    call: AggCall,
    mode: ChangelogMode,
    now: int,
    ties: Schema = (),
    *,
    closes: bool = False,
    values: tuple[str, str] | None = None,
) -> Kept:
    """Return how one aggregate call is maintained.

    `ties` are the columns by which rows follow each other that ORDER BY leaves equal; `closes`
    tells that it emits on window close; `values` are the columns of what comes and goes of its
    DISTINCT argument.
    """
    match strategy_of(call, mode, closes=closes):
        case Strategy.ADDED:
            texts = [o.sql for o in operands(call, now)]
            return _added(name, index, call, texts, WEIGHT, _condition(call, now))
        case Strategy.VALUES:
            assert values is not None, call
            return _added(name, index, call, [values[0]], values[1], None)
        case Strategy.EXTREMUM:
            return _extremum(name, index, call, now)
        case _:
            return _scoped(name, index, call, now, ties)


def operands(call: AggCall, now: int) -> list[Operand]:
    """Return the arguments of an aggregate call as Spark texts."""
    out = []
    for arg in call.args:
        compiled = compile_expr(arg, now)
        if isinstance(arg, Literal):
            out.append(Operand(compiled.value, arg.type, arg.value))
        else:
            out.append(Operand(compiled.value, arg.type))
    return out


def overflows(call: AggCall) -> bool:
    """Tell whether a group can have no value: it is out of range."""
    test = aggregate_of(call).overflows
    return test is not None and test(tuple(a.type for a in call.args))


def counted(call: AggCall, now: int) -> str:
    """Return the Spark text of how many arguments are not NULL."""
    condition = _condition(call, now)
    clause = "" if condition is None else f" FILTER (WHERE {condition})"
    return f"count({operands(call, now)[0]}){clause}"


def _condition(call: AggCall, now: int) -> str | None:
    return None if call.filter is None else compile_expr(call.filter, now).value


def errors_of(call: AggCall, now: int) -> list[Compiled]:
    """Return the expressions of a call, compiled, for their errors.

    Only of rows that FILTER lets in the others are looked at.
    """
    condition = None if call.filter is None else compile_expr(call.filter, now)
    found = [compile_expr(e, now) for e in (*call.args, *(e for e, _, _ in call.order_by))]
    if condition is None:
        return found
    guarded = (
        replace(c, error=f"CASE WHEN {condition.value} THEN {c.error} END") if c.error else c
        for c in found
    )
    return [condition, *guarded]


def value_columns(found: Iterable[Distinct]) -> dict[int, tuple[str, str]]:
    """Return for each aggregate with DISTINCT the column with the value that comes or goes.

    Beside it, the one that says whether it comes, 1, goes, -1, or stays, 0. Aggregates of one
    argument and condition have the same columns.
    """
    return {
        call: (f"__value{i}", f"__crossing{i}_{m}")
        for i, one in enumerate(found)
        for call, m in one.calls.items()
    }


def _added(
    name: str, index: int, call: AggCall, args: list[str], weight: str, condition: str | None
) -> Kept:
    """Return an aggregate that is a sum of its arguments' contributions, each with a weight."""
    decompose = aggregate_of(call).decompose
    assert decompose is not None
    parts = decompose(tuple(a.type for a in call.args), call.type)
    columns, partial, merge = [], [], []
    names = {}
    for acc in parts.accumulators:
        column = f"__acc{index}_{acc.suffix}"
        combine = _gathered if acc.gathered else _summed
        text = acc.contribution.format(*args, w=weight)
        if condition is not None:
            text = f"CASE WHEN {condition} THEN {text} END"
        zero, of_changes, of_both = combine(text, spark_type(acc.type))
        names[acc.suffix] = f"coalesce({{p}}{column}, {zero})"
        columns.append(Field(column, acc.type, nullable=False))
        partial.append(of_changes)
        merge.append(of_both)
    bound = {name: f"__acc{index}_{name}" for name, _ in parts.bound}
    slots = {**names, **{name: f"{{p}}{column}" for name, column in bound.items()}}
    return Kept(
        name,
        Strategy.ADDED,
        tuple(columns),
        tuple(partial),
        tuple(merge),
        parts.finish.format(**slots),
        parts.overflow.format(**slots) if parts.overflow else None,
        tuple((bound[name], text.format(**names)) for name, text in parts.bound),
    )


def _summed(text: str, type_: str) -> tuple[str, str, str]:
    """Return nothing, the sum of contributions, and that of what was there and what comes."""
    zero = f"CAST(0 AS {type_})"
    merge = f"CAST(coalesce({{old}}, {zero}) + {{new}} AS {type_})"
    return zero, f"coalesce(CAST(sum({text}) AS {type_}), {zero})", merge


def _gathered(text: str, type_: str) -> tuple[str, str, str]:
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


def _extremum(name: str, index: int, call: AggCall, now: int) -> Kept:
    (arg,) = operands(call, now)
    column = f"__acc{index}_{aggregate_of(call).extremum}"
    # What comes and goes of values of DISTINCT is there beside the rows, without weight.
    asked = _condition(call, now)
    condition = f"{WEIGHT} > 0" if asked is None else f"({asked}) AND {WEIGHT} > 0"
    text = aggregate_of(call).print_batch([arg], condition=condition)
    pick = "least" if aggregate_of(call).extremum == "min" else "greatest"
    both = [Operand("{old}", call.type), Operand("{new}", call.type)]
    return Kept(
        name,
        Strategy.EXTREMUM,
        (Field(column, call.type),),
        (text,),
        (print_extreme(pick, both),),
        "{p}" + column,
    )


def _scoped(name: str, index: int, call: AggCall, now: int, ties: Schema) -> Kept:
    column = f"__acc{index}_value"
    text = batch_text(call, now, ties)
    finish = "{p}" + column
    if aggregate_of(call).python([], tuple(a.type for a in call.args), call.type) == 0:
        finish = f"coalesce({finish}, CAST(0 AS {spark_type(call.type)}))"
    columns, partial, refused = [Field(column, call.type)], [text], None
    if overflows(call):
        columns.append(Field(f"__acc{index}_nonnull", BIGINT))
        partial.append(counted(call, now))
        refused = f"{{p}}{columns[1].name} > 0 AND {{p}}{column} IS NULL"
    return Kept(
        name,
        Strategy.SCOPE,
        tuple(columns),
        tuple(partial),
        ("{new}",) * len(columns),
        finish,
        refused,
    )


def batch_text(call: AggCall, now: int, ties: Schema = ()) -> str:
    """Return the Spark text of an aggregate over a set without retractions."""
    if aggregate_of(call).over_list is not None:
        return ordered_text(call, now, ties)
    return aggregate_of(call).print_batch(
        operands(call, now), distinct=call.distinct, condition=_condition(call, now)
    )


@dataclass(frozen=True)
class _Key:
    """What the entries of a list are ordered by: a Spark text."""

    value: str
    descending: bool = False
    nulls_first: bool = False
    nullable: bool = True
    zeros: bool = False
    """Values can be zeros of both signs, which are equal: their texts are not."""


def ordered_text(call: AggCall, now: int, ties: Schema = ()) -> str:
    """Return the Spark text of an aggregate over the list of its first arguments in order.

    Each entry is a struct of the keys, each after a flag that puts NULL where it belongs, and the
    argument; ascending keys then sort by the order that structs have. `ties` order the rows that
    ORDER BY leaves equal.
    """
    entry, args = aggregate_of(call), operands(call, now)
    if entry.ordered_set and args[0].type.kind is not Kind.INTERVAL:
        return entry.print_list(args, _sorted(call, args[0], now))
    keys = [_asked(key, now, nullable=not entry.ordered_set) for key in call.order_by]
    keys += [] if _ordered_by_itself(call) else _tied(call, ties)
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
    found = f"collect_list(struct({', '.join([*parts, f'{args[0]} AS v'])})){clause}"
    upwards = not any(key.descending for key in keys)
    order = "" if upwards else f", {_comparator(keys)}"
    values = f"transform({f'array_sort({found}{order})' if keys else found}, __e -> __e.v)"
    return entry.print_list(args, f"array_distinct({values})" if call.distinct else values)


def _sorted(call: AggCall, value: Operand, now: int) -> str:
    """Return the text of the sorted list of an ordered set: equal values have equal bytes."""
    condition = _condition(call, now)
    clause = "" if condition is None else f" FILTER (WHERE {condition})"
    found = f"array_sort(collect_list({canonical_key(value.sql, value.type)}){clause})"
    return f"reverse({found})" if call.order_by[0][1] else found


def _ordered_by_itself(call: AggCall) -> bool:
    """Tell whether rows that ORDER BY leaves equal have the same bytes in the list."""
    value = call.args[0]
    loose = value.type.kind in (Kind.REAL, Kind.DOUBLE, Kind.INTERVAL)
    return any(e == value for e, _, _ in call.order_by) and value.type.is_orderable and not loose


def _tied(call: AggCall, ties: Schema) -> list[_Key]:
    named = [e.name for e, _, _ in call.order_by if isinstance(e, ColumnRef)]
    return [
        _Key(quoted(f.name), nullable=f.nullable)
        for f in ties
        if f.name not in named and f.type.is_orderable
    ]


def _asked(key: tuple[Expr, bool, bool], now: int, *, nullable: bool) -> _Key:
    expr, descending, nulls_first = key
    zeros = expr.type.kind in (Kind.REAL, Kind.DOUBLE)
    value = print_order(compile_expr(expr, now).value, expr.type)
    return _Key(value, descending, nulls_first, nullable, zeros)


def _comparator(keys: list[_Key]) -> str:
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


def state_schema(group: tuple[Field, ...], parts: list[Kept]) -> tuple[Field, ...]:
    """Return the columns of the state table: group key, row count, accumulators."""
    return (*group, Field(ROWS, BIGINT, nullable=False), *(f for p in parts for f in p.columns))


def null_safe(names: tuple[str, ...], left: str, right: str) -> str:
    """Return the condition that two prefixed keys are equal, NULL included.

    >>> null_safe(("a",), "l.", "r.")
    'l.`a` <=> r.`a`'
    """
    return " AND ".join(f"{left}{quoted(c)} <=> {right}{quoted(c)}" for c in names) or "TRUE"
