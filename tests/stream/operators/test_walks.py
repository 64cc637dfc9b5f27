"""The watermarks of a plan ask each operator once, however many read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from floodmark.changelog import ChangelogMode
from floodmark.dataflow.inputs import EpochInputs
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import ColumnRef
from floodmark.scalar.types import BIGINT, TIMESTAMP, Field
from floodmark.stream.operators.lower import StreamPlan, lower
from floodmark.stream.operators.walks import propagate, propagate_highest
from floodmark.stream.passes.keep_keys import keep_keys
from floodmark.tables.cut import Cut

NOON = datetime(2024, 1, 1, 12)
NOW = NOON.replace(tzinfo=UTC)


def doubling(times: int) -> StreamPlan:
    """Return a plan whose joins have one input on both sides, one above another."""
    columns = (Field("id", BIGINT, False), Field("t", TIMESTAMP))
    marks = (n.WatermarkColumn("t", "s.t"),)
    node: n.Node = n.Scan("s", columns, ("id",), ChangelogMode.APPEND_ONLY, marks)
    for i in range(times):
        renamed = ((f"r{i}id", ColumnRef(BIGINT, "id")), (f"r{i}t", ColumnRef(TIMESTAMP, "t")))
        pairs = (("id", f"r{i}id"), ("t", f"r{i}t"))
        joined = n.Join(node, n.Project(node, renamed), n.JoinKind.INNER, pairs)
        kept = (("id", ColumnRef(BIGINT, "id")), ("t", ColumnRef(TIMESTAMP, "t")))
        node = n.Project(joined, kept)
    return lower(keep_keys(node))


def counted(plan: StreamPlan, name: str, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often each operator of a plan is asked for something."""
    asked: Counter[str] = Counter()

    def counting(rule: Callable[..., Any]) -> Callable[..., Any]:
        def ask(self: Any, *args: Any) -> Any:
            asked[self.identifier] += 1
            return rule(self, *args)

        return ask

    for operator in {type(op) for op in plan.operators.values()}:
        monkeypatch.setattr(operator, name, counting(getattr(operator, name)))
    return asked


@pytest.mark.parametrize("walk", [propagate, propagate_highest])
def test_an_operator_is_asked_once(walk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = doubling(6)
    asked = counted(plan, walk.__name__, monkeypatch)
    walk(plan.top, {"s": {"t": NOON}}, NOW)
    assert asked == {op.identifier: 1 for op in plan.operators.values()}


def test_an_epoch_asks_it_once_for_all_who_need_it(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = doubling(3)
    asked = counted(plan, "propagate", monkeypatch)
    cut = cast(Cut, SimpleNamespace(epoch=1, watermarks=lambda _: {"t": NOON}))
    tables = cast(Any, SimpleNamespace(spark=None))
    inputs = EpochInputs(tables, {}, cut, cut, NOW, fills=False)
    for operator in plan.operators.values():
        assert inputs.watermark(operator, "t", before=False) in (NOON, None)
    assert asked == {op.identifier: 1 for op in plan.operators.values()}
