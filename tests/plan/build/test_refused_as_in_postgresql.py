"""What PostgreSQL refuses when it reads a query is refused here when it is planned, by a code."""

from __future__ import annotations

import pytest

from floodmark.errors import FloodmarkError
from floodmark.plan.build.builder import build_query
from floodmark.sql.parse import parse_statement
from floodmark.sql.statements import Select

ONE = "(VALUES (1, 'a', ARRAY[1], true)) AS t(n, s, l, p)"


def _code_of(text: str) -> str:
    try:
        statement = parse_statement(text)
        assert isinstance(statement, Select)
        build_query(statement.query, {}, statement.span)
    except FloodmarkError as problem:
        return problem.code
    return ""


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT 1__000", "E0104"),
        ("SELECT 1000_", "E0104"),
        ("SELECT 1_.5", "E0104"),
        (r"SELECT E'\U00110000'", "E0141"),
        (r"SELECT E'\U7fffffff'", "E0141"),
        (r"SELECT E'\ud83dx\ude00'", "E0141"),
        ("SELECT ARRAY[[1, 2], [3]]", "E0148"),
        ("SELECT ARRAY[[[1], [2]], [[1, 2], [3, 4]]]", "E0148"),
        ("SELECT ARRAY[[1], NULL]", "E0148"),
        (f"SELECT ARRAY[ARRAY[n], ARRAY[n, n]] FROM {ONE}", "E0148"),
        ("WITH r AS (SELECT 1), r AS (SELECT 2) SELECT * FROM r", "E0149"),
        ("WITH r AS (SELECT 1), q AS (SELECT 1), R AS (SELECT 2) SELECT 1", "E0149"),
        *(
            (f"SELECT s {like} {pattern} ESCAPE 'xx' FROM {ONE}", "E0253")
            for like in ("LIKE", "NOT LIKE", "ILIKE", "SIMILAR TO")
            for pattern in ("'a'", "s")
            if like != "SIMILAR TO" or pattern != "s"
        ),
        (f"SELECT format('%99999999999s', n) FROM {ONE}", "E0288"),
        (f"SELECT format('%10000001s', n) FROM {ONE}", "E0288"),
        (f"SELECT format('%99999999999$s', n) FROM {ONE}", "E0288"),
        *(
            (f"SELECT 1 FROM {ONE} {join} {ONE.replace('t(', 'u(')} ON {on}", code)
            for join in ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
            for on, code in (("1", "E0218"), ("t.n", "E0218"), ("'x'", "E0258"))
        ),
        *(
            (text.format(condition), code)
            for text in (f"SELECT 1 FROM {ONE} WHERE {{}}", "SELECT 1 HAVING {}")
            for condition, code in (("1", "E0218"), ("'x'", "E0258"))
        ),
    ],
)
def test_it_is_refused(text: str, code: str) -> None:
    assert _code_of(text) == code


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1_000_000, 1_0.5",
        r"SELECT E'\U0010ffff', E'\ud83d\ude00'",
        "SELECT ARRAY[[1, 2], [3, NULL]], ARRAY[[[1]], [[2]]], ARRAY['{1,2}', ARRAY[3]]",
        f"SELECT ARRAY[ARRAY[n, 2], l] FROM {ONE}",
        "WITH r AS (SELECT 1), q AS (WITH r AS (SELECT 2) SELECT * FROM r) SELECT * FROM r, q",
        f"SELECT 1 FROM {ONE} JOIN {ONE.replace('t(', 'u(')} ON 'yes'",
        f"SELECT 1 FROM {ONE} LEFT JOIN {ONE.replace('t(', 'u(')} ON NULL",
        f"SELECT 1 FROM {ONE} WHERE 'on'",
        f"SELECT s LIKE s ESCAPE '', format('%9999999s', s) FROM {ONE}",
    ],
)
def test_it_is_read(text: str) -> None:
    assert _code_of(text) == ""


def test_two_halves_of_a_character_are_one() -> None:
    statement = parse_statement(r"SELECT E'\ud83d\ude00'")
    assert isinstance(statement, Select)
    assert statement.query.expressions[0].name == "\U0001f600"
