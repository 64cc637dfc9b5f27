"""By which column a view's rows are final."""

from __future__ import annotations

import pytest

from floodmark.stream.objects.closing import closing_column
from tests.program_reference import compile_sql

SOURCE = """CREATE SOURCE s (id BIGINT, ts TIMESTAMP, v INT,
  WATERMARK FOR {column} AS {column} - {delay})
  WITH (connector = 'files', path = '/nowhere') FORMAT PLAIN ENCODE PARQUET;"""
WINDOWS = "FROM TUMBLE(s, ts, INTERVAL '1 hour') GROUP BY"
SESSIONS = (
    "FROM SESSION((SELECT ts, date_trunc('hour', ts) AS hour FROM s), ts, "
    "INTERVAL '10 minutes', hour)"
)
ON_CLOSE = "EMIT ON WINDOW CLOSE"


@pytest.mark.parametrize(
    ("query", "column"),
    [
        (f"SELECT window_start, count(*) AS n {WINDOWS} window_start {ON_CLOSE}", "window_start"),
        (f"SELECT count(*) AS n, window_end AS till {WINDOWS} window_end {ON_CLOSE}", "till"),
        (
            f"SELECT date_trunc('day', window_start) AS d, count(*) AS n {WINDOWS} window_start "
            f"{ON_CLOSE}",
            "d",
        ),
        (f"SELECT count(*) AS n {WINDOWS} window_start {ON_CLOSE}", "__key_window_start"),
        (f"SELECT * FROM s {ON_CLOSE}", "ts"),
        (f"SELECT hour, ts, window_end {SESSIONS} {ON_CLOSE}", "window_end"),
        (
            f"SELECT hour, window_end, count(*) AS n {SESSIONS} GROUP BY hour, window_end "
            f"{ON_CLOSE}",
            "window_end",
        ),
        (f"SELECT window_start, count(*) AS n {WINDOWS} window_start", None),
        ("SELECT * FROM s", None),
    ],
)
def test_the_column_that_closes(query: str, column: str | None) -> None:
    source = SOURCE.format(column="ts", delay="INTERVAL '1 hour'")
    plan = compile_sql(f"{source} CREATE MATERIALIZED VIEW m AS {query};")["m"].plan
    found = closing_column(plan)
    assert (found and found.name) == column


def test_numbers_are_no_times() -> None:
    source = SOURCE.format(column="id", delay="10")
    view = f"CREATE MATERIALIZED VIEW m AS SELECT id, v FROM s {ON_CLOSE};"
    assert closing_column(compile_sql(f"{source} {view}")["m"].plan) is None
