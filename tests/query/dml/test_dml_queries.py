"""UPDATE and DELETE that read other tables: subqueries, FROM, USING, tuples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from floodmark.api import Floodmark
from floodmark.errors import FloodmarkError
from tests.warehouses import Site

pytestmark = pytest.mark.spark

T = [(1, "a", 10), (2, "b", 20), (3, None, 30), (4, "d", None)]
Row = tuple[Any, ...]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, sessions: Any) -> Iterator[Floodmark]:
    """Yield one warehouse for all tests."""
    site = Site(tmp_path_factory.mktemp("dml"), sessions)
    site.define()
    with site.connect() as connection:
        connection.execute("CREATE TABLE t (k INT PRIMARY KEY, g VARCHAR, v INT DEFAULT 7)")
        connection.execute("CREATE TABLE u (k INT, w INT, g VARCHAR)")
        connection.execute("INSERT INTO t VALUES (1, 'a', 10), (2, 'b', 20), (3, NULL, 30)")
        connection.execute("INSERT INTO t (k, g, v) SELECT 4, 'd', NULL")
        connection.execute(
            "INSERT INTO u VALUES (2, 200, 'x'), (2, 100, 'y'), (3, 300, 'z'), (9, 9, NULL)"
        )
        yield connection


@pytest.fixture
def fm(shared: Floodmark) -> Iterator[Floodmark]:
    """Yield the connection in a transaction that is rolled back: no test sees another one."""
    epoch = shared.warehouse.log.head().sealed
    shared.execute("BEGIN")
    yield shared
    assert shared.execute("ROLLBACK").status == "ROLLBACK"
    assert shared.warehouse.log.head().sealed == epoch


def rows(fm: Floodmark) -> list[Row]:
    """Return the rows of t."""
    return [tuple(row) for row in fm.execute("SELECT * FROM t ORDER BY k").rows]


@pytest.mark.parametrize(
    ("condition", "left"),
    [
        ("k IN (SELECT k FROM u)", [1, 4]),
        ("k NOT IN (SELECT k FROM u)", [2, 3]),
        ("g NOT IN (SELECT g FROM u)", [1, 2, 3, 4]),
        ("EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND w > 150)", [1, 4]),
        ("NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k)", [2, 3]),
        ("v > (SELECT avg(w) / 7 FROM u)", [1, 2, 4]),
        ("v = (SELECT max(w) / 10 FROM u WHERE u.k = t.k)", [1, 4]),
        ("k IN (SELECT k FROM u) OR g = 'a'", [4]),
        ("(k, 300) IN (SELECT k, w FROM u)", [1, 2, 4]),
        ("v < (SELECT avg(x.v) FROM t AS x)", [2, 3, 4]),
    ],
)
def test_delete_where(fm: Floodmark, condition: str, left: list[int]) -> None:
    told = fm.execute(f"DELETE FROM t WHERE {condition}")
    assert [row[0] for row in rows(fm)] == left
    assert told.rowcount == 4 - len(left)


@pytest.mark.parametrize(
    ("statement", "changed"),
    [
        ("SET v = (SELECT max(w) FROM u)", {k: (g, 300) for k, g, _ in T}),
        (
            "SET v = (SELECT sum(w) FROM u WHERE u.k = t.k) WHERE k < 4",
            {1: ("a", None), 2: ("b", 300), 3: (None, 300)},
        ),
        ("AS x SET v = (SELECT count(*) FROM u WHERE u.k = x.k)", {
            1: ("a", 0), 2: ("b", 2), 3: (None, 1), 4: ("d", 0)}),
        ("SET v = w FROM u WHERE u.k = t.k", {2: ("b", 100), 3: (None, 300)}),
        ("SET v = t.v + u.w, g = u.g FROM u WHERE u.k = t.k AND w > 100",
         {2: ("x", 220), 3: ("z", 330)}),
        ("SET v = n FROM (SELECT k, count(*) AS n FROM u GROUP BY k) AS c WHERE c.k = t.k",
         {2: ("b", 2), 3: (None, 1)}),
        ("SET v = a.w FROM u AS a JOIN u AS b ON a.k = b.k AND a.w > b.w WHERE a.k = t.k",
         {2: ("b", 200)}),
        ("SET v = o.v FROM t AS o WHERE o.k = t.k + 1 AND t.k = 1", {1: ("a", 20)}),
        ("SET v = DEFAULT WHERE k = 1", {1: ("a", 7)}),
        ("SET (g, v) = ('q', 1) WHERE k = 1", {1: ("q", 1)}),
        ("SET (g, v) = (SELECT max(g), min(w) FROM u WHERE u.k = t.k) WHERE k = 2",
         {2: ("y", 100)}),
        ("SET (v, g) = (SELECT w, g FROM u ORDER BY 1 DESC LIMIT 1) WHERE k = 1", {1: ("z", 300)}),
        ("SET (g, v) = (SELECT u.g, w FROM u WHERE u.k = t.k) WHERE k = 3", {3: ("z", 300)}),
        ("SET (k, v, g) = (SELECT * FROM (SELECT 8, 9, 'n') AS q) WHERE k = 1",
         {1: None, 8: ("n", 9)}),
        ("SET (g, v) = CASE WHEN v > 15 THEN ('high', v) WHEN v IS NULL THEN NULL"
         " ELSE ('low', 0) END",
         {1: ("low", 0), 2: ("high", 20), 3: ("high", 30), 4: (None, None)}),
        ("SET k = k + 10 WHERE k IN (SELECT k FROM u)",
         {2: None, 3: None, 12: ("b", 20), 13: (None, 30)}),
    ],
)  # fmt: skip
def test_update(fm: Floodmark, statement: str, changed: dict[int, Row | None]) -> None:
    before = {k: (g, v) for k, g, v in T}
    expected = {k: v for k, v in {**before, **changed}.items() if v is not None}
    told = fm.execute(f"UPDATE t {statement}")
    assert {row[0]: row[1:] for row in rows(fm)} == expected
    assert told.rowcount == len([k for k in changed if k < 5])
    assert told.status == f"UPDATE {told.rowcount}"


def test_delete_using_finds_a_row_once(fm: Floodmark) -> None:
    told = fm.execute("DELETE FROM t USING u WHERE u.k = t.k")
    assert (told.rowcount, [row[0] for row in rows(fm)]) == (2, [1, 4])
    told = fm.execute("DELETE FROM u AS x USING u AS y WHERE x.k = y.k AND x.w > y.w")
    assert told.rowcount == 1
    assert fm.execute("SELECT w FROM u ORDER BY w").rows == ((9,), (100,), (300,))


@pytest.mark.parametrize(
    ("statement", "code", "place"),
    [
        ("UPDATE t SET v = w FROM t WHERE true", "E0238", "FROM t"),
        ("UPDATE t SET (g, v) = (SELECT g FROM u)", "E0364", "(SELECT g FROM u)"),
        ("UPDATE t SET (g, v) = (SELECT * FROM u)", "E0364", "(SELECT * FROM u)"),
        ("UPDATE t SET (g, v) = CASE WHEN k = 1 THEN (1, 2, 3) END", "E0364", "(1, 2, 3)"),
        ("UPDATE t SET (g, v) = 5", "E0364", "5"),
        ("UPDATE t SET v = 1, v = 2", "E0126", "v = 2"),
        ("UPDATE t SET v = k FROM u", "E0207", "k"),
        ("DELETE FROM t USING u WHERE z = 1", "E0206", "z"),
        ("UPDATE t SET v = (SELECT w FROM u)", "E0628", None),
        ("UPDATE t SET v = (SELECT w, k FROM u)", "E0296", None),
        ("UPDATE t SET v = 1 WHERE k = 1 RETURNING count(*)", "E0273", "count(*)"),
        ("UPDATE t SET v = 1 RETURNING z", "E0206", "z"),
        ("UPDATE t SET v = 1 RETURNING 1 / (k - 2)", "E0621", None),
    ],
)
def test_what_is_refused_fails_the_transaction(
    fm: Floodmark, statement: str, code: str, place: str | None
) -> None:
    with pytest.raises(FloodmarkError) as refused:
        fm.execute(statement)
    assert refused.value.code == code, refused.value
    span = refused.value.span
    assert span is not None and (place is None or span.text == place)
    with pytest.raises(FloodmarkError) as ignored:
        rows(fm)
    assert ignored.value.code == "E0421"
