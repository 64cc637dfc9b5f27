"""What operators of several inputs, and first rows, are known by."""

from __future__ import annotations

import pytest

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.stream.operators.base import StreamOperator
from tests.program_reference import compile_sql

SOURCE = """CREATE SOURCE timed (id BIGINT, ts TIMESTAMP, v INT, WATERMARK FOR ts AS ts)
  WITH (connector = 'files', path = '/nowhere') FORMAT PLAIN ENCODE PARQUET;
CREATE SOURCE plain (id BIGINT, ts TIMESTAMP, v INT)
  WITH (connector = 'files', path = '/nowhere') FORMAT PLAIN ENCODE PARQUET;
CREATE TABLE t (id BIGINT PRIMARY KEY, v BIGINT);
CREATE MATERIALIZED VIEW m AS """


def operator_of(query: str, node: type[n.Node]) -> StreamOperator[n.Node]:
    """Return the only operator of a class in the plan of a view."""
    plan = compile_sql(f"{SOURCE}{query};")["m"].plan
    assert plan is not None
    (found,) = (plan[each] for each in plan.nodes if isinstance(each, node))
    return found


@pytest.mark.parametrize(
    ("first", "second", "carries"),
    [("timed", "timed", 1), ("timed", "plain", 0), ("plain", "timed", 0)],
)
def test_a_union_carries_a_watermark_that_all_inputs_have(
    first: str, second: str, carries: int
) -> None:
    query = f"SELECT ts, v FROM {first} UNION ALL SELECT ts, v FROM {second}"
    assert len(operator_of(query, n.UnionAll).watermarks) == carries


def test_what_was_looked_up_does_not_identify_a_row() -> None:
    """The row of a key may be that of another one at the next lookup."""
    query = "SELECT t.id, d.v FROM t JOIN t AS d FOR SYSTEM_TIME AS OF PROCTIME() ON t.id = d.v"
    lookup = operator_of(query, n.LookupJoin)
    assert {*lookup.inputs[0].stream_key} <= {*lookup.stream_key}


def test_ties_in_the_first_place_have_more_than_the_key_of_their_group() -> None:
    ranked = "SELECT *, rank() OVER (PARTITION BY v ORDER BY ts) AS r FROM plain"
    top = operator_of(f"SELECT id, v FROM ({ranked}) AS o WHERE r <= 1", n.TopN)
    assert isinstance(top.node, n.TopN) and top.node.with_ties and top.node.limit == 1
    assert {*top.node.group} < {*top.stream_key}


@pytest.mark.parametrize(
    ("query", "node"),
    [
        ("SELECT p.id, q.v FROM plain AS p LEFT JOIN timed AS q ON p.id = q.id", n.Join),
        ("SELECT p.id, q.v FROM plain AS p RIGHT JOIN timed AS q ON p.id = q.id", n.Join),
        ("SELECT p.id FROM plain AS p FULL JOIN timed AS q ON p.id = q.id", n.Join),
        ("SELECT id FROM plain ORDER BY v LIMIT 3", n.TopN),
        ("SELECT id FROM plain EXCEPT SELECT id FROM timed", n.SetOperation),
    ],
)
def test_rows_that_another_row_ends_are_taken_back(query: str, node: type[n.Node]) -> None:
    """A match ends padding, a row in front ends a place, a row on the right ends a difference."""
    operator = operator_of(query, node)
    assert all(below.append_only for below in operator.inputs)
    assert operator.mode is ChangelogMode.RETRACT
