"""Every node class passes through every analysis and printer."""

from __future__ import annotations

import json

import pytest

from floodmark.changelog import ChangelogMode
from floodmark.dataflow.groups.transitions import parts_of
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import AggCall, ColumnRef
from floodmark.scalar.types import BIGINT, INT
from floodmark.stream.explain.explain import explain_plan
from floodmark.stream.operators import StreamAggregate
from floodmark.stream.operators.lower import lower
from floodmark.stream.printing.strategies import call_texts
from floodmark.stream.properties.strategy import KeepGroups, Upkeep
from tests.stream.every_node import every_node, scan

PLANS = every_node()


def test_no_class_is_left_out() -> None:
    roots = {type(plan.root) for plan in PLANS.values()}
    assert roots == set(n.NODE_CLASSES)


@pytest.mark.parametrize("name", PLANS)
def test_properties_hold(name: str) -> None:
    plan = PLANS[name]
    for node in plan.nodes:
        known = plan[node]
        assert set(known.stream_key) <= set(node.names)
        assert {w.column for w in known.watermarks} <= set(node.names)
        assert all(table.cleaning for table in known.state)
        if isinstance(node, n.CloseAggregate | n.CloseSession | n.SortBuffer):
            assert known.mode is ChangelogMode.APPEND_ONLY


@pytest.mark.parametrize("name", PLANS)
def test_text_and_json_hold_every_node(name: str) -> None:
    plan = PLANS[name]
    for owner in (None, "v"):
        explanation = explain_plan(plan, owner=owner)
        data = json.loads(explanation.to_json())
        assert data == json.loads(json.dumps(explanation.as_dict()))
        assert "&lt;" not in str(explanation) and explanation.to_html().startswith("<pre")
        assert [node["id"] for node in data["nodes"]] == [plan[x].identifier for x in plan.nodes]
        shown = [node for node in explanation.nodes if not node.plain]
        assert all(f"{node.identifier} := {node.operator}" in str(explanation) for node in shown)
        assert "__" not in str(explanation)


def aggregate(call: AggCall, mode: ChangelogMode, group: tuple[str, ...] = ("k",)) -> KeepGroups:
    operator = lower(n.Aggregate(scan("t", mode), group, (("a", call),))).top
    assert isinstance(operator, StreamAggregate)
    return operator.keeps


@pytest.mark.parametrize("mode", [ChangelogMode.APPEND_ONLY, ChangelogMode.RETRACT])
@pytest.mark.parametrize("name", ["sum", "count", "min", "max", "avg"])
@pytest.mark.parametrize("distinct", [True, False])
def test_explained_upkeep_is_the_one_that_runs(
    name: str, distinct: bool, mode: ChangelogMode
) -> None:
    call = AggCall(name, (ColumnRef(INT, "v"),), BIGINT, distinct=distinct)
    node = n.Aggregate(scan("t", mode), ("k",), (("a", call),))
    keeps = aggregate(call, mode)
    (part,) = parts_of(node, keeps, 0)
    (text,) = call_texts(keeps)
    texts = {
        Upkeep.ADDED: "exact delta",
        Upkeep.EXTREMUM: "exact delta because the input is append-only",
        Upkeep.VALUES: "exact delta by how often each value is there",
        Upkeep.SCOPE: f"touched groups recomputed because {name} is over a retracting input",
    }
    (upkeep,) = keeps.upkeeps
    assert text == texts[upkeep]
    assert part.upkeep is (Upkeep.ADDED if upkeep is Upkeep.VALUES else upkeep)


def test_without_groups_everything_is_recomputed() -> None:
    call = AggCall("max", (ColumnRef(INT, "v"),), INT)
    (text,) = call_texts(aggregate(call, ChangelogMode.RETRACT, ()))
    assert text == "everything recomputed because max is over a retracting input"
