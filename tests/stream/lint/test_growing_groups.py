"""Which groups A102 calls growing: those of which more and more come, and none has to go."""

from __future__ import annotations

import pytest

from tests.golden.cases import Case, explanation

SETUP = """
CREATE SOURCE s (k INT, v INT) WITH (connector = 'files', path = 's') FORMAT PLAIN ENCODE JSON;
CREATE TABLE t (k INT PRIMARY KEY, c VARCHAR);
"""


@pytest.mark.parametrize(
    ("query", "grows"),
    [
        ("SELECT v, count(*) FROM s GROUP BY v", True),
        ("SELECT c, count(*) FROM t GROUP BY c", False),
        ("SELECT v, count(*) FROM s JOIN t USING (k) GROUP BY v", True),
        ("SELECT c, count(*) FROM s JOIN t USING (k) GROUP BY c", False),
        ("SELECT c, v + 1, count(*) FROM s JOIN t USING (k) GROUP BY c, v + 1", True),
        ("SELECT s.k, count(*) FROM s JOIN t ON s.k = t.k GROUP BY s.k", False),
        ("SELECT s.k, count(*) FROM s LEFT JOIN t ON s.k = t.k GROUP BY s.k", True),
        ("SELECT t.k, count(*) FROM s LEFT JOIN t ON s.k = t.k GROUP BY t.k", False),
        ("SELECT s.k, count(*) FROM t RIGHT JOIN s ON s.k = t.k GROUP BY s.k", True),
        ("SELECT t.k, count(*) FROM s FULL JOIN t ON s.k = t.k GROUP BY t.k", False),
        ("SELECT v, count(*) FROM s WHERE k IN (SELECT k FROM t) GROUP BY v", True),
        ("SELECT DISTINCT v FROM s WHERE NOT EXISTS (SELECT 1 FROM t WHERE k = s.k)", True),
        ("SELECT k, count(*) FROM s WHERE k IN (SELECT k FROM t) GROUP BY k", False),
        ("SELECT v, count(*) FROM s WHERE k > (SELECT max(k) FROM s) GROUP BY v", False),
        ("SELECT k FROM s UNION SELECT k FROM t", True),
    ],
)
def test_groups_of_a_streams_columns_grow(query: str, grows: bool) -> None:
    assert ("A102" in notes(query)) is grows


def test_an_object_says_it_once() -> None:
    twice = "SELECT n, count(*) FROM (SELECT v, count(*) AS n FROM s GROUP BY v) GROUP BY n"
    assert notes(twice).count("A102") == 1


def notes(query: str) -> list[str]:
    case = Case("", "", SETUP, f"CREATE MATERIALIZED VIEW m AS {query};", "", "", "")
    return [note.code for note in explanation(case).notes]
