"""What emits on close is in the batch result for good: on the reference, for random queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, timedelta
from random import Random

import pytest

from floodmark.changelog import RowKind, is_hidden
from floodmark.plan import nodes as n
from floodmark.reference.compile import reference_objects
from floodmark.reference.engine import advance
from floodmark.reference.pipeline import Delivery, EpochInput, ObjectState
from floodmark.reference.rows import Row, bag, sort_value
from floodmark.stream.objects.analysed import Pipeline
from tests.program_reference import compile_sql
from tests.property.closing_queries import SHAPES, START, Shape, land, source

OPTIONS = "WITH (connector = 'files', path = 'landing') FORMAT PLAIN ENCODE JSON"
RUNS, MOST_RUNS = 5, 30
"""How often a shape runs, and how often at most until some of its rows are released."""


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_what_has_closed_is_final_and_all_of_it(shape: Shape) -> None:
    released = 0
    for seed in range(MOST_RUNS):
        if seed >= RUNS and released:
            break
        random = Random(f"{shape.name} {seed}")
        query = shape.filled(random)
        delays = [random.choice(("0 seconds", "1 minute", "2 minutes")) for _ in range(2)]
        sources = [source(name, delay, OPTIONS) for name, delay in zip("ab", delays, strict=True)]
        pipeline = compile_sql(
            ";".join(
                [
                    *sources,
                    f"CREATE MATERIALIZED VIEW v AS {query} EMIT ON WINDOW CLOSE",
                    f"CREATE MATERIALIZED VIEW w AS {query}",
                ]
            )
        )
        objects = reference_objects(pipeline)
        states: Mapping[str, ObjectState] = {}
        now = START
        for _ in range(9):
            now += timedelta(minutes=random.choice((1, 2, 4, 7, 15)))
            rows = land(random, now)
            brought = {name: [Delivery(RowKind.INSERT, row) for row in rows[name]] for name in rows}
            before = states.get("v", ObjectState())
            states, results = advance(objects, states, EpochInput(now.replace(tzinfo=UTC), brought))
            assert all(kind is RowKind.INSERT for kind, _ in results["v"].changes)
            given = bag(_visible([row for _, row in results["v"].changes]))
            closing = _closing(pipeline, before, states)
            assert closing is None or given == bag(closing), query
            if "now()" not in query:
                assert not bag(_visible(states["v"].rows)) - bag(_visible(states["w"].rows)), query
            released += sum(given.values())
    assert released


def _visible(rows: Sequence[Row]) -> list[Row]:
    return [{c: v for c, v in row.items() if not is_hidden(c)} for row in rows]


def _closing(
    pipeline: Pipeline, before: ObjectState, states: Mapping[str, ObjectState]
) -> list[Row] | None:
    """Return the rows of the plain view that the watermark of the closing one has just passed.

    None where each row waits for rows of its own.
    """
    plan = pipeline["v"].plan
    assert plan is not None
    if any(isinstance(node, n.OverWindow) and node.close_call for node in n.walk(plan.root)):
        return None
    column, _ = pipeline["v"].relation.watermarks[0]
    low, high = before.watermark.get(column), states["v"].watermark.get(column)
    if high is None:
        return []
    rows = [row for row in states["w"].rows if sort_value(row[column]) < sort_value(high)]
    if low is not None:
        rows = [row for row in rows if sort_value(row[column]) >= sort_value(low)]
    return _visible(rows)
