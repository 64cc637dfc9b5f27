"""Statements that look and change nothing: SHOW, EXPLAIN of what is there, SET, RESUME of nothing.

None of them needs Spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from floodmark.api import Floodmark, connect
from floodmark.errors import NotSupported, UserError
from floodmark.warehouse.suspensions import resume_command


@pytest.fixture
def fm(tmp_path: Path) -> Iterator[Floodmark]:
    with connect(tmp_path / "warehouse") as floodmark:
        floodmark.execute_script(
            "CREATE TABLE t (a INT PRIMARY KEY); CREATE TABLE ta_b (a INT PRIMARY KEY);"
            "CREATE INDEX i ON t (a); CREATE MATERIALIZED VIEW v AS SELECT a FROM t"
        )
        yield floodmark


def _names(fm: Floodmark, sql: str) -> list[object]:
    return [row[0] for row in fm.execute(sql).rows]


def test_show_names_what_it_is_asked_for(fm: Floodmark) -> None:
    assert _names(fm, "SHOW TABLES") == ["t", "ta_b"]
    assert _names(fm, "SHOW TABLES LIKE 'ta\\_%'") == ["ta_b"]
    assert _names(fm, "SHOW TABLES FROM elsewhere") == []
    assert _names(fm, "SHOW INDEXES") == ["i"]
    assert sorted(map(str, _names(fm, "SHOW OBJECTS"))) == ["i", "t", "ta_b", "v"]
    with pytest.raises(NotSupported, match="SHOW JOBS") as refused:
        fm.execute("SHOW JOBS")
    assert refused.value.code == "E0382"
    with pytest.raises(UserError) as unknown:
        fm.execute("SHOW CREATE MATERIALIZED VIEW nothing_like_it")
    assert unknown.value.hint == "SHOW OBJECTS lists what exists"


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("CREATE SCHEMA s", "CREATE SCHEMA changes nothing"),
    ],
)
def test_a_statement_that_does_not_run_is_named_in_sql(fm: Floodmark, sql: str, said: str) -> None:
    with pytest.raises(NotSupported, match=said):
        fm.execute(sql)


def test_explain_state_lists_what_is_at_rest(fm: Floodmark) -> None:
    fm.execute("CREATE MATERIALIZED VIEW d AS SELECT count(DISTINCT a + 1) AS n FROM t")
    plain, listed = (_names(fm, sql) for sql in ("EXPLAIN d", "EXPLAIN (STATE) d"))
    assert listed[: len(plain)] == plain
    tables = [" ".join(str(line).split()) for line in listed[len(plain) + 2 :]]
    assert tables[0].startswith("_rows/public/d rows, accumulators its changes 1 ")
    assert "_state/public/d/r1_values0 distinct values of r1 _counted the value's end - -" in tables
    sizes = {t.table: t.rows for t in fm.sizes("d")}
    assert sizes["_rows/public/d"] == 1 and sizes["_state/public/d/r1_values0"] is None
    (text,) = zip(*fm.execute("EXPLAIN (FORMAT JSON, STATE) d").rows, strict=True)
    assert json.loads("\n".join(text))["tables"][0]["cleaned_by"] == "its changes"
    with pytest.raises(NotSupported, match="takes the name of an object"):
        fm.execute("EXPLAIN (STATE) SELECT 1 AS a")


def test_explain_has_three_forms(fm: Floodmark) -> None:
    page = fm.explain("v").to_html()
    assert "\n".join(map(str, _names(fm, "EXPLAIN (FORMAT HTML) v"))) == page
    assert page.startswith("<pre") and "r0 := Table t" in page


def test_a_setting_that_nothing_follows_from_is_said_to_be_one(fm: Floodmark) -> None:
    assert fm.execute("SHOW retention").rows == (("7 days",),)
    fm.execute("SET retention = '2 days'")
    shown = dict(fm.execute("SHOW ALL").rows)
    assert shown == {
        "retention": "2 days",
        "max_clock_jump": "1 day",
        "max_due_rows": "1000000",
        "determinism": "strict",
        "partitions": "day",
        "plan_nodes": "40000",
        "query_timeout": "10 minutes",
    }
    fm.execute("SET retention = DEFAULT")
    assert fm.retention.days == 7
    (notice,) = fm.execute("SET retantion = '1 day'").notices
    assert notice == "nothing follows from retantion here"
    with pytest.raises(NotSupported) as refused:
        fm.execute("SHOW retantion")
    assert (refused.value.code, refused.value.hint) == ("E0381", "did you mean retention?")


def test_a_setting_of_a_pipeline_file_is_one_that_is_known(fm: Floodmark, tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("SET rw_implicit_flush = true; SET retention = '3 days';")
    fm.read(tmp_path)
    assert fm.retention.days == 3
    (tmp_path / "a.sql").write_text("SET retantion = '3 days';")
    with pytest.raises(NotSupported, match="E0381"):
        fm.read(tmp_path)


def test_explain_of_what_is_there(fm: Floodmark) -> None:
    there = fm.execute("EXPLAIN CREATE TABLE IF NOT EXISTS t (a INT PRIMARY KEY)")
    assert there.rows == fm.execute("EXPLAIN t").rows
    with pytest.raises(NotSupported) as refused:
        fm.execute("EXPLAIN CREATE INDEX j ON t (a)")
    assert refused.value.code == "E0368"


@pytest.mark.parametrize("value", ["abc", "0", "-4"])
def test_a_wrong_max_rows_per_epoch_is_refused_at_create_and_explain(
    fm: Floodmark, tmp_path: Path, value: str
) -> None:
    head = fm.warehouse.log.head().sealed
    sql = (
        f"CREATE SOURCE s (a INT) WITH (connector = 'files', path = '{tmp_path}',"
        f" max_rows_per_epoch = '{value}') FORMAT PLAIN ENCODE JSON"
    )
    for text in (sql, f"EXPLAIN {sql}"):
        with pytest.raises(UserError) as refused:
            fm.execute(text)
        assert refused.value.code == "E0473"
    assert fm.warehouse.log.head().sealed == head


def test_resume_of_what_is_not_suspended_is_a_notice_and_no_epoch(fm: Floodmark) -> None:
    head = fm.warehouse.log.head().sealed
    result = fm.execute("ALTER MATERIALIZED VIEW v RESUME")
    assert result.notices == ("materialized view v is not suspended",)
    assert fm.warehouse.log.head().sealed == head


def test_the_command_that_resumes_can_be_executed(fm: Floodmark) -> None:
    fm.execute_script(
        'CREATE TABLE "o\'b x" (a INT PRIMARY KEY);'
        'CREATE SINK v INTO "o\'b x" AS SELECT a FROM t; CREATE VIEW p AS SELECT a FROM t'
    )
    for found in fm.deployed.pipeline.objects.values():
        if found.key != "p":
            assert fm.execute(resume_command(found)).status == "ALTER_RESUME"
    assert resume_command(fm.find("o'b x")) == 'ALTER TABLE "o\'b x" RESUME'
