"""What an operator's strategy says is what runs: where there is a choice, the value decides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn
from unittest.mock import MagicMock

import pytest

from floodmark.changelog import ChangelogMode
from floodmark.dataflow import dispatch
from floodmark.dataflow.groups import transitions
from floodmark.dataflow.operators import (
    aggregate,
    close_aggregate,
    dynamic_filter,
    join,
    over_window,
    sort_buffer,
    top_n,
)
from floodmark.dataflow.partitions import recompute_partitions
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import AggCall, Call, ColumnRef
from floodmark.scalar.types import BIGINT, BOOLEAN, INT
from floodmark.stream.operators import Operator, StreamJoin, StreamTopN
from floodmark.stream.operators.close_aggregate import StreamCloseAggregate
from floodmark.stream.operators.lower import lower
from floodmark.stream.operators.sort_buffer import StreamSortBuffer
from floodmark.stream.properties.strategy import (
    KeepFirst,
    KeepGroups,
    Method,
    RecomputeMatches,
    RecomputeRanges,
    RecomputeScopes,
    ScopeKind,
)
from tests.stream.every_node import every_node, scan

V, U = ColumnRef(INT, "v"), ColumnRef(INT, "u_v")


def extra() -> Iterator[tuple[str, n.Node]]:
    """Yield plans whose strategy no plan of `every_node` has."""
    for mode in (ChangelogMode.APPEND_ONLY, ChangelogMode.RETRACT):
        t, right = scan("t", mode), scan("u", mode, "u_")
        one = n.Aggregate(right, (), (("m", AggCall("max", (U,), INT)),))
        above = Call(BOOLEAN, ">", (V, ColumnRef(INT, "m")))
        yield f"dynamic filter/{mode}", n.Join(t, one, n.JoinKind.SEMI, (), above)
        twice = (("k", "u_k"), ("k", "u_v"))
        yield f"one column twice/{mode}", n.Join(t, right, n.JoinKind.FULL, twice, None)
        whole = n.WindowCall("sum", (V,), BIGINT)
        near = n.WindowCall(
            "sum", (V,), BIGINT, ("ROWS", "1 PRECEDING", "CURRENT ROW", "NO OTHERS")
        )
        for name, call in (("whole", whole), ("near", near)):
            window = n.OverWindow(t, ("k",), (n.SortKey("ts"),), (("s", call),))
            yield f"{name} partitions/{mode}", window


TOPS: dict[str, Operator] = {
    **{name: plan.top for name, plan in every_node().items()},
    **{name: lower(node).top for name, node in extra()},
}
CHOICES = {
    name: op
    for name, op in TOPS.items()
    if isinstance(op, StreamJoin | StreamCloseAggregate | StreamSortBuffer)
    or not isinstance(op.strategy, Method)
}


class _Ran(Exception):
    """What is about to be computed."""


def what_runs(op: Operator, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    """Return by which way the changes of an operator are computed, and from what."""

    def stop(module: Any, name: str, what: str, given: int | None = None) -> None:
        def run(*args: Any, **named: Any) -> NoReturn:
            raise _Ran(what, *(() if given is None else (args[given],)))

        monkeypatch.setattr(module, name, run)

    stop(join, "_join", "pairs")
    stop(join, "_touching", "matches", 1)
    stop(dynamic_filter, "_crossing_rows", "crossing rows")
    stop(recompute_partitions, "_changed_keys", "scopes", 1)
    stop(over_window, "_recompute_ranges", "ranges", 2)
    stop(top_n, "_from_first", "first rows")
    stop(aggregate, "parts_of", "groups", 1)
    stop(transitions, "parts_of", "groups", 1)
    stop(close_aggregate, "_from_input", "input")
    stop(sort_buffer, "_from_state", "buffer")
    stop(sort_buffer, "_rows_between", "input")
    monkeypatch.setattr(join, "_join_kept_side", lambda *args: None)
    monkeypatch.setattr(join, "semi_or_anti_join", lambda *args: None)
    inputs = [MagicMock(operator=below, bounds={}) for below in op.inputs]
    ctx = MagicMock(now=0)
    ctx.inputs.fills = False
    ctx.stages.own_rows.return_value = ctx.stages.own_state.return_value = None
    ctx.inputs.watermark.side_effect = lambda op, column, before: int(not before)
    with pytest.raises(_Ran) as ran:
        dispatch.delta(op, inputs, ctx)
    return ran.value.args


def what_it_says(op: Operator) -> tuple[Any, ...]:
    """Return what an operator's strategy says."""
    if isinstance(op, StreamCloseAggregate | StreamSortBuffer) and op.stateless:
        return ("input",)
    match op.strategy:
        case Method.ROWS_HELD:
            return ("buffer",)
        case Method.EXACT:
            return ("pairs",)
        case Method.DYNAMIC_FILTER:
            return ("crossing rows",)
        case RecomputeMatches():
            return "matches", op.strategy
        case RecomputeScopes(_, scopes):
            return "scopes", scopes
        case RecomputeRanges(_, reach):
            return "ranges", reach
        case KeepFirst():
            return ("first rows",)
        case KeepGroups():
            return "groups", op.strategy
    raise AssertionError(op.strategy)


@pytest.mark.parametrize("name", CHOICES)
def test_explained_strategy_is_the_one_that_runs(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert what_runs(CHOICES[name], monkeypatch) == what_it_says(CHOICES[name])


def test_each_way_with_a_choice_is_among_them() -> None:
    said = {type(op.strategy) for op in CHOICES.values()}
    assert said >= {KeepGroups, KeepFirst, RecomputeMatches, RecomputeScopes, RecomputeRanges}
    scopes = [
        op.strategy.what for op in CHOICES.values() if isinstance(op.strategy, RecomputeScopes)
    ]
    assert set(scopes) == set(ScopeKind)


def test_the_value_decides_and_not_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    joins = [op for op in CHOICES.values() if isinstance(op, StreamJoin) and op.node.equi]
    firsts = [op for op in CHOICES.values() if isinstance(op, StreamTopN)]
    for family in (joins, firsts):
        ways = [other.strategy for other in family]
        for op in family:
            for way in ways:
                other = op.evolve(strategy=way)
                assert what_runs(other, monkeypatch) == what_it_says(other), (op.node, way)
