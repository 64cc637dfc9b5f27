"""Window functions and first rows in a SELECT on its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from floodmark.api import Floodmark, connect
from floodmark.errors import NotSupported
from floodmark.spark.session import Sessions

pytestmark = pytest.mark.spark

QUERIES = {
    "SELECT k, row_number() OVER (PARTITION BY g ORDER BY a DESC) AS n FROM t ORDER BY k": [
        (1, 1), (2, 2), (3, 2), (4, 1),
    ],
    "SELECT g, sum(a) AS s, rank() OVER (ORDER BY sum(a)) AS r FROM t GROUP BY g ORDER BY g": [
        ("x", 20, 2), ("y", 7, 1),
    ],
    "SELECT k FROM t ORDER BY a LIMIT 2": [(3,), (1,)],
    "SELECT k FROM t ORDER BY a FETCH FIRST 2 ROWS WITH TIES": [(3,), (1,), (2,)],
    "SELECT DISTINCT ON (g) g, k FROM t ORDER BY g DESC, a": [("y", 3), ("x", 1)],
    "SELECT k, n FROM (SELECT *, rank() OVER (PARTITION BY g ORDER BY a) AS n FROM t) x"
    " WHERE n = 1 ORDER BY k": [(1, 1), (2, 1), (3, 1)],
    "SELECT count(*) FROM (SELECT epoch, row_number() OVER (ORDER BY epoch) AS n FROM t__changes) x"
    " WHERE n <= 3": [(3,)],
}  # fmt: skip


@pytest.fixture(scope="module")
def fm(sessions: Sessions, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Floodmark]:
    """Yield a warehouse with one table."""
    root = tmp_path_factory.mktemp("ordered") / "warehouse"
    with connect(root, sessions=lambda: sessions) as connected:
        connected.execute("CREATE TABLE t (k INT PRIMARY KEY, g TEXT, a INT)")
        connected.execute(
            "INSERT INTO t VALUES (1, 'x', 10), (2, 'x', 10), (3, 'y', 7), (4, 'y', NULL)"
        )
        connected.advance()
        yield connected


@pytest.mark.parametrize("query", QUERIES)
def test_rows_in_an_order(fm: Floodmark, query: str) -> None:
    assert [tuple(row) for row in fm.execute(query).rows] == QUERIES[query]


def test_what_has_no_form_over_a_list_is_refused(fm: Floodmark) -> None:
    with pytest.raises(NotSupported) as refused:
        fm.execute("SELECT bit_and(a) OVER (ROWS 1 PRECEDING EXCLUDE CURRENT ROW) FROM t")
    assert refused.value.code == "E0355"
