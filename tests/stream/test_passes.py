"""The one tuple from bound nodes to the plan that runs: its order, and how often it lowers."""

from __future__ import annotations

import ast
import sys

import pytest

from floodmark.plan.build.builder import build_query
from floodmark.plan.expr.determinism import is_volatile
from floodmark.plan.nodes import Join, Node, TopN, walk
from floodmark.sql import statements as s
from floodmark.sql.parse import parse_statement
from floodmark.stream.objects.planning import PASSES, Use, plan_of
from floodmark.stream.operators.lower import StreamPlan, lower
from floodmark.stream.passes.keep_keys import keep_keys
from tests.program_reference import compile_sql
from tests.source_trees import HOUSE, module_paths, nodes_of

SOURCE = """CREATE SOURCE s (id BIGINT, ts TIMESTAMP, v INT, WATERMARK FOR ts AS ts)
  WITH (connector = 'files', path = '/nowhere') FORMAT PLAIN ENCODE PARQUET;
CREATE TABLE t (id BIGINT PRIMARY KEY, v INT);"""
WINDOWS = "FROM TUMBLE(s, ts, INTERVAL '1 hour') GROUP BY window_start EMIT ON WINDOW CLOSE"
VIEW = "CREATE MATERIALIZED VIEW m AS"


def steps_of(use: Use) -> list[str]:
    return [one.step.__name__ for one in PASSES if use in one.uses]


def test_what_is_kept_goes_through_all_but_what_is_of_queries_and_sinks() -> None:
    rest = [
        "add_temporal_filters",
        "keep_keys",
        "lower_nodes",
        "release_on_close",
        "judge_periods",
        "store_rows",
        "repair_updates",
        "colocate_state",
        "check_needs_no_snapshot",
        "require_supported",
        "check_rereading",
        "require_columns",
    ]
    steps = steps_of(Use.STORED)
    assert steps[:2] == ["drop_orders", "plain_filters"]
    assert steps[-len(rest) :] == rest


def test_the_tuple_says_what_each_use_is_checked_for() -> None:
    checks = {
        "require_repeatable",
        "check_needs_no_snapshot",
        "require_supported",
        "require_sole_writer",
        "check_rereading",
        "require_columns",
    }
    found = {use.name: [name for name in steps_of(use) if name in checks] for use in Use}
    assert found == {
        "SELECT": [],
        "EXPLAINED": [],
        "TABLE_AS": [],
        "VIEW": [
            "check_needs_no_snapshot",
            "require_supported",
            "check_rereading",
            "require_columns",
        ],
        "REFRESHED": [
            "require_repeatable",
            "check_needs_no_snapshot",
            "require_supported",
            "check_rereading",
            "require_columns",
        ],
        "STORED": [
            "check_needs_no_snapshot",
            "require_supported",
            "check_rereading",
            "require_columns",
        ],
        "INTO_TABLE": [
            "check_needs_no_snapshot",
            "require_supported",
            "require_sole_writer",
            "check_rereading",
        ],
        "OUTSIDE": ["require_supported", "check_rereading"],
    }


def test_a_query_runs_as_nodes_and_is_explained_as_operators() -> None:
    assert "lower_nodes" not in steps_of(Use.SELECT)
    assert steps_of(Use.EXPLAINED)[-2:] == ["keep_keys", "lower_nodes"]


@pytest.mark.parametrize("use", Use)
def test_operators_are_made_once_and_after_the_last_pass_over_nodes(use: Use) -> None:
    steps = steps_of(use)
    assert steps.count("lower_nodes") == (0 if use is Use.SELECT else 1)
    of_nodes = [one.step.__qualname__.startswith("node_step") for one in PASSES if use in one.uses]
    assert of_nodes == sorted(of_nodes, reverse=True)


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> list[Node]:
    """Return the roots of all plans that are lowered from now on."""
    roots: list[Node] = []

    def count(root: Node) -> StreamPlan:
        roots.append(root)
        return lower(root)

    for name, module in list(sys.modules.items()):
        if name.startswith("floodmark.") and getattr(module, "lower", None) is lower:
            monkeypatch.setattr(module, "lower", count)
    return roots


@pytest.mark.parametrize(
    ("definition", "times"),
    [
        (f"{VIEW} SELECT id, v FROM s WHERE v > 1;", 1),
        (f"{VIEW} SELECT v, count(*) AS n FROM t GROUP BY v;", 1),
        ("CREATE VIEW w AS SELECT id, v FROM s;", 1),
        (f"{VIEW[:-3]} WITH (refresh = 'full') AS SELECT v, count(*) AS n FROM t GROUP BY v;", 1),
        (f"{VIEW} SELECT id, random() AS r FROM s;", 1),
        (f"{VIEW} SELECT id, random() AS r FROM t;", 2),
        (f"{VIEW} SELECT window_start, count(*) AS n {WINDOWS};", 2),
        (f"{VIEW} SELECT ts, v FROM s EMIT ON WINDOW CLOSE;", 2),
        ("CREATE SINK k INTO t AS SELECT id, max(v) AS v FROM s GROUP BY id;", 2),
    ],
)
def test_only_what_rewrites_a_plan_lowers_it_again(
    definition: str, times: int, lowered: list[Node]
) -> None:
    compile_sql(SOURCE + definition)
    assert len(lowered) == times


