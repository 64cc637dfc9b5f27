"""What a dead letter says of a group with an aggregate out of range."""

from __future__ import annotations

from floodmark.dataflow.groups.transitions import parts_of
from floodmark.dataflow.operators.aggregate import refusal
from floodmark.plan import nodes as n
from tests.program_reference import compile_sql

SQL = """CREATE TABLE t (k INT PRIMARY KEY, g INT, b BIGINT, w NUMERIC(38,10));
CREATE MATERIALIZED VIEW v AS SELECT g, sum(b) AS b, sum(w) AS s, avg(w) AS a FROM t GROUP BY g;"""


def test_it_names_the_aggregate_that_is_out_of_range() -> None:
    plan = compile_sql(SQL).objects["v"].plan
    (node,) = (part for part in plan.nodes if isinstance(part, n.Aggregate))
    parts = parts_of(node, plan[node].keeps, 0)
    text = refusal(node, parts, "n_")
    assert text is not None
    beyond = [part.overflow.replace("{p}", "n_") for part in parts if part.overflow is not None]
    for label, condition in zip(("sum(w)", "avg(w)"), beyond, strict=True):
        assert f"WHEN ({condition}) THEN '{label}'" in text
