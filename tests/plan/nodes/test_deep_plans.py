"""Plans are as deep as queries nest: what a node is asked for must not cost more at each level."""

from __future__ import annotations

import time

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import AggCall, ColumnRef
from floodmark.scalar.types import BIGINT, INT, Field
from floodmark.stream.operators.lower import lower
from floodmark.stream.passes.keep_keys import keep_keys


def test_projections_on_projections_are_planned_in_no_time() -> None:
    columns = (Field("k", INT, False), *(Field(f"c{i}", INT) for i in range(8)))
    node: n.Node = n.Scan("t", columns, ("k",), ChangelogMode.RETRACT)
    started = time.process_time()
    for level in range(12):
        node = n.Project(node, tuple((f.name, ColumnRef(f.type, f.name)) for f in columns))
        if level % 4 == 3:
            count = (("n", AggCall("count", (), BIGINT)),)
            node = n.Aggregate(node, tuple(f.name for f in columns), count)
    plan = lower(keep_keys(node))
    # It took minutes while each column of each level asked for the whole schema below.
    assert time.process_time() - started < 2
    assert plan[plan.root].stream_key
