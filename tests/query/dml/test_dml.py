"""What a statement may not say, and what it may not write."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from floodmark.api import connect
from floodmark.errors import BindError, FloodmarkError
from floodmark.query import dml

_SAME = """CREATE FUNCTION same(a INT, b INT) RETURNS BOOLEAN LANGUAGE python AS $$
def same(a, b):
    return a == b
$$"""


def test_a_null_array_is_no_value_of_a_not_null_column(tmp_path: Path) -> None:
    with connect(tmp_path / "warehouse") as fm:
        fm.execute(
            "CREATE TABLE t (k INT PRIMARY KEY, xs INT[] NOT NULL, ys INT[],"
            " s STRUCT<a INT> NOT NULL)"
        )
        target = fm.find("t")
    path = tmp_path / "rows.parquet"
    some = pa.array([[1, None], []])
    rows = {"k": [1, 2], "xs": some, "ys": pa.array([None, [1]]), "s": [{"a": None}, {"a": 1}]}
    pq.write_table(pa.table(rows), path)
    dml.check_rows(dml.count_nested_nulls([str(path)], target), target)
    pq.write_table(pa.table(rows | {"xs": pa.array([[1], None])}), path)
    with pytest.raises(BindError, match='column "xs"') as refused:
        dml.check_rows(dml.count_nested_nulls([str(path)], target), target)
    assert refused.value.code == "E0235"


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("INSERT INTO t VALUES ((SELECT max(k) FROM u))", "E0374"),
        ("UPDATE t SET (k, g) = (SELECT k FROM u)", "E0364"),
        ("DELETE FROM t WHERE k", "E0218"),
        ("DELETE FROM t WHERE 'perhaps'", "E0258"),
        ("DELETE FROM t WHERE count(*) > 1", "E0273"),
        ("UPDATE t SET g = row_number() OVER ()", "E0374"),
        ("INSERT INTO t SELECT t.k FROM t LEFT JOIN u ON same(t.g, u.k)", "E0355"),
        (
            "INSERT INTO t SELECT t.k FROM t LEFT JOIN u ON t.k = u.k AND t.g > u.k * random()",
            "E0355",
        ),
    ],
)
def test_what_a_statement_may_not_say(tmp_path: Path, statement: str, code: str) -> None:
    with connect(tmp_path / "warehouse") as fm:
        fm.execute("CREATE TABLE t (k INT PRIMARY KEY, g INT)")
        fm.execute("CREATE TABLE u (k INT PRIMARY KEY)")
        fm.execute(_SAME)
        with pytest.raises(FloodmarkError) as refused:
            fm.execute(statement)
        assert refused.value.code == code


def test_a_column_that_is_not_there_is_pointed_at(tmp_path: Path) -> None:
    with connect(tmp_path / "warehouse") as fm:
        fm.execute("CREATE TABLE t (k INT PRIMARY KEY, g INT)")
        with pytest.raises(BindError, match='column "z"') as refused:
            fm.execute("INSERT INTO t (k, z) VALUES (1, 2)")
    span = refused.value.span
    assert span is not None and (span.text, span.column) == ("z", 19)


def test_the_selected_value_that_a_column_does_not_hold_is_pointed_at(tmp_path: Path) -> None:
    with connect(tmp_path / "warehouse") as fm:
        fm.execute("CREATE TABLE t (k INT PRIMARY KEY, g INT)")
        with pytest.raises(BindError) as refused:
            fm.execute("INSERT INTO t SELECT k, upper('x') FROM t")
        with pytest.raises(BindError) as starred:
            fm.execute("INSERT INTO t SELECT *, upper('x') FROM (SELECT k FROM t) AS q")
    assert refused.value.code == starred.value.code == "E0247"
    span, whole = refused.value.span, starred.value.span
    assert span is not None and (span.text, span.column) == ("upper('x')", 25)
    assert whole is not None and whole.text.startswith("INSERT INTO t SELECT *")
