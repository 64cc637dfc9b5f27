"""`SET determinism`: written into the definitions that follow, in a session and in files."""

from __future__ import annotations

from pathlib import Path

import pytest

from floodmark.api import Floodmark, connect
from floodmark.errors import BindError, NotSupported
from floodmark.session.ddl.desired import read_files
from floodmark.sql import statements as s
from floodmark.sql.parse import parse_statement
from floodmark.stream.ndu import DeterminismMode, with_default

T = "CREATE TABLE t (k INT PRIMARY KEY, v INT);\n"
NOW = "CREATE MATERIALIZED VIEW {} AS SELECT k, now() AS at FROM t{};\n"


def _with(sql: str) -> s.Definition:
    statement = parse_statement(sql, "a.sql", line=7, column=3)
    assert isinstance(statement, s.Definition)
    return with_default(statement, DeterminismMode.FLINK)


@pytest.mark.parametrize(
    ("sql", "written"),
    [
        (
            "CREATE MATERIALIZED VIEW v AS SELECT 1 -- one",
            "CREATE MATERIALIZED VIEW v AS SELECT 1\nWITH (determinism = 'flink')",
        ),
        (
            "CREATE SINK k INTO t FROM v WITH (type = 'upsert')",
            "CREATE SINK k INTO t FROM v WITH (determinism = 'flink', type = 'upsert')",
        ),
    ],
)
def test_the_mode_is_written_into_the_text(sql: str, written: str) -> None:
    found = _with(sql)
    assert found.sql == written
    assert (found.span.line, found.span.column) == (7, 3)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE MATERIALIZED VIEW v AS SELECT 1 WITH (determinism = 'ignore')",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE t (k INT)",
    ],
)
def test_what_names_its_mode_or_has_none_stays(sql: str) -> None:
    assert _with(sql).sql == sql


def test_in_files_it_holds_for_what_follows(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text(T + NOW.format("a", "") + "SET determinism = 'ignore';")
    (tmp_path / "b.sql").write_text(NOW.format("b", "") + "SET determinism TO DEFAULT;")
    (tmp_path / "c.sql").write_text(NOW.format("c", ""))
    modes = [d.sql.count("ignore") for d in read_files(tmp_path).definitions]
    assert modes == [0, 0, 1, 0]


@pytest.fixture
def floodmark(tmp_path: Path) -> Floodmark:
    return connect(tmp_path / "warehouse")


def test_in_files_it_settles_the_verdict(tmp_path: Path, floodmark: Floodmark) -> None:
    file = tmp_path / "a.sql"
    file.write_text(T + NOW.format("v", ""))
    with pytest.raises(NotSupported, match="E0320"):
        floodmark.plan(tmp_path)
    file.write_text("SET determinism = 'ignore';\n" + T + NOW.format("v", ""))
    assert [c.key for c in floodmark.plan(tmp_path).changes] == ["t", "v"]
    file.write_text("SET determinism = 'loose';\n" + T)
    with pytest.raises(BindError, match="E0324") as wrong:
        floodmark.plan(tmp_path)
    assert wrong.value.span is not None and wrong.value.span.line == 1


def test_in_a_session_it_settles_what_explain_says(floodmark: Floodmark) -> None:
    explain = "EXPLAIN CREATE MATERIALIZED VIEW v AS SELECT now() AS at FROM (VALUES (1)) q(x)"
    assert floodmark.execute("SHOW determinism").rows == (("strict",),)
    floodmark.execute("SET determinism = 'flink'")
    assert floodmark.execute("SHOW determinism").rows == (("flink",),)
    assert floodmark.execute(explain).rows
    floodmark.execute("SET determinism TO DEFAULT")
    assert floodmark.execute("SHOW determinism").rows == (("strict",),)
    with pytest.raises(BindError, match="E0324"):
        floodmark.execute("SET determinism = 'loose'")


def test_explain_without_the_word_follows_it_too(floodmark: Floodmark) -> None:
    sql = (
        "CREATE MATERIALIZED VIEW v AS SELECT x, n, now() AS at "
        "FROM (SELECT x, count(*) AS n FROM (VALUES (1)) q(x) GROUP BY x) c"
    )
    with pytest.raises(NotSupported, match="E0320"):
        floodmark.explain(sql)
    floodmark.execute("SET determinism = 'ignore'")
    assert "A106" in str(floodmark.explain(sql))
