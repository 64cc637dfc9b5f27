"""Which views may be backfilled, and which may take several epochs at once."""

from __future__ import annotations

from program_reference import compile_sql

from floodmark.analysis.advice import merges_epochs
from floodmark.runtime.backfill.choice import backfillable

SQL = """
CREATE TABLE t (k INT PRIMARY KEY, v INT);
CREATE SOURCE s (ts TIMESTAMP, k INT, WATERMARK FOR ts AS ts)
  WITH (connector = 'files', path = 's') FORMAT PLAIN ENCODE PARQUET;
CREATE MATERIALIZED VIEW below AS SELECT k, v FROM t WHERE v > 1;
CREATE MATERIALIZED VIEW feeding AS SELECT k, count(*) AS n FROM below GROUP BY k;
CREATE TABLE fed (k INT PRIMARY KEY, n BIGINT);
CREATE SINK kk INTO fed AS SELECT k, n FROM feeding;
CREATE MATERIALIZED VIEW above AS SELECT sum(n) AS n FROM fed;
CREATE MATERIALIZED VIEW joined AS SELECT t.k, s.ts FROM s JOIN t ON s.k = t.k;
CREATE MATERIALIZED VIEW fresh AS SELECT k, now() AS at FROM s;
CREATE MATERIALIZED VIEW closed AS
  SELECT window_start, count(*) AS n FROM TUMBLE(s, ts, INTERVAL '1 hour')
  GROUP BY window_start EMIT ON WINDOW CLOSE;
CREATE MATERIALIZED VIEW again WITH (refresh = 'full') AS SELECT k, now() AS at FROM t;
"""


def test_what_a_table_is_fed_from_is_not_backfilled() -> None:
    pipeline = compile_sql(SQL)
    assert backfillable(pipeline) == {"above", "joined", "fresh", "closed", "again"}


def test_epochs_whose_time_shows_are_not_merged() -> None:
    pipeline = compile_sql(SQL)
    merged = {key for key in pipeline.objects if merges_epochs(pipeline[key])}
    assert merged == {"below", "feeding", "above", "joined", "sink:kk"}
