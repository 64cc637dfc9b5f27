"""The helpers with which users test their SQL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import floodmark.testing
from floodmark.spark.confs import SparkConfig
from floodmark.testing import SqlTest, run_program, sql_test

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"
SQL = """
CREATE SOURCE s (k INT, v NUMERIC(10, 2), name VARCHAR)
    WITH (connector = 'files', path = 'nowhere') FORMAT PLAIN ENCODE JSON;
CREATE TABLE t (k INT PRIMARY KEY, a INT);
CREATE MATERIALIZED VIEW totals AS SELECT k, sum(v) AS total FROM s GROUP BY k;
CREATE MATERIALIZED VIEW inverse AS SELECT k, 6 / a AS n FROM t WHERE a < 9;
"""

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def test(tmp_path_factory: pytest.TempPathFactory, spark_config: SparkConfig) -> Iterator[SqlTest]:
    with sql_test(SQL, tmp_path_factory.mktemp("sql"), spark=spark_config) as opened:
        yield opened


def test_rows_in_and_changelogs_out(test: SqlTest) -> None:
    test.epoch("s: +I 1 10 'it''s' +I 2 1.5 NULL", "totals: +I 1 10.0 +I 2 1.50")
    test.epoch("s: +I 1 5 NULL", "totals: -U 1 10 +U 1 15  inverse:")
    with pytest.raises(AssertionError) as failed:
        test.epoch("s: +I 2 1 'c'", "totals: -U 2 1.5 +U 2 3")
    assert str(failed.value) == (
        "epoch 3:\n\nmissing\ntotals:  +U 2 3\nnot expected\ntotals:  +U 2 2.5\n"
        "in all\ntotals:  -U 2 1.5\n         +U 2 2.5"
    )


def test_outputs_of_a_source_take_rows_of_their_own(
    tmp_path: Path, spark_config: SparkConfig
) -> None:
    shop = """
    CREATE SOURCE shop (id INT, item VARCHAR) WITH (connector = 'files', path = 'nowhere')
    FORMAT PLAIN ENCODE JSON
    FOR TABLES (a TRANSFORM USING (SELECT item FROM a WHERE id > 1), b AS c);
    """
    with sql_test(shop, tmp_path, spark=spark_config) as test:
        test.epoch("a: +I 1 'pen' +I 2 'ink'  c: +I 3 'cup'", "out a: +I 'ink'  out c: +I 3 'cup'")


def test_a_table_takes_rows_of_every_kind_and_statements(test: SqlTest) -> None:
    test.epoch("t: +I 1 2 +I 2 3 +I 3 9", "inverse: +I 1 3 +I 2 2  out t: +I 1 2 +I 2 3 +I 3 9")
    test.epoch("t: -U 1 2 +U 1 6  -D 2 3", "inverse: -U 1 3 +U 1 1  -D 2 2")
    test.epoch("dml: DELETE FROM t WHERE k = 1", "inverse: -D 1 1")
    with pytest.raises(AssertionError, match=r"not expected\ndead inverse:  \+I 'E0621'"):
        test.epoch("t: +I 7 0", "inverse:")
    test.epoch("t: -D 7 0", "dead inverse: -D E0621")


@pytest.mark.parametrize(
    ("given", "expected", "message"),
    [
        ("totals: +I 1 2", "", "totals is a materialized view: it takes no rows"),
        ("s: +I 1", "", "1 values for 3 columns: '1'"),
        ("s: +I x 2 NULL", "", "'x' is not of type integer"),
        ("+I 1", "", "a row under no label"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    test: SqlTest, given: str, expected: str, message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        test.epoch(given, expected)


def test_the_page_is_right(
    tmp_path: Path, spark_config: SparkConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def configured(sql: str) -> object:
        return sql_test(sql, tmp_path / "example", spark=spark_config)

    monkeypatch.setattr(floodmark.testing, "sql_test", configured)
    blocks = PAGE.read_text().split("```")[1::2]
    example = next(block.removeprefix("python") for block in blocks if "sql_test(" in block)
    exec(compile(example, str(PAGE), "exec"), {})
    program = next(block for block in blocks if "sql:" in block)
    run_program(program, tmp_path / "program", spark=spark_config)
    wrong = program.replace("+I 5 6  ", "+I 5 7  ")
    with pytest.raises(AssertionError, match=r"program, epoch 2:\n\nmissing\nv:  \+I 5 7\n"):
        run_program(wrong, tmp_path / "wrong", spark=spark_config)


def test_options_of_watermarks_hold(tmp_path: Path, spark_config: SparkConfig) -> None:
    program = Path(__file__).parents[1] / "programs" / "watermark_max_ahead.txt"
    text = program.read_text().replace("future_time", "E0658")
    run_program(text, tmp_path, spark=spark_config)
