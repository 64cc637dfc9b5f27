from __future__ import annotations

import pytest

from floodmark.errors import FloodmarkError
from floodmark.sql.parse import parse_script, parse_statement

# (text, code, what the caret stands under, a piece of the message or hint)
MALFORMED = [
    ("SELECT a,, b FROM t", "E0101", ",", "an element is missing between two commas"),
    ("SELECT a, FROM t", "E0101", "FROM", "remove the comma"),
    ("SELECT FROM t", "E0106", "SELECT", "SELECT has no elements"),
    ("SELECT", "E0106", "SELECT", "no elements"),
    ("SELECT a FROM t GROUP BY", "E0106", "GROUP BY", "GROUP BY has no elements"),
    ("SELECT a FROM t GROUP BY HAVING a", "E0106", "GROUP BY", "GROUP BY has no elements"),
    ("SELECT a FROM t ORDER BY LIMIT 1", "E0106", "ORDER BY", "ORDER BY has no elements"),
    ("SELECT a FROM t GROUP a", "E0101", "a", "expected BY"),
    ("SELECT a FROM t WHERE", "E0101", "", "end of the statement"),
    ("SELECT a FROM t WHERE a == 1", "E0101", "==", "equality is a single ="),
    ("SELECT a FROM t WHERE a = = 1", "E0101", "=", "equality is a single ="),
    ("SELECT a FROM t WHERE a < b < c", "E0101", "<", "a < b AND b < c"),
    ("SELECT a FROM t WHERE a = 1 WHERE b = 2", "E0109", "WHERE", "AND"),
    ("SELECT a FROM t GROUP BY a WHERE b", "E0114", "WHERE", "HAVING"),
    ("SELECT a FORM t", "E0101", "t", "did you mean FROM"),
    ("SELCT a FROM t", "E0121", "SELCT", "did you mean SELECT?"),
    ("SELECT a b c FROM t", "E0101", "c", "expected the end"),
    ("SELECT (a + 1 FROM t", "E0101", "FROM", 'expected )'),
    ("SELECT a) FROM t", "E0101", ")", "parenthesis"),
    ("SELECT f(a, ) FROM t", "E0101", ")", "remove the comma"),
    ("SELECT a FROM", "E0101", "", "a table name"),
    ("SELECT a FROM t JOIN u", "E0115", "JOIN u", "ON condition"),
    (
        "SELECT a FROM t JOIN (SELECT 1) FOR SYSTEM_TIME AS OF PROCTIME() x ON t.a = x.a",
        "E0115", "JOIN (SELECT 1)", "FOR SYSTEM_TIME",
    ),
    ("CREATE SINK k INTO t WITH (type = 'upsert') FROM v", "E0101", "WITH", "options come last"),
    ("SELECT a FROM t LIMIT 1 LIMIT 2", "E0109", "LIMIT", "twice"),
    ("SELECT a FROM t, WHERE a", "E0101", "WHERE", "remove the comma"),
    ("SELECT CASE WHEN a THEN 1 FROM t", "E0101", "FROM", "END"),
    ("SELECT CASE a END FROM t", "E0101", "END", "WHEN"),
    ("SELECT a BETWEEN 1 FROM t", "E0101", "FROM", "two bounds"),
    ("SELECT 'abc FROM t", "E0102", "'abc FROM t", "unterminated string"),
    ('SELECT "abc FROM t', "E0102", '"abc FROM t', "unterminated name"),
    ("SELECT 1 /* abc", "E0102", "/* abc", "unterminated comment"),
    ("SELECT $$abc", "E0102", "$$", "unterminated string"),
    ("SELECT `a` FROM t", "E0103", "`", "double quotes"),
    ("SELECT ‘a’ FROM t", "E0103", "‘", "write '"),
    ("SELECT 1abc FROM t", "E0104", "1abc", "a letter follows a number"),
    ("ALTER TABLE t ALTER COLUMN c TYPE BIGINT", "E0853", None, "UPDATE … SET it = c::…"),
    ("ALTER TABLE t ALTER c SET DATA TYPE BIGINT", "E0853", None, 'the type of the column "c"'),
    ("ALTER TABLE t ALTER c SET DEFAULT 3", "E0853", None, 'the DEFAULT of the column "c"'),
    ("ALTER TABLE t ALTER c DROP NOT NULL", "E0853", None, 'whether "c" can be NULL'),
    ("ALTER TABLE t ALTER COLUMN c", "E0101", "", "TYPE, SET or DROP"),
    ("ALTER TABLE t ADD c INT, RENAME d TO e", "E0101", "RENAME", "an ALTER of its own"),
    ("ALTER TABLE t RENAME d TO e, ADD c INT", "E0101", ",", "an ALTER of its own"),
    ("ALTER TABLE t ADD PRIMARY KEY (c)", "E0101", "PRIMARY", "create another table"),
    ("DROP TABLE a, ", "E0101", "", "name"),
    ("SELECT 1;; SELECT 2", "E0105", ";", "empty statement"),
    ("SELECT 1 SELECT 2", "E0101", "SELECT", "semicolon"),
    ("CREATE VIEW v SELECT 1", "E0101", "SELECT", "CREATE VIEW name AS SELECT"),
    ("CREATE VIEW v AS", "E0101", "", "a query"),
    ("CREATE VIEW v AS SELECT 1 EMIT ON WINDOW CLOSE", "E0101", "EMIT", "materialized view"),
    ("SELECT 1 FROM t EMIT ON WINDOW CLOSE", "E0101", "EMIT", "materialized view"),
    ("CREATE MATERIALIZED VIEW v AS SELECT 1 EMIT ON", "E0101", "", "expected WINDOW"),
    ("CREATE TABLE t (a FOO)", "E0113", "FOO", 'no type "FOO"'),
    ("CREATE TABLE t (a VARCHR)", "E0113", "VARCHR", "varchar"),
    ("CREATE TABLE t (a INT b INT)", "E0101", "b", "comma is missing"),
    ("CREATE TABLE t (a INT, a TEXT)", "E0126", "a TEXT", "named twice"),
    ("CREATE TABLE t (a INT,)", "E0101", ")", "remove the comma"),
    ("CREATE TABLE t (a INT", "E0101", "", "expected )"),
    ("CREATE TABLE t", "E0101", "", "columns in parentheses"),
    ("CREATE TABLE t (a INT, PRIMARY KEY (b))", "E0125", "PRIMARY KEY (b)", "no column"),
    ("CREATE TABLE t (a INT PRIMARY KEY, PRIMARY KEY (a))", "E0118", "PRIMARY KEY (a)", "twice"),
    ("CREATE TABLE t (a INT) ON CONFLICT DO NOTHING ON CONFLICT IGNORE", "E0118",
     "ON CONFLICT IGNORE", "CONFLICT is given twice"),
    ("CREATE TABLE t (a INT) ON CONFLICT", "E0101", "", "DO NOTHING"),
    ("CREATE TABLE t (a INT) WITH (x = 1, x = 2)", "E0118", "x = 2", "twice"),
    ("CREATE TABLE t (a INT) WITH (x 1)", "E0101", "1", "name = 'value'"),
    ("CREATE TABLE t (__x INT)", "E0127", "__x INT", "hidden"),
    ("CREATE TABLE t__late (a INT)", "E0128", "t__late", "companions"),
    ('CREATE TABLE "a/b" (a INT)', "E0129", '"a/b"', "cannot be stored"),
    ("CREATE TABLE " + "x" * 201 + " (a INT)", "E0129", "x" * 201, "longer than 200"),
    ('CREATE TABLE "" (a INT)', "E0108", '""', "no characters"),
    ("CREATE TABLE select (a INT)", "E0101", "select", "keyword"),
    ("CREATE TABLE t (a INT UNIQUE)", "E0393", "UNIQUE", "PRIMARY KEY"),
    ("CREATE TABLE t (a INT NULL NOT NULL)", "E0155", "NOT", "leave NULL out"),
    ("CREATE TABLE t (a INT PRIMARY KEY NULL)", "E0155", "NULL", "leave NULL out"),
    ("CREATE TABLE t (a INT GENERATED ALWAYS AS IDENTITY)", "E0393", "GENERATED", "random_uuid"),
    ("CREATE TABLE t (a INT GENERATED BY DEFAULT AS IDENTITY)", "E0393", "GENERATED", "IDENTITY"),
    ("CREATE TABLE t (a INT) AS SELECT 1", "E0119", "(a INT)", "without types"),
    ("CREATE TABLE a.b.c (a INT)", "E0116", "a.b.c", "schema"),
    ("CREATE TABLE t (a INT DEFAULT 1 AS (2))", "E0124", "a INT DEFAULT 1 AS (2)", "default"),
    ("CREATE TABEL t (a INT)", "E0101", "TABEL", "TABLE"),
    ("CREATE SINK k SELECT 1", "E0101", "SELECT", "CREATE SINK k INTO"),
    ("CREATE FUNCTION f(int) RETURNS int AS 'x'", "E0120", "'x'", "LANGUAGE"),
    ("SELECT * FROM TUMBLE(s, ts)", "E0117", "TUMBLE(s, ts)", "size"),
    ("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a))", "E0392", "MATCH_RECOGNIZE", "not available"),
    ("SELECT * FROM GAP_FILL(t, ts, INTERVAL '1' DAY)", "E0392", "GAP_FILL", "not available"),
    ("SELECT * FROM t FOR UPDATE", "E0391", "FOR", "row locks"),
    ("MERGE INTO t USING u ON a", "E0394", "MERGE", "ON CONFLICT"),
    ("REFRESH MATERIALIZED VIEW v", "E0394", "REFRESH", "FLUSH"),
    ("CREATE TEMP TABLE t (a INT)", "E0394", "TEMP", "CREATE TEMP is not available"),
    ("DROP SEQUENCE s", "E0394", "SEQUENCE", "gen_random_uuid"),
    ("ALTER DATABASE d RENAME TO e", "E0394", "DATABASE", "--warehouse"),
    ("INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING", "E0395", "ON", "table"),
    ("UPDATE t a = 1", "E0101", "=", "SET"),
    ("UPDATE t SET a = 1, a = 2", "E0126", "a = 2", "named twice"),
    ("DELETE t WHERE a", "E0101", "t", "DELETE FROM"),
    ("DROP t", "E0101", "t", "kind of object"),
    ("SET x", "E0101", "", "SET name = value"),
    ("SELECT a IS 5 FROM t", "E0101", "5", "NULL, TRUE"),
    ("SELECT " + "(" * 80 + "1" + ")" * 80, "E0111", "(", "levels of nesting"),
    ("SELECT " + " + ".join("1" * 400), "E0112", None, "chain"),
    ("WITH x AS SELECT 1 SELECT 2", "E0101", "SELECT", "expected ("),
    ("EXPLAIN (FORMAT XML) SELECT 1", "E0101", "XML", "JSON"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "code", "place", "said"), MALFORMED, ids=[f"{m[1]}-{m[0][:40]}" for m in MALFORMED]
)
def test_malformed(text: str, code: str, place: str | None, said: str) -> None:
    with pytest.raises(FloodmarkError) as caught:
        parse_script(text, "pipelines/x.sql")
    error = caught.value
    assert error.code == code, error.render()
    assert error.span is not None
    if place is not None:
        assert error.span.text == place, error.render()
    assert said in error.render()


def test_the_place_is_told_by_line_and_column() -> None:
    with pytest.raises(FloodmarkError) as caught:
        parse_script("SELECT 1;\n\nSELECT a,\n  , b FROM t", "pipelines/x.sql")
    assert "pipelines/x.sql:4:3" in caught.value.render()


def test_a_statement_alone() -> None:
    with pytest.raises(FloodmarkError, match="expected one statement, found 2"):
        parse_statement("SELECT 1; SELECT 2")
    for nothing in ("", "  -- nothing\n"):
        with pytest.raises(FloodmarkError, match="there is no statement"):
            parse_statement(nothing)
