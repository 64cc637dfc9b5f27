"""Every node class has a meaning, and its rows have the columns of its schema."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.reference.interpreter import evaluate
from tests.stream.every_node import unanalysed

NOW = datetime(2024, 1, 1, 10, tzinfo=UTC)
BEFORE, LATER = datetime(2024, 1, 1, 9), datetime(2024, 1, 1, 11)
ROWS = {
    "t": [{"k": "a", "v": 2, "ts": BEFORE}, {"k": "b", "v": 1, "ts": LATER}],
    "u": [{"u_k": "a", "u_v": 1, "u_ts": BEFORE}],
    "lists": [{"k": "a", "values": (1, 2)}],
}
ALL = {
    name.partition("/")[0]: node
    for name, node in unanalysed().items()
    if name.endswith(f"/{ChangelogMode.RETRACT}")
}
SAMPLES = {
    **{name: node for name, node in ALL.items() if name != "Filter by time"},
    "SetOperation": n.SetOperation(ALL["Project"], ALL["Project"], n.SetKind.INTERSECT, all=False),
}
"""Those of the streaming plans: all but a time without a zone; what two inputs share has rows."""


def test_all_classes_are_among_the_samples() -> None:
    assert {type(node) for node in SAMPLES.values()} == set(n.NODE_CLASSES)


@pytest.mark.parametrize("name", SAMPLES)
def test_rows_have_the_columns_of_the_schema(name: str) -> None:
    node = SAMPLES[name]
    rows = evaluate(node, ROWS, NOW)
    assert rows and all(set(row) == set(node.names) for row in rows)
