"""Statements of which a part was taken without being read, or ended in a traceback."""

from __future__ import annotations

import pytest

from floodmark.errors import FloodmarkError
from tests.sql.planned_scripts import Planner

TABLES = """
CREATE TABLE t (k INT PRIMARY KEY, v INT, s TEXT);
CREATE TABLE g (a INT, b INT AS (a + 1), c INT);
CREATE TABLE last (a INT);
CREATE FUNCTION plus(p INT) RETURNS INT LANGUAGE sql AS 'p + 1';
CREATE AGGREGATE middle(INT) RETURNS INT LANGUAGE python AS 'statistics.median';
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
    "INSERT INTO g VALUES (1, DEFAULT, 5), (2, 3, 4)": "E0707",
    f"INSERT INTO g VALUES {', '.join(['(1, DEFAULT, 5)'] * 200)}, (1, 2, 3)": "E0707",
    "UPDATE g SET b = 1": "E0707",
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
    "SELECT sum(v) OVER () FROM t WINDOW unread AS (PARTITION BY z)": "E0206",
    "SELECT rank(*) OVER (ORDER BY k) FROM t": "E0274",
    "SELECT count() FROM t": "E0274",
    "SELECT INTERVAL '1-2' SECOND TO MONTH": "E0137",
    "SELECT * FROM t CROSS JOIN g ON t.k = g.a": "E0101",
    "SELECT * FROM t NATURAL JOIN g USING (k)": "E0101",
    "SELECT * FROM t NATURAL CROSS JOIN g": "E0101",
    "SELECT * FROM generate_series(1, 2) FOR SYSTEM_TIME AS OF proctime()": "E0333",
    "SELECT 1 FROM t JOIN last FOR SYSTEM_TIME AS OF proctime() JOIN g ON true ON k = 1": "E0333",
    "SELECT now()::timestamp(4)": "E0144",
    "SELECT ARRAY[s]::varchar(3)[] FROM t": "E0144",
    "CREATE TABLE h (a TIMESTAMP(18, 2))": "E0143",
    "CREATE TABLE h (a VARCHAR(0))": "E0143",
    "CREATE TABLE h (a FLOAT(100))": "E0143",
    "CREATE TABLE h (CONSTRAINT c a INT)": "E0101",
    "CREATE TABLE h (d) AS SELECT 1 AS c, 2 AS d": "E0145",
    "CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE sql AS 'x' WITH (a = 1)": "E0861",
    "DROP FUNCTION middle": "E0203",
    "DROP AGGREGATE plus": "E0203",
    "DROP FUNCTION plus(TEXT)": "E0146",
    "SHOW CREATE VIEW t": "E0203",
    "DESCRIBE VIEW t": "E0203",
    "EXPLAIN SOURCE t": "E0203",
    "EXPLAIN (CHANGELOG) t": "E0101",
    "EXPLAIN (STATE) SELECT 1": "E0368",
    "SET LOCAL retention = '3 days'": "E0101",
    "CREATE SOURCE h (a INT) WITH (connector = 'files', path = 'p') "
    "FORMAT PLAIN ENCODE JSON (delimiter = ';')": "E0138",
    "CREATE SOURCE h (a INT) WITH (connector = 'files', path = 'p', csv.null = '-') "
    "FORMAT PLAIN ENCODE CSV (null = 'x')": "E0138",
    "CREATE SOURCE h (a INT PRIMARY KEY) APPEND ONLY WITH (connector = 'files', path = 'p') "
    "FORMAT UPSERT ENCODE JSON": "E0139",
    "CREATE SOURCE h (a INT) WITH (connector = 'files', path = '{table}') FORMAT PLAIN "
    "ENCODE JSON FOR TABLES (b (PRIMARY KEY (a)))": "E0142",
    "CREATE SINK h FROM last WITH (connector = 'delta', path = 'd', type = 'retract') "
    "FORMAT PLAIN ENCODE CSV": "E0723",
}
TAKEN = (
    "SELECT * EXCEPT (k) FROM t",
    "SELECT l.* EXCEPT (k), r.* EXCEPT (r.v) FROM t AS l JOIN t AS r USING (k)",
    "INSERT INTO t VALUES (1, 2, 'x') RETURNING * EXCEPT (s)",
    "INSERT INTO g VALUES (1)",
    "INSERT INTO g (a, c) VALUES (1, 5)",
    "INSERT INTO g VALUES (1, DEFAULT, 5), (2, DEFAULT, DEFAULT)",
    "INSERT INTO g (b, a) VALUES (DEFAULT, 1)",
    "INSERT INTO g (b) VALUES (DEFAULT)",
    f"INSERT INTO g VALUES {', '.join(['(1, DEFAULT, 5)'] * 200)}",
    "UPDATE g SET b = DEFAULT, a = 2",
    "SELECT k FROM t ORDER BY k LIMIT 9223372036854775807",
    "SELECT k FROM t LIMIT 2.0",
    'SELECT s FROM t ORDER BY s COLLATE "C"',
    "SET timezone = 'UTC'",
    "SET timezone = DEFAULT",
    "SELECT * FROM t JOIN g CROSS JOIN last ON t.k = g.a",
    "DROP FUNCTION plus(INT)",
    "DESCRIBE TABLE t",
    "EXPLAIN TABLE t",
    "SET SESSION retention = '3 days'",
    "CREATE SOURCE h (a INT) WITH (connector = 'files', path = 'p') "
    "FORMAT PLAIN ENCODE CSV (delimiter = ';')",
)


@pytest.mark.parametrize("text", REFUSED)
def test_what_has_no_meaning_is_refused(text: str) -> None:
    with pytest.raises(FloodmarkError) as caught:
        Planner().script(TABLES + text)
    assert caught.value.code == REFUSED[text]
    assert "PROCTIME" not in caught.value.render() or "SYSTEM_TIME" in text


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


@pytest.mark.parametrize("text", ["CREATE SCHEMA s", "DROP SCHEMA s", "ALTER SCHEMA s RENAME TO r"])
def test_a_statement_about_a_schema_is_named_whole(text: str) -> None:
    with pytest.raises(FloodmarkError) as refused:
        Planner().script(text)
    assert refused.value.message.startswith(" ".join(text.split()[:2]))
    assert "s.t" in (refused.value.hint or "")


def test_a_renamed_column_has_its_new_name_in_all_clauses_of_an_index() -> None:
    planner = Planner()
    planner.script(
        "CREATE TABLE t (a INT, b INT); "
        "CREATE INDEX i ON t (a) INCLUDE (b) DISTRIBUTED BY (a); "
        "ALTER TABLE t RENAME COLUMN a TO c"
    )
    (index,) = (o for o in planner.deployed.catalog.objects.values() if o.key.endswith("i"))
    assert "DISTRIBUTED BY (c)" in index.text and "(a)" not in index.text
