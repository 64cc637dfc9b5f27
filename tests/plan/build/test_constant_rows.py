"""Long lists of constants in VALUES: the same rows as if each were read on its own."""

import itertools
from datetime import datetime
from typing import Any

import pytest

from floodmark.errors import FloodmarkError
from floodmark.limits import LIMITS
from floodmark.plan import nodes as n
from floodmark.plan.build.builder import build_query
from floodmark.plan.expr.evaluate import evaluate
from floodmark.plan.expr.expressions import Expr
from floodmark.scalar.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    JSONB,
    REAL,
    SMALLINT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    VARCHAR,
    SqlType,
    list_of,
    numeric,
)
from floodmark.sql import statements as s
from floodmark.sql.nodes import ConstantRows
from floodmark.sql.normalise import to_sql
from floodmark.sql.parse import parse_script, parse_statement

TYPES = (
    SMALLINT, INT, BIGINT, REAL, DOUBLE, numeric(5, 2), numeric(38, 10), VARCHAR, BOOLEAN, DATE,
    TIME, TIMESTAMP, TIMESTAMPTZ, INTERVAL, JSONB, UUID, list_of(INT),
)  # fmt: skip
CELLS = (
    "0", "007", "-7", "+7", "- 7", "40000", "-32768", "3000000000", "9223372036854775808", "1_000",
    "1.50", "-0.0", "0.005", "-1.005", "123456.789", "1e3", "2.5E-1", ".5", "5.", "1 + 2", "6 / 4",
    "12345678901234567890123456789012345678901", "1e300", "-1e400", "1e-400",
    "NULL", "null", "TRUE", "false", "1 < 2",
    "'a'", "'it''s'", "''", "' 12 '", "'1.5'", "'t'", "'NaN'", "'a,b)(;--c'",
    "E'a\\'b'", "'a' || 'b'",
    "'2024-02-29'", "'2024-02-30'", "'2024-2-3 4:05:06.7'", "'2024-01-01 00:00:00+02'", "'10:20'",
    "DATE '2024-01-01'", "date'2024-01-01'", "TIMESTAMP '2024-01-01 01:02:03'",
    "timestamp with time zone '2024-01-01 01:02:03+01'", "TIME '23:59:59.999999'",
    "TIMESTAMP '2024-13-01'", "INTERVAL '1' DAY", "INTERVAL '90 minutes'",
    "'{\"b\": 1, \"a\": [2]}'",
    "'0b8c6a70-6f0d-4d0e-9d0a-1b2c3d4e5f60'", "'{1, 2}'", "'7'::int", "7::text", "DEFAULT",
)  # fmt: skip


def built(values: str, types: tuple[SqlType, ...]) -> list[tuple[Any, ...]] | tuple[str, str]:
    """Return the values of an INSERT, or the code of its error and the text that it points at."""
    text = f"INSERT INTO t VALUES {values}"
    try:
        statement = parse_statement(text)
        assert isinstance(statement, s.Insert)
        node = build_query(statement.query, {}, statement.span, given=types)
    except FloodmarkError as problem:
        span = problem.span
        return problem.code, "" if span is None else span.text or ""
    assert isinstance(node, n.Values)
    return [tuple(valued(e) for e in row[:-1]) for row in node.rows]


def valued(expr: Expr) -> tuple[SqlType, str]:
    """Return the type of an expression, and its value or error; 0.0 is told from -0.0."""
    return expr.type, repr(evaluate(expr, {}, datetime(2024, 1, 1)))


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_a_cell_is_what_it_is_alone(type_: SqlType) -> None:
    for cell in CELLS:
        alone = built(f"({cell})", (type_,))
        among = built(", ".join(itertools.repeat(f"({cell})", LIMITS.constant_rows)), (type_,))
        assert among == (alone if isinstance(alone, tuple) else alone * LIMITS.constant_rows), cell


def test_what_is_wrong_is_pointed_at_where_it_is() -> None:
    rows = [f"({i}, 'x{i}')" for i in range(2 * LIMITS.constant_rows)]
    rows[137] = "(137, 'x),(' ,  'three')"
    assert built(",\n".join(rows), (INT, VARCHAR))[0] == "E0215"
    rows[137] = "( 'x),(' , 'b')"
    assert built(",\n".join(rows), (INT, VARCHAR)) == ("E0258", "'x),('")
    rows[137] = "(137, 1 +)"
    assert built(",\n".join(rows), (INT, VARCHAR))[0] == "E0101"


def test_rows_of_more_values_than_columns_have_their_own_types() -> None:
    found = built(", ".join("(1, 'a', 2.5)" for _ in range(LIMITS.constant_rows)), (INT,))
    assert isinstance(found, list)
    assert found[0] == built("(1, 'a', 2.5)", (INT,))[0]


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("INSERT INTO t VALUES {rows}", True),
        ("INSERT INTO t VALUES {rows};", True),
        ("INSERT INTO t VALUES {rows} RETURNING a", True),
        ("INSERT INTO t VALUES {rows} UNION ALL SELECT 1, 'b'", False),
        ("INSERT INTO t VALUES {rows}, (now(), 'b')", False),
        ("INSERT INTO t VALUES /* 1 */ {rows}", True),
        ("INSERT INTO t VALUES {rows}, -- the last\n(7, 'b')", False),
        ("INSERT INTO t SELECT * FROM (VALUES {rows}) AS v (a, b)", False),
        ("SELECT * FROM (VALUES {rows}) AS v (a, b)", False),
        ("VALUES {rows}", False),
        ("CREATE VIEW v AS SELECT * FROM (VALUES {rows}) AS v (a, b)", False),
    ],
)
def test_only_the_values_of_an_insert_are_taken_whole(text: str, whole: bool) -> None:
    rows = ", ".join(f"({i}, 'b''s')" for i in range(LIMITS.constant_rows))
    (statement,) = parse_script(text.format(rows=rows))
    query = getattr(statement, "query", None)
    assert query is not None
    assert any(isinstance(e, ConstantRows) for e in query.walk()) is whole
    assert parse_statement(to_sql(statement)) is not None


def test_statements_before_and_behind_are_read() -> None:
    rows = ",\n".join(f"({i})" for i in range(LIMITS.constant_rows))
    found = parse_script(f"SELECT 1;\nINSERT INTO t VALUES {rows};\nSELECT 'b'")
    assert [type(one).__name__ for one in found] == ["Select", "Insert", "Select"]
    assert found[2].span.line == LIMITS.constant_rows + 2
