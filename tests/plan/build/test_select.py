"""What SELECT takes for one text said twice, for a type that is not said, and what it refuses."""

from __future__ import annotations

import pytest

from floodmark.changelog import is_hidden
from floodmark.errors import FloodmarkError
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Volatile, walk
from tests.program_reference import compile_sql

TABLES = "CREATE TABLE t (k INT PRIMARY KEY, v INT, s TEXT, d DATE);"
GROWING = "CREATE TABLE a (v INT) APPEND ONLY;"

REFUSED = {
    "SELECT DISTINCT v FROM t ORDER BY s": "E0276",
    "SELECT DISTINCT v FROM t ORDER BY v + 1 LIMIT 3": "E0276",
    "SELECT v FROM t UNION SELECT k FROM t ORDER BY v + 1": "E0277",
    "SELECT v FROM t UNION SELECT k FROM t ORDER BY 5": "E0216",
    "SELECT count(*) FROM t GROUP BY 2": "E0216",
    "SELECT v, count(*) FROM t GROUP BY 2": "E0273",
    "SELECT v FROM t UNION ALL SELECT 'x'": "E0258",
    "SELECT v FROM t UNION ALL SELECT s FROM t": "E0214",
    "SELECT v AS __pk FROM t": "E0127",
    "SELECT ARRAY[]": "E0278",
    "SELECT k FROM t WHERE v > (SELECT extract(epoch FROM now()))": "E0320",
    "SELECT k, (SELECT now()) FROM t": "E0320",
    "SELECT k FROM t JOIN (VALUES (now())) q(n) ON q.n > t.d": "E0320",
}


@pytest.mark.parametrize("query", REFUSED)
def test_what_cannot_be_is_refused(query: str) -> None:
    with pytest.raises(FloodmarkError) as caught:
        compile_sql(f"{TABLES} CREATE MATERIALIZED VIEW q AS {query};")
    assert caught.value.code == REFUSED[query]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT DISTINCT v + 1 FROM t ORDER BY v + 1",
        "SELECT (random() * 3)::int AS g, count(*) FROM a GROUP BY (random() * 3)::int",
        "SELECT v + random() AS r, count(*) FROM a GROUP BY v + random()",
        "SELECT v, random() AS r FROM a ORDER BY random() LIMIT 3",
        "SELECT DISTINCT ON (v) v, random() AS r FROM a ORDER BY v, random()",
    ],
)
def test_one_text_is_one_value(query: str) -> None:
    plan = compile_sql(f"{TABLES} {GROWING} CREATE MATERIALIZED VIEW q AS {query};")
    drawn = [
        part
        for node in n.walk(plan["q"].plan.root)
        if isinstance(node, n.Project | n.MaterializeProject)
        for _, e in node.columns
        for part in walk(e)
        if isinstance(part, Volatile)
    ]
    assert len(drawn) == query.count("random") // 2


@pytest.mark.parametrize(
    ("query", "types"),
    [
        ("SELECT v, d FROM t UNION ALL SELECT NULL, '2024-01-02'", "integer date"),
        ("SELECT NULL, 'x' UNION SELECT v, s FROM t", "integer character varying"),
        ("SELECT k FROM t INTERSECT SELECT '7'", "integer"),
        ("SELECT 0.1 UNION SELECT '12.55'", "numeric(4,2)"),
        ("SELECT NULL UNION SELECT NULL", "character varying"),
        ("SELECT d FROM t UNION VALUES ('2024-01-01'), (NULL)", "date"),
        ("VALUES (NULL, 'x') UNION ALL SELECT v, s FROM t", "integer character varying"),
        ("SELECT * FROM (VALUES ('0.55'), (0.1)) q (x)", "numeric(2,2)"),
        ("SELECT CASE WHEN v > 1 THEN '12.555' ELSE 0.1 END FROM t", "numeric(5,3)"),
        ("SELECT ARRAY[]::int[]", "integer[]"),
        ("SELECT (SELECT v FROM t WHERE k = 1 UNION SELECT NULL LIMIT 1)", "integer"),
    ],
)
def test_what_has_no_type_takes_that_of_what_stands_beside_it(query: str, types: str) -> None:
    plan = compile_sql(f"{TABLES} CREATE MATERIALIZED VIEW q AS {query};")
    shown = [f for f in plan["q"].plan.root.schema if not is_hidden(f.name)]
    assert " ".join(str(f.type) for f in shown) == types
