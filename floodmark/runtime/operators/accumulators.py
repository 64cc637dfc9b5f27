"""Accumulators: which columns an aggregate keeps per group, and how its value follows from them.

Every group has `__rows`, the number of its input rows. Invertible aggregates keep sums of signed
contributions; min and max over append-only input keep the extremum itself; anything else keeps
its value, recomputed for the groups that an epoch touches (the scope rule).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from floodmark.catalog.functions import Aggregate, aggregate_for
from floodmark.catalog.functions.model import Operand
from floodmark.catalog.types import BIGINT, Field, Kind
from floodmark.changelog import WEIGHT, ChangelogMode
from floodmark.plan.expressions import AggCall, Literal
from floodmark.spark.expressions import Compiled
from floodmark.spark.expressions import compile as compile_expr
from floodmark.spark.types import quoted, spark_type

ROWS = "__rows"


def aggregate_of(call: AggCall) -> Aggregate:
    """Return the registry's entry of an aggregate call."""
    return aggregate_for(call.function, (arg.type for arg in call.args))


class Strategy(Enum):
    """How one aggregate is kept."""

    ADDED = "exact delta"
    EXTREMUM = "extremum of append-only input"
    SCOPE = "touched groups recomputed"


@dataclass(frozen=True)
class Kept:
    """One aggregate of a group: its state columns and the texts that maintain them.

    `partial` aggregates changes to a state column of the epoch, `merge` combines `{old}` (NULL for
    a new group) with `{new}`, `finish` gives the value from state columns prefixed `{p}`; from
    NULLs, which stand for a group that is not kept, the value over nothing.
    """

    name: str
    strategy: Strategy
    columns: tuple[Field, ...]
    partial: tuple[str, ...]
    merge: tuple[str, ...]
    finish: str
    overflow: str | None = None


def strategy_of(call: AggCall, mode: ChangelogMode) -> Strategy:
    """Return how an aggregate is kept over input of a changelog mode."""
    found = aggregate_of(call)
    if call.distinct or call.order_by:
        return Strategy.SCOPE
    if found.decompose is not None and _is_exact(found, call):
        return Strategy.ADDED
    if found.extremum is not None and mode is ChangelogMode.APPEND_ONLY:
        return Strategy.EXTREMUM
    return Strategy.SCOPE


def _is_exact(found: Aggregate, call: AggCall) -> bool:
    """Tell whether addition gives the same value for all arguments (it does not for doubles)."""
    assert found.decompose is not None
    return found.decompose(tuple(a.type for a in call.args), call.type).in_range is None


def kept(name: str, index: int, call: AggCall, mode: ChangelogMode, now: int) -> Kept:
    """Return how one aggregate call is maintained."""
    match strategy_of(call, mode):
        case Strategy.ADDED:
            return _added(name, index, call, now)
        case Strategy.EXTREMUM:
            return _extremum(name, index, call, now)
        case _:
            return _scoped(name, index, call, now)


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


def _condition(call: AggCall, now: int) -> str | None:
    return None if call.filter is None else compile_expr(call.filter, now).value


def errors_of(call: AggCall, now: int) -> list[Compiled]:
    """Return the arguments and FILTER of a call, compiled, for their errors."""
    parts = (*call.args, *((call.filter,) if call.filter is not None else ()))
    return [compile_expr(e, now) for e in parts]


def _added(name: str, index: int, call: AggCall, now: int) -> Kept:
    args = operands(call, now)
    decompose = aggregate_of(call).decompose
    assert decompose is not None
    parts = decompose(tuple(o.type for o in args), call.type)
    condition = _condition(call, now)
    columns, partial, merge = [], [], []
    names = {}
    for acc in parts.accumulators:
        column = f"__acc{index}_{acc.suffix}"
        type_ = spark_type(acc.type)
        names[acc.suffix] = f"coalesce({{p}}{column}, CAST(0 AS {type_}))"
        text = acc.contribution.format(*(o.sql for o in args), w=WEIGHT)
        if condition is not None:
            text = f"CASE WHEN {condition} THEN {text} END"
        zero = f"CAST(0 AS {type_})"
        columns.append(Field(column, acc.type, nullable=False))
        partial.append(f"coalesce(CAST(sum({text}) AS {type_}), {zero})")
        merge.append(f"CAST(coalesce({{old}}, {zero}) + coalesce({{new}}, {zero}) AS {type_})")
    return Kept(
        name,
        Strategy.ADDED,
        tuple(columns),
        tuple(partial),
        tuple(merge),
        _fill(parts.finish, names),
        _fill(parts.overflow, names) if parts.overflow else None,
    )


