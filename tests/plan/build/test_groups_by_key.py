"""GROUP BY a primary key settles the other columns of its table, as in PostgreSQL."""

from __future__ import annotations

import pytest

from floodmark.errors import FloodmarkError
from floodmark.plan import nodes as n
from tests.program_reference import compile_sql

_TABLES = """
CREATE TABLE t (id INT PRIMARY KEY, k INT, x INT);
CREATE TABLE u (a INT, b INT, y INT, PRIMARY KEY (a, b));
CREATE VIEW p AS SELECT * FROM t;
"""


def plan_of(query: str) -> n.Node:
    plan = compile_sql(f"{_TABLES} CREATE MATERIALIZED VIEW v AS {query};").objects["v"].plan
    assert plan is not None
    return plan.root


@pytest.mark.parametrize(
    ("query", "group"),
    [
        ("SELECT id, x, count(*) AS n FROM t GROUP BY id", "id x"),
        ("SELECT count(*) AS n FROM t GROUP BY id HAVING max(k) > x ORDER BY k", "id k x"),
        ("SELECT q.a, c, count(*) AS n FROM t AS q (a, b, c) GROUP BY a", "id x"),
        ("SELECT t.x, u.y, count(*) AS n FROM t JOIN u ON k = a GROUP BY id, a, b", "id a b x y"),
        ("SELECT rank() OVER (PARTITION BY k ORDER BY x) AS r FROM t GROUP BY id", "id k x"),
        ("SELECT (SELECT max(y) FROM u WHERE a = t.k) AS m FROM t GROUP BY id", "id k"),
    ],
)
def test_a_key_settles_what_is_read(query: str, group: str) -> None:
    (found,) = (
        part
        for part in n.walk(plan_of(query))
        if isinstance(part, n.Aggregate) and n.scans(part)[0].object.endswith("t")
    )
    assert " ".join(found.group) == group


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k, x FROM t GROUP BY k",
        "SELECT y, count(*) FROM u GROUP BY a",
        "SELECT x FROM t GROUP BY id + 1",
        "SELECT y FROM t LEFT JOIN u ON k = a GROUP BY id",
        "SELECT x FROM p GROUP BY id",
        "SELECT d.x FROM u JOIN t FOR SYSTEM_TIME AS OF PROCTIME() AS d ON a = d.id GROUP BY d.id",
    ],
)
def test_what_no_key_settles(query: str) -> None:
    with pytest.raises(FloodmarkError) as caught:
        plan_of(query)
    assert caught.value.code == "E0217"
