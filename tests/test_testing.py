"""The helpers with which users test their SQL."""

from __future__ import annotations

from pathlib import Path

import pytest

from floodmark.spark.confs import SparkConfig
from floodmark.testing import parse_changes, sql_test

SQL = """
CREATE SOURCE s (k INT, v NUMERIC(10, 2), name VARCHAR)
    WITH (connector = 'files', path = 'nowhere') FORMAT PLAIN ENCODE JSON;
CREATE MATERIALIZED VIEW totals AS SELECT k, sum(v) AS total FROM s GROUP BY k;
CREATE MATERIALIZED VIEW named AS SELECT k, name FROM s WHERE name IS NOT NULL;
"""


def test_a_row_before_a_label_is_refused() -> None:
    with pytest.raises(ValueError, match="stands before"):
        parse_changes("+I 1")


@pytest.mark.spark
def test_rows_in_and_changelogs_out(tmp_path: Path, spark_config: SparkConfig) -> None:
    with sql_test(SQL, tmp_path, spark=spark_config) as test:
        test.epoch("s: +I 1 10 'it''s' +I 2 1.5 NULL", "totals: +I 1 10.0 +I 2 1.50")
        test.epoch("s: +I 1 5 NULL", "totals: -U 1 10 +U 1 15  named:")
        with pytest.raises(AssertionError, match=r"named was expected to emit\n  nothing"):
            test.epoch("s: +I 3 1 'c'", "named:")
