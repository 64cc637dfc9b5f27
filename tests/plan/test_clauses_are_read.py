"""Statements of which a part was taken without being read, or ended in a traceback."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "sql"))
from planned_scripts import Planner

from floodmark.errors import FloodmarkError

TABLES = """
CREATE TABLE t (k INT PRIMARY KEY, v INT, s TEXT);
CREATE TABLE g (a INT, b INT AS (a + 1), c INT);
CREATE TABLE last (a INT);
"""
REFUSED = {
    "SELECT * EXCEPT (z) FROM t": "E0206",
    "SELECT * EXCEPT (k, k) FROM t": "E0135",
    "SELECT * EXCEPT (k, v, s) FROM t": "E0135",
    "SELECT t.* EXCEPT (a) FROM t CROSS JOIN g": "E0206",
    "SELECT t.* EXCEPT (g.a) FROM t CROSS JOIN g": "E0135",
    "SELECT k FROM t LIMIT 1e308": "E0343",
    "SELECT k FROM t LIMIT 1.5": "E0343",
    "SELECT k FROM t LIMIT 9223372036854775808": "E0343",
    "SELECT k FROM t OFFSET 99999999999999999999": "E0343",
    "INSERT INTO g VALUES (1, 5)": "E0707",
    "INSERT INTO g VALUES (1, 5, 6)": "E0233",
    "CREATE TABLE h (a INT, b INT AS (a + 1), c INT AS (b + 1))": "E0140",
    "ALTER TABLE last DROP COLUMN a": "E0833",
    "SELECT '\0'": "E0141",
    "SELECT E'\\0'": "E0141",
    "SELECT E'\\ud800'": "E0141",
    'CREATE TABLE "a\ud800" (a INT)': "E0141",
    "CREATE SOURCE s (a INT) WITH (connector = 'files', path = 'a\0b')": "E0141",
    'SELECT s FROM t ORDER BY s COLLATE "de_DE"': "E0860",
    "CREATE SINK x INTO last FROM g WITH (type = 'upsert') FORMAT PLAIN ENCODE JSON": "E0354",
    "SELECT v FROM t GROUP BY v HAVING v > 1 HAVING v < 3": "E0109",
    "SELECT v FROM t WINDOW w AS (ORDER BY v) WINDOW x AS (ORDER BY v)": "E0109",
    "DROP SCHEMA s": "E0341",
    "ALTER SCHEMA s RENAME TO r": "E0341",
    "ALTER AGGREGATE s RENAME TO r": "E0790",
    "SET timezone = 'Europe/Berlin'": "E0369",
    "SET timezone = 'local'": "E0369",
    "CREATE TABLE h (a INT, b TIMESTAMPTZ AS proctime())": "E0222",
    "WITH unread AS (SELECT z FROM t) SELECT k FROM t": "E0206",
}
TAKEN = (
    "SELECT * EXCEPT (k) FROM t",
    "SELECT l.* EXCEPT (k), r.* EXCEPT (r.v) FROM t AS l JOIN t AS r USING (k)",
    "INSERT INTO t VALUES (1, 2, 'x') RETURNING * EXCEPT (s)",
    "INSERT INTO g VALUES (1)",
    "INSERT INTO g (a, c) VALUES (1, 5)",
    "SELECT k FROM t ORDER BY k LIMIT 9223372036854775807",
    "SELECT k FROM t LIMIT 2.0",
    'SELECT s FROM t ORDER BY s COLLATE "C"',
    "SET timezone = 'UTC'",
    "SET timezone = DEFAULT",
)


@pytest.mark.parametrize("text", REFUSED)
def test_what_has_no_meaning_is_refused(text: str) -> None:
    with pytest.raises(FloodmarkError) as caught:
        Planner().script(TABLES + text)
    assert caught.value.code == REFUSED[text]
    assert "PROCTIME" not in caught.value.render()


@pytest.mark.parametrize("text", TAKEN)
def test_what_has_one_is_planned(text: str) -> None:
    Planner().script(TABLES + text)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE MATERIALIZED VIEW q AS SELECT k, s FROM t GROUP BY k",
        "CREATE TABLE h (a INT, b INT AS (a + 1), c INT AS (b + 1))",
        "CREATE MATERIALIZED VIEW q AS SELECT k, random() AS r FROM t WHERE random() > 0.5",
        "CREATE SINK q INTO t AS SELECT s FROM t",
        "CREATE TABLE t (a INT)",
    ],
)
def test_explain_refuses_what_create_refuses(statement: str) -> None:
    codes = []
    for text in (statement, f"EXPLAIN {statement}"):
        try:
            Planner().script(TABLES + text)
            codes.append(None)
        except FloodmarkError as error:
            codes.append(error.code)
    assert codes[0] == codes[1]
