"""Which views may be backfilled, and which may take several epochs at once."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from floodmark.epochs.backfill.choice import backfillable
from floodmark.epochs.backfill.progress import next_step
from floodmark.limits import LIMITS
from floodmark.storage.logs.backfills import BackfillState, BackfillStep
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.stream.lint.advice import merges_epochs
from tests.program_reference import compile_sql

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


def _record(position: int) -> ObjectRecord:
    return ObjectRecord("below", {}, touched=True, position=position)


def _next(
    positions: Mapping[int, int], done: int | None, key: str = "feeding"
) -> BackfillStep | None:
    """Return the next step of a view over `below`, of which each sealed epoch has a position."""
    sealed = {e: SimpleNamespace(objects={"below": _record(p)}) for e, p in positions.items()}
    head = max(positions)
    log = SimpleNamespace(seal_record=sealed.__getitem__, head=lambda: SimpleNamespace(sealed=head))
    cut = SimpleNamespace(records=sealed[head].objects)
    warehouse: Any = SimpleNamespace(log=log, cut=lambda: cut, limits=LIMITS)
    record = None if done is None else _record(done)
    steps = 0 if done is None else 1
    return next_step(warehouse, compile_sql(SQL)[key], BackfillState(steps, record=record))


def test_a_step_goes_as_far_as_an_input_that_is_suspended() -> None:
    suspended = {1: 1, 2: 2, 3: 3, 4: 3, 5: 3, 6: 3}
    assert _next(suspended, None) == BackfillStep(3)
    assert _next(suspended, 1) is None
    assert _next(suspended, 3) is None
    # When it has caught up, no epoch in which it had not taken part is the end of a step.
    resumed = {**suspended, 7: 7}
    assert _next(resumed, 3) == BackfillStep(7, first=4)
    assert _next({1: 1, 2: 1, 3: 3}, 1) == BackfillStep(3, first=2)
    assert _next({1: 1, 2: 2, 3: 3}, 1) is None
