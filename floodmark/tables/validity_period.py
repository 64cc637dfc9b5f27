"""Rows that are seen during a period alone: which are, at a time, and which come and go until one.

A source stores each such row with the microseconds from and before which it is seen. It writes
nothing when that time comes: the rows that come and go are read from the files whose statistics
have a bound between the two times. So an epoch costs what comes and goes in it, and a row is stored
once, however many views read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import product
from typing import TYPE_CHECKING

from floodmark.changelog import WEIGHT
from floodmark.plan.declaration import LOWER, UPPER
from floodmark.scalar.functions.intervals import micros_of
from floodmark.scalar.types import BIGINT, Schema
from floodmark.spark.rows import constants
from floodmark.storage.plain_files import read_parquet
from floodmark.storage.table import DataFile, Handle, Store

if TYPE_CHECKING:
    import numpy as np
    from pyspark.sql import DataFrame

_THEN, _NOW = "floodmark__then", "floodmark__now"


def valid_at(frame: DataFrame, period: Schema, at: datetime | None) -> DataFrame:
    """Return the rows that are seen at a time; without one, all of them."""
    if not period or at is None:
        return frame
    timed = frame.selectExpr("*", constants({_NOW: f"{micros_of(at)}L"}))
    return timed.where(_holds(period, _NOW)).drop(_NOW)


def drop_ended(frame: DataFrame | None, period: Schema, at: datetime) -> DataFrame | None:
    """Return the rows whose period is not over at a time: those that wait for it are among them."""
    if frame is None or all(f.name != UPPER for f in period):
        return frame
    return frame.where(f"{micros_of(at)}L < {UPPER}")


def crossing(frame: DataFrame, period: Schema, then: datetime, now: datetime) -> DataFrame:
    """Return the rows that come and go between two times, with their weight."""
    times = {_THEN: f"{micros_of(then)}L", _NOW: f"{micros_of(now)}L"}
    was, is_ = (f"CASE WHEN {_holds(period, t)} THEN 1 ELSE 0 END" for t in times)
    timed = frame.selectExpr("*", constants(times))
    weighed = timed.selectExpr("*", f"CAST({is_} - {was} AS INT) AS {WEIGHT}")
    return weighed.where(f"{WEIGHT} <> 0").drop(*times)


def _holds(period: Schema, at: str) -> str:
    """Return the text of: a row is seen at a time."""
    tests = {LOWER: f"{LOWER} <= {at}", UPPER: f"{at} < {UPPER}"}
    return " AND ".join(tests[f.name] for f in period)


def moving(
    files: Iterable[DataFile], period: Schema, then: datetime, now: datetime
) -> tuple[DataFile, ...]:
    """Return the files that can have rows that come and go between two times."""
    first, last = micros_of(then) + 1, micros_of(now)
    return tuple(f for f in files if any(_overlaps(f, b.name, first, last) for b in period))


def _overlaps(file: DataFile, bound: str, first: int, last: int) -> bool:
    low, high = file.low.get(bound), file.high.get(bound)
    if isinstance(low, int) and low > last:
        return False
    return not (isinstance(high, int) and high < first)


Parts = Iterable[tuple[Handle, Iterable[DataFile]]]
"""Files, by the table that has them."""


def times(store: Store, parts: Parts, period: Schema, first: int, last: int) -> np.ndarray:
    """Return the microseconds, in order, at which rows come or go within a range.

    Asks no Spark: of each file whose statistics say that it can have some, two columns of numbers
    are read.
    """
    import numpy as np

    times = [np.empty(0, dtype=np.int64)]
    for handle, files in parts:
        chosen = [f for f in files if any(_overlaps(f, b.name, first, last) for b in period)]
        bounds = _bounds(store.paths(handle, chosen), period)
        times += [values[(first <= values) & (values <= last)] for values in bounds]
    return np.sort(np.concatenate(times))


def next_time(store: Store, parts: Parts, period: Schema, after: datetime) -> int | None:
    """Return the microsecond at which the next row comes or goes after a time; None if none does.

    Only files with bounds on both sides of the time are read.
    """
    now = micros_of(after)
    numbers: list[int] = []
    for handle, files in parts:
        unknown: dict[DataFile, None] = {}
        for file, bound in product(files, (f.name for f in period)):
            low, high = file.low.get(bound), file.high.get(bound)
            if isinstance(low, int) and low > now:
                numbers.append(low)
            elif not isinstance(high, int) or high > now:
                unknown[file] = None
        for values in _bounds(store.paths(handle, list(unknown)), period):
            later = values[values > now]
            numbers += [int(later.min())] if later.size else []
    return min(numbers, default=None)


def _bounds(paths: Iterable[str], period: Schema) -> Iterator[np.ndarray]:
    """Iterate over the values of each bound of each file."""
    names = [f.name for f in period]
    assert all(f.type == BIGINT for f in period)
    for path in paths:
        table = read_parquet(path, names)
        yield from (table.column(name).to_numpy() for name in names)
