"""What is decided once of aggregates: how calls are kept, in which tables, and what keeps none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import AggCall, Call, ColumnRef, Literal
from floodmark.scalar.types import BIGINT, BOOLEAN, INT, VARCHAR
from floodmark.stream.operators.aggregate import StreamAggregate
from floodmark.stream.operators.close_aggregate import StreamCloseAggregate
from floodmark.stream.operators.lower import lower
from floodmark.stream.printing.strategies import call_texts, strategy_text
from floodmark.stream.properties.strategy import Upkeep
from tests.stream.every_node import scan

V, U = ColumnRef(INT, "v"), ColumnRef(VARCHAR, "k")
COUNT = AggCall("count", (), BIGINT)


def distinct_sum(filter_: Call | None = None) -> AggCall:
    return AggCall("sum", (V,), BIGINT, distinct=True, filter=filter_)


def test_each_distinct_argument_has_a_table() -> None:
    positive = Call(BOOLEAN, ">", (V, Literal(INT, 0)))
    calls = (
        ("n", COUNT),
        ("s", distinct_sum()),
        ("p", distinct_sum(positive)),
        ("c", AggCall("count", (U,), BIGINT, distinct=True)),
    )
    node = n.Aggregate(scan("t", ChangelogMode.RETRACT), ("ts",), calls)
    made = lower(node)[node]
    assert isinstance(made, StreamAggregate)
    assert [one.argument for one in made.distinct] == [V, U]
    assert [t.name for t in made.values] == ["r1_values0", "r1_values1"]
    assert made.state == (made.accumulators, *made.values)


def test_the_first_recomputed_call_decides() -> None:
    largest = AggCall("max", (V,), INT)
    node = n.Aggregate(scan("t", ChangelogMode.RETRACT), (), (("n", COUNT), ("m", largest)))
    made = lower(node)[node]
    assert isinstance(made, StreamAggregate)
    assert made.upkeeps == (Upkeep.ADDED, Upkeep.SCOPE)
    assert strategy_text(made.strategy) == call_texts(made.keeps)[1]
    assert (made.recomputes, made.needs_all_rows, made.title) == (True, True, "the aggregate max")


def closing(below: n.Node, call: AggCall = COUNT) -> StreamCloseAggregate:
    node = n.CloseAggregate(below, ("ts",), (("a", call),), "ts")
    made = lower(node)[node]
    assert isinstance(made, StreamCloseAggregate)
    return made


def test_groups_of_stored_rows_close_without_state() -> None:
    made = closing(scan("t", ChangelogMode.APPEND_ONLY))
    assert made.stateless
    assert made.state == ()


ROWS = scan("t", ChangelogMode.APPEND_ONLY)
FAILS = Call(INT, "/", (Literal(INT, 1), V))


@pytest.mark.parametrize(
    ("below", "call"),
    [
        (scan("t", ChangelogMode.RETRACT), COUNT),
        (replace(ROWS, drops_silently=True), COUNT),
        (n.UnionAll((ROWS, ROWS), "__branch"), COUNT),
        (n.SortBuffer(ROWS, "ts"), COUNT),
        (ROWS, AggCall("sum", (FAILS,), BIGINT)),
        (n.Filter(ROWS, Call(BOOLEAN, ">", (FAILS, V))), COUNT),
    ],
    ids=["retracts", "forgets", "read twice", "not kept", "argument fails", "row fails"],
)
def test_other_groups_keep_accumulators(below: n.Node, call: AggCall) -> None:
    made = closing(below, call)
    assert not made.stateless
    assert made.state[0] == made.accumulators
    assert made.accumulators.cleaned_by == "ts"
