"""Generated columns are not written: refused by name, left out by COPY … TO; RESET of options."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import floodmark
from floodmark.api import Floodmark
from floodmark.errors import FloodmarkError
from floodmark.sql.normalise import to_sql
from floodmark.sql.parse import parse_statement

pytestmark = pytest.mark.spark
TABLE = "(k INT PRIMARY KEY, v INT, g INT AS (v * 2), d INT DEFAULT 9)"


@pytest.fixture(scope="module")
def fm(tmp_path_factory: pytest.TempPathFactory, sessions: Any) -> Iterator[Floodmark]:
    """Yield a warehouse with a table that computes a column."""
    root = tmp_path_factory.mktemp("computed")
    with floodmark.connect(root / "w", sessions=lambda: sessions) as connection:
        connection.execute(f"CREATE TABLE t {TABLE}")
        connection.execute("CREATE TABLE o (k INT PRIMARY KEY, v INT)")
        connection.execute("INSERT INTO t (k, v) VALUES (1, 1), (2, NULL)")
        yield connection


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO t (k, g) VALUES (1, 2)",
        "UPDATE t SET g = 1",
        "CREATE SINK e INTO t (k, g) AS SELECT k, v FROM o",
        f"CREATE TABLE x {TABLE} ON CONFLICT DO UPDATE SET g = 1",
        "COPY t (k, g) FROM 'x.csv'",
    ],
)
def test_a_computed_column_is_not_written(fm: Floodmark, statement: str) -> None:
    with pytest.raises(FloodmarkError, match='"g" is computed') as raised:
        fm.execute(statement)
    assert raised.value.code == "E0707"
    with pytest.raises(FloodmarkError) as raised:
        fm.execute(statement.replace("g)", "nope)").replace("SET g", "SET nope"))
    assert raised.value.code == "E0206" and "g" not in (raised.value.hint or "").split(", ")


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_a_copied_table_is_copied_back(fm: Floodmark, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.{ending}"
    before = sorted(fm.execute("SELECT * FROM t").rows)
    fm.execute("BEGIN")
    try:
        header = " (header true)" if ending == "csv" else ""
        fm.execute(f"COPY t TO '{path}'{header}")
        fm.execute("DELETE FROM t")
        fm.execute(f"COPY t FROM '{path}'{header}")
        assert sorted(fm.execute("SELECT * FROM t").rows) == before
        fm.execute(f"COPY t (k, g) TO '{path}'")
    finally:
        fm.execute("ROLLBACK")


def test_options_are_taken_away(fm: Floodmark) -> None:
    fm.execute("CREATE TABLE aged (k INT PRIMARY KEY) WITH (ttl = '1 day', ttl_mode = 'delete')")
    fm.execute("INSERT INTO aged VALUES (1)")
    with pytest.raises(FloodmarkError, match="ttl_mode"):
        fm.execute("ALTER TABLE aged RESET (ttl)")
    with pytest.raises(FloodmarkError, match='"aged" has no option tl'):
        fm.execute("ALTER TABLE aged RESET (tl)")
    fm.execute("ALTER TABLE aged RESET (ttl, ttl_mode)")
    assert "ttl" not in fm.execute("SHOW CREATE TABLE aged").rows[0][-1]
    assert len(fm.execute("SELECT * FROM aged").rows) == 1


def test_they_are_printed_as_they_are_read() -> None:
    for text in ("ALTER TABLE aged RESET (ttl, ttl_mode)", "COPY t TO 'a.csv'"):
        assert to_sql(parse_statement(text)) == text


def test_a_statement_tells_of_rows_that_are_not_taken(fm: Floodmark) -> None:
    conflict = "ON CONFLICT DO UPDATE SET v = 100 / EXCLUDED.v"
    fm.execute(f"CREATE TABLE c (k INT PRIMARY KEY, v INT) {conflict}")
    assert fm.execute("INSERT INTO c VALUES (1, 1)").notices == ()
    told = fm.execute("INSERT INTO c VALUES (1, 0), (1, 2)").notices
    assert told == ("c has not taken 1 row: see c__dead_letter",)
    assert fm.execute("INSERT INTO c VALUES (2, 1)").notices == ()
