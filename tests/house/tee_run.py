"""A pipeline whose plans have a tee above each scan; run over a copy of the engine that has tees.

`python tee_run.py` plans, checks and runs it on the reference; `python tee_run.py FOLDER` runs it
on Spark.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from floodmark.plan import nodes as n
from floodmark.spark.confs import default_config
from floodmark.stream.ndu.check import Check
from floodmark.stream.objects import planning
from floodmark.stream.operators.lower import StreamPlan
from floodmark.testing import sql_test
from floodmark.testing.program import Program, parse
from tests.program_reference import compile_sql, run_reference

TEE: type[n.Unary] = getattr(n, "Tee", n.Unary)
PROGRAM = """
sql:  CREATE SOURCE s (g INT, ts TIMESTAMP, WATERMARK FOR ts AS ts)
        WITH (connector = 'files', path = 's') FORMAT PLAIN ENCODE PARQUET;
      CREATE TABLE t (k INT PRIMARY KEY, g INT, a INT);
      CREATE MATERIALIZED VIEW sums AS SELECT g, count(*) AS n, sum(a) AS a FROM t GROUP BY g;
      CREATE MATERIALIZED VIEW pairs WITH (determinism = 'flink') AS
        SELECT x.k, y.k AS other FROM t x JOIN t y ON x.g = y.g AND x.k < y.k;
      CREATE MATERIALIZED VIEW windows AS SELECT window_start, count(*) AS n
        FROM TUMBLE(s, ts, INTERVAL '1 hour') GROUP BY window_start EMIT ON WINDOW CLOSE;
epoch 1   t:      +I 1 7 5  +I 2 7 6    s:  +I 1 10:00  +I 2 10:59
          sums:   +I 7 2 11
          pairs:  +I 1 2
epoch 2   t:      -U 2 7 6  +U 2 8 6    s:  +I 3 11:00
          sums:   -U 7 2 11  +U 7 1 5  +I 8 1 6
          pairs:  -D 1 2
          windows:  +I 10:00 2
"""


def with_tees(node: n.Node) -> n.Node:
    """Return a plan with a tee above each scan."""
    rebuilt = node.with_inputs([with_tees(below) for below in node.inputs])
    return TEE(rebuilt) if isinstance(node, n.Scan) else rebuilt


def check(plan: StreamPlan) -> None:
    """Let the check of non-deterministic updates walk a plan with a tee."""
    assert any(isinstance(node, TEE) for node in plan.nodes), plan.root
    for strict in (True, False):
        walk = Check(plan, strict)
        walk.hand(plan.root, plan.root.names, plan.root.names)
        assert walk.violations == []


def run(program: Program, folder: Path) -> None:
    """Run epochs on Spark, then a SELECT and an EXPLAIN."""
    spark = replace(default_config(), shuffle_partitions=2)
    with sql_test(program.sql, folder, spark=spark) as test:
        for epoch in program.epochs:
            test.advance(epoch.inputs, epoch.dml, epoch.now)
            test.compare(epoch.expected, program.outputs, f"epoch {epoch.number}")
        query = "SELECT g, sum(a) AS a FROM t GROUP BY g ORDER BY g"
        assert [*map(tuple, test.connection.execute(query).rows)] == [(7, 5), (8, 6)]
        assert "Tee" in str(test.connection.execute(f"EXPLAIN {query}").rows)


if __name__ == "__main__":
    tee = planning.Pass(planning.node_step(with_tees), planning.ALL)
    planning.PASSES = (tee, *planning.PASSES)
    program = parse(PROGRAM, "tee")
    for obj in compile_sql(program.sql).objects.values():
        if obj.plan is not None:
            check(obj.plan)
    assert run_reference(program) == []
    for folder in sys.argv[1:]:
        run(program, Path(folder))