QUERIES = (
    "SELECT v, count(*) AS n FROM s WHERE ts > now() GROUP BY v",
    "SELECT id, row_number() OVER (PARTITION BY v ORDER BY ts) AS n FROM s",
    "SELECT s.id, t.v FROM s JOIN t ON s.id = t.id WHERE t.v > 2 ORDER BY s.id LIMIT 3",
)


@pytest.mark.parametrize("query", QUERIES)
def test_explain_shows_the_nodes_that_a_query_runs(query: str, lowered: list[Node]) -> None:
    pipeline = compile_sql(SOURCE)
    lowered.clear()
    select = parse_statement(query)
    assert isinstance(select, s.Select)
    node = build_query(select.query, pipeline.relations, select.span)
    run = plan_of(node, Use.SELECT).node
    assert lowered == []
    assert plan_of(node, Use.EXPLAINED).plan.root == keep_keys(run)
    assert len(lowered) == 1


def run_of(query: str) -> Node:
    """Return the nodes that a SELECT runs."""
    select = parse_statement(query)
    assert isinstance(select, s.Select)
    node = build_query(select.query, compile_sql(SOURCE).relations, select.span)
    return plan_of(node, Use.SELECT).node


def test_a_query_evaluates_a_volatile_condition_above_its_join() -> None:
    root = run_of("SELECT t.id FROM t JOIN t AS d ON t.v < d.v AND random() < 0.5")
    (join,) = (node for node in walk(root) if isinstance(node, Join))
    assert join.residual is not None and not is_volatile(join.residual)


def test_an_order_has_the_keys_that_decide_between_ties() -> None:
    root = run_of("SELECT v FROM t ORDER BY v LIMIT 2")
    (top,) = (node for node in walk(root) if isinstance(node, TopN))
    assert top.input.names == ("v", "__key_id")


def test_a_view_that_is_recomputed_keeps_no_state() -> None:
    view = f"{VIEW[:-3]} {{}} AS SELECT v, count(*) AS n, max(id) AS m FROM t GROUP BY v;"
    kept, recomputed = (
        compile_sql(SOURCE + view.format(how))["m"].plan
        for how in ("WITH (determinism = 'strict')", "WITH (refresh = 'full')")
    )
    assert kept is not None and any(kept[node].state for node in kept.nodes)
    assert recomputed is not None
    assert not any(recomputed[node].state for node in recomputed.nodes)


def importers(module: str, name: str) -> set[str]:
    """Return the files that import a name from a module."""
    return {
        str(path.relative_to(HOUSE))
        for path in module_paths()
        for node in nodes_of(path)
        if isinstance(node, ast.ImportFrom) and node.module == module
        if any(alias.name == name for alias in node.names)
    }


def test_nobody_makes_a_plan_beside_the_tuple() -> None:
    """Only passes lower a plan, and a view that is recomputed, whose plan keeps no state."""
    passes = {"stream/objects/planning.py", "stream/objects/sinks.py"}
    passes |= {"stream/passes/close/emit_on_close.py", "stream/passes/rebuild.py"}
    allowed = passes | {"stream/ndu/flink_plan.py", "epochs/objects/view_refresh.py"}
    assert importers("floodmark.stream.operators.lower", "lower") == allowed
    # A source takes its query apart before there is a relation that a plan could read.
    rules = {"stream/objects/planning.py", "plan/declare/query_split.py"}
    assert importers("floodmark.plan.rules", "RULES") == rules
    for name in ("resolve", "colocate_state"):
        assert importers("floodmark.stream.ndu", name) == set()
    assert importers("floodmark.stream", "ndu") == {"stream/objects/planning.py"}


@pytest.mark.parametrize(
    "definition",
    [
        f"{VIEW} SELECT t.id, t.v + 1 AS w, d.v AS g FROM t LEFT JOIN t AS d "
        "FOR SYSTEM_TIME AS OF PROCTIME() ON t.v = d.id;",
        f"{VIEW} SELECT id, random() AS r FROM t;",
        f"{VIEW[:-3]} WITH (refresh = 'full') AS SELECT v, count(*) AS n FROM t GROUP BY v;",
        f"{VIEW} SELECT window_start, count(*) AS n {WINDOWS};",
    ],
)
def test_an_operator_reads_those_of_its_plan(definition: str) -> None:
    plan = compile_sql(SOURCE + definition)["m"].plan
    assert plan is not None
    for node, operator in plan.operators.items():
        below = [plan[child] for child in node.inputs]
        assert [*map(id, operator.inputs)] == [*map(id, below)]
