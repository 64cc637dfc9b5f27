"""Lineage is a property of the operator: each says where all of its columns come from."""

from __future__ import annotations

import pytest

from floodmark.plan import nodes as n
from floodmark.stream.explain.lineage import column_lineage
from floodmark.stream.operators.lower import StreamPlan
from tests.stream.every_node import every_node


@pytest.mark.parametrize("plan", every_node().values(), ids=every_node())
def test_each_operator_knows_the_origins_of_its_columns(plan: StreamPlan) -> None:
    scanned = {(scan.object, name) for scan in n.scans(plan.root) for name in scan.names}
    for operator in plan.operators.values():
        origins = column_lineage(operator)
        assert set(origins) == set(operator.names), operator.identifier
        assert frozenset().union(*origins.values()) <= scanned, operator.identifier