def _fill(template: str, slots: dict[str, str]) -> str:
    return template.format(**slots)


def _extremum(name: str, index: int, call: AggCall, now: int) -> Kept:
    (arg,) = operands(call, now)
    column = f"__acc{index}_{aggregate_of(call).extremum}"
    text = aggregate_of(call).print_batch([arg], condition=_condition(call, now))
    pick = "least" if aggregate_of(call).extremum == "min" else "greatest"
    return Kept(
        name,
        Strategy.EXTREMUM,
        (Field(column, call.type),),
        (text,),
        (f"{pick}({{old}}, {{new}})",),
        "{p}" + column,
    )


def _scoped(name: str, index: int, call: AggCall, now: int) -> Kept:
    column = f"__acc{index}_value"
    text = batch_text(call, now)
    finish = "{p}" + column
    if aggregate_of(call).python([], tuple(a.type for a in call.args), call.type) == 0:
        finish = f"coalesce({finish}, CAST(0 AS {spark_type(call.type)}))"
    return Kept(name, Strategy.SCOPE, (Field(column, call.type),), (text,), ("{new}",), finish)


def batch_text(call: AggCall, now: int) -> str:
    """Return the Spark text of an aggregate over a set without retractions."""
    if aggregate_of(call).over_list is not None:
        return ordered_text(call, now)
    return aggregate_of(call).print_batch(
        operands(call, now), distinct=call.distinct, condition=_condition(call, now)
    )


def ordered_text(call: AggCall, now: int) -> str:
    """Return the Spark text of an aggregate over the list of its first arguments in order.

    Each entry is a struct of the keys, each after a flag that puts NULL where it belongs, and the
    argument; ascending keys then sort by the order that structs have.
    """
    parts, upwards = [], True
    for i, (expr, descending, nulls_first) in enumerate(call.order_by):
        value = compile_expr(expr, now).value
        flag = f"({value}) IS {'NOT ' if nulls_first else ''}NULL"
        parts += [f"{flag} AS f{i}", f"{value} AS k{i}"]
        if expr.type.kind in (Kind.REAL, Kind.DOUBLE):
            # The two zeros are equal; their texts are not.
            parts.append(f"CAST({value} AS STRING) AS z{i}")
        upwards = upwards and not descending
    entries = ", ".join([*parts, f"{operands(call, now)[0]} AS v"])
    condition = _condition(call, now)
    clause = "" if condition is None else f" FILTER (WHERE {condition})"
    found = f"collect_list(struct({entries})){clause}"
    if call.distinct:
        found = f"array_distinct({found})"
    order = "" if upwards else f", {_comparator(call)}"
    sorted_ = f"array_sort({found}{order})" if parts else found
    template = aggregate_of(call).over_list
    assert template is not None
    args = [o.sql for o in operands(call, now)]
    return template.format(*args, list=f"transform({sorted_}, __e -> __e.v)")


def _comparator(call: AggCall) -> str:
    """Return the lambda that compares two entries key by key."""
    tests = []
    for i, (expr, descending, _) in enumerate(call.order_by):
        down = (1, -1) if descending else (-1, 1)
        tests.append(f"WHEN __l.f{i} < __r.f{i} THEN -1 WHEN __l.f{i} > __r.f{i} THEN 1")
        names = [f"k{i}"] + ([f"z{i}"] if expr.type.kind in (Kind.REAL, Kind.DOUBLE) else [])
        tests += [
            f"WHEN __l.{c} < __r.{c} THEN {down[0]} WHEN __l.{c} > __r.{c} THEN {down[1]}"
            for c in names
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
