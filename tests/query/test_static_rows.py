"""When a table that promises never to change may change all the same."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from floodmark.errors import BindError
from floodmark.query import static_rows
from floodmark.query.query import Reader
from floodmark.query.static_rows import check_static
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.storage.stores.memory import MemoryStore
from floodmark.tables.cut import Cut
from tests.program_reference import compile_sql

SQL = """
CREATE TABLE t (pk INT PRIMARY KEY, k INT);
CREATE TABLE d (k INT, name VARCHAR) WITH (static = 'true');
CREATE MATERIALIZED VIEW m AS SELECT pk, k FROM t WHERE k > 0;
CREATE MATERIALIZED VIEW v AS
    SELECT m.pk, d.name FROM m JOIN d FOR SYSTEM_TIME AS OF PROCTIME() ON m.k = d.k;
"""
TWO = """
CREATE TABLE a (k BIGINT PRIMARY KEY);
CREATE TABLE b (k BIGINT PRIMARY KEY);
CREATE TABLE d (k BIGINT, name VARCHAR) WITH (static = 'true');
"""


def check(root: Path, sql: str, **positions: int) -> None:
    """Ask whether `d` may change after epoch 7."""
    pipeline = compile_sql(sql)
    records = {key: ObjectRecord(key, {}, position=at) for key, at in positions.items()}
    tables = SimpleNamespace(store=MemoryStore(root))
    reader = SimpleNamespace(tables=tables, pipeline=pipeline, cut=Cut(7, records))
    check_static(pipeline["d"], cast(Reader, reader), None)


def test_who_looks_up_may_be_behind(tmp_path: Path) -> None:
    # What it missed it will look up in the table as it was in those epochs.
    check(tmp_path, SQL, t=7, m=7, v=5)


def test_rows_of_what_is_behind_are_not_known_yet(tmp_path: Path) -> None:
    with pytest.raises(BindError, match="looks rows of m up in it, which is behind") as refused:
        check(tmp_path, SQL, t=7, m=5, v=5)
    assert refused.value.code == "E0237"


@pytest.mark.parametrize(
    ("left", "holding", "gives"),
    [
        ("a JOIN b ON a.k = b.k", "a", False),
        ("a JOIN b ON a.k = b.k", "ab", True),
        ("a LEFT JOIN b ON a.k = b.k", "b", False),
        ("a LEFT JOIN b ON a.k = b.k", "a", True),
        ("a FULL JOIN b ON a.k = b.k", "b", True),
        ("(SELECT k FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)) a", "a", True),
        ("(SELECT k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k)) a", "a", False),
        ("(SELECT k FROM a UNION ALL SELECT k FROM b) a", "b", True),
        ("(SELECT k FROM a EXCEPT SELECT k FROM b) a", "b", False),
        ("(SELECT k FROM a INTERSECT SELECT k FROM b) a", "b", False),
        ("(SELECT count(*) AS k FROM a) a", "", True),
        ("(SELECT k, count(*) FROM a GROUP BY k) a", "", False),
    ],
)
def test_what_is_looked_up_is_there_where_its_inputs_have_rows(
    left: str, holding: str, gives: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(static_rows, "_holds", lambda key, reader: key in holding)
    query = f"SELECT a.k FROM {left} JOIN d FOR SYSTEM_TIME AS OF PROCTIME() ON a.k = d.k"
    sql = f"{TWO}CREATE MATERIALIZED VIEW v AS {query};"
    if not gives:
        check(tmp_path, sql, a=7, b=7)
        return
    with pytest.raises(BindError, match="v has looked rows"):
        check(tmp_path, sql, a=7, b=7)
