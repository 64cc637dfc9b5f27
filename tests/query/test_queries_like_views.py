"""A SELECT on its own takes what a view takes: volatile calls everywhere, errors where SQL asks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from floodmark.api import Floodmark, connect
from floodmark.errors import DataError, NotSupported
from floodmark.spark.session import Sessions

pytestmark = pytest.mark.spark

VOLATILE = {
    "SELECT t.k, y FROM t LEFT JOIN u ON t.k = u.k AND u.y > random()": [(1, None), (2, 3)],
    "SELECT t.k, y FROM t JOIN u ON t.k = u.k AND u.y + t.k > random()": [(1, 0), (2, 3)],
    "SELECT t.k, u.k FROM t FULL JOIN u ON t.k = u.k AND random() < 2": [
        (1, 1), (2, 2), (None, 3),
    ],
    "SELECT k FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND random() < 2)": [(1,), (2,)],
    "SELECT t.k, y FROM t LEFT JOIN u FOR SYSTEM_TIME AS OF PROCTIME() ON t.k = u.k"
    " AND t.k > 1 + random()": [(1, None), (2, 3)],
    "SELECT k, g > 0 FROM t, generate_series(1, 1 + (random() * 0)::int) AS g": [
        (1, True), (2, True),
    ],
    "SELECT count(DISTINCT a), bool_and(a = a) FROM (VALUES (random()), (random())) v(a)"
    " WHERE a BETWEEN 0 AND 1": [(2, True)],
}  # fmt: skip
SPARED = {
    "SELECT a FROM (SELECT a, 1 / b AS c FROM t) s": [(1,), (2,)],
    "SELECT count(*) FROM (SELECT 1 / b AS c FROM t) s": [(2,)],
    "SELECT t.k, y FROM t LEFT JOIN u ON t.k = u.k AND t.k > 1 AND 1 / u.y >= 0": [
        (1, None), (2, 3),
    ],
    "SELECT t.k, y FROM t JOIN u ON t.k = u.k AND t.k > 1 AND 1 / u.y >= 0": [(2, 3)],
    "SELECT k FROM t WHERE NOT EXISTS"
    " (SELECT 1 FROM u WHERE u.k = t.k AND t.k > 1 AND t.k / u.y >= 0)": [(1,)],
    "SELECT c FROM (SELECT b, 1 / b AS c FROM t UNION ALL SELECT y, 1 / y FROM u) s WHERE b > 0": [
        (0,), (0,),
    ],
    "SELECT k, n FROM (SELECT k, sum(1 / b) OVER (PARTITION BY k) AS n FROM t) s WHERE k > 1": [
        (2, 0),
    ],
    "SELECT k, sum(1 / b) FROM t GROUP BY k HAVING k > 1": [(2, 0)],
    "SELECT t.k, c FROM t LEFT JOIN (SELECT k, y, 1 / y AS c FROM u) s ON t.k = s.k"
    " WHERE s.y > 0": [(2, 0)],
    "SELECT t.k, c FROM t LEFT JOIN (SELECT k, y, 1 / y AS c FROM u) s ON t.k = s.k AND s.y > 0": [
        (1, None), (2, 0),
    ],
    "SELECT k FROM (SELECT k, b FROM t WHERE 1 / b >= 0) s WHERE b > 0": [(2,)],
}  # fmt: skip


@pytest.fixture(scope="module")
def fm(sessions: Sessions, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Floodmark]:
    """Yield a warehouse with two tables; the row of key 3 has no partner, and divides by zero."""
    root = tmp_path_factory.mktemp("alone") / "warehouse"
    with connect(root, sessions=lambda: sessions) as connected:
        connected.execute("CREATE TABLE t (k INT PRIMARY KEY, a INT, b INT)")
        connected.execute("CREATE TABLE u (k INT PRIMARY KEY, y INT)")
        connected.execute("INSERT INTO t VALUES (1, 1, 0), (2, 2, 5)")
        connected.execute("INSERT INTO u VALUES (1, 0), (2, 3), (3, 0)")
        yield connected


@pytest.mark.parametrize("query", VOLATILE | SPARED)
def test_a_query_gives_what_its_view_holds(fm: Floodmark, query: str) -> None:
    found = sorted((tuple(row) for row in fm.execute(query).rows), key=repr)
    assert found == (VOLATILE | SPARED)[query]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT t.k FROM t LEFT JOIN u ON t.k = u.k AND 1 / u.y >= 0",
        "SELECT k FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND t.k / u.y > 0)",
        "SELECT k FROM (SELECT DISTINCT k, 1 / b AS c FROM t) s",
    ],
)
def test_a_pair_or_row_that_is_refused_ends_the_query(fm: Floodmark, query: str) -> None:
    with pytest.raises(DataError) as refused:
        fm.execute(query)
    assert refused.value.code == "E0621"


def test_what_no_row_can_draw_for_is_refused(fm: Floodmark) -> None:
    with pytest.raises(NotSupported) as refused:
        fm.execute("SELECT t.k FROM t LEFT JOIN u ON t.k = u.k AND t.a + u.y > random()")
    assert refused.value.code == "E0355"


def test_a_query_that_is_inserted_is_planned_like_one_on_its_own(fm: Floodmark) -> None:
    fm.execute("CREATE TABLE z (k INT PRIMARY KEY, n INT)")
    fm.execute("CREATE VIEW plain AS SELECT k, b FROM t")
    for query in (
        "SELECT t.k, 1 FROM t JOIN u ON t.k = u.k AND random() < 2",
        "SELECT 10 + k, b FROM plain",
        "SELECT 20 + k, n FROM (SELECT u.k, row_number() OVER (ORDER BY u.y) AS n"
        " FROM u JOIN generate_series(1, 1) AS g ON true) s WHERE n < 3",
    ):
        fm.execute(f"INSERT INTO z {query}")
    rows = sorted(tuple(row) for row in fm.execute("SELECT * FROM z").rows)
    assert rows == [(1, 1), (2, 1), (11, 0), (12, 5), (21, 1), (23, 2)]
