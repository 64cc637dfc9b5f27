"""Cutoffs of a TTL: up to which column value or write time rows are expired at an epoch.

The write time of a row is the time of the epoch that wrote it; only the epoch's number is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from floodmark.changelog import EPOCH
from floodmark.plan.declaration import Ttl, clock_value
from floodmark.scalar.types import BIGINT, Schema, SqlType
from floodmark.spark.literals import literal
from floodmark.spark.rows import constants
from floodmark.spark.types import ident
from floodmark.storage.logs.object_record import ObjectRecord
from floodmark.storage.table import DataFile
from floodmark.stream.objects.analysed import AnalysedObject

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TimeOf = Callable[[int], datetime]
_BOUND = "floodmark__cutoff"


@dataclass(frozen=True)
class Cutoff:
    """The time and the epoch up to which rows of a table are expired; `type` is the column's."""

    ttl: Ttl
    time: datetime
    epoch: int
    type: SqlType = BIGINT

    @property
    def column(self) -> str:
        """Return the column that decides whether a row is expired."""
        return self.ttl.column or EPOCH

    @property
    def value(self) -> Any:
        """Return the highest value of that column at which a row is expired."""
        return self.epoch if self.ttl.column is None else clock_value(self.time, self.type)

    def expired_rows(self, frame: DataFrame, columns: Schema) -> DataFrame:
        """Return the expired rows."""
        return self._where(frame, columns, f"{ident(self.column)} <= {_BOUND}")

    def lasting(self, frame: DataFrame, columns: Schema) -> DataFrame:
        """Return the rows that are not expired."""
        test = f"NOT coalesce({ident(self.column)} <= {_BOUND}, FALSE)"
        return self._where(frame, columns, test)

    def _where(self, frame: DataFrame, columns: Schema, test: str) -> DataFrame:
        return self.add_cutoff(frame).where(test).selectExpr(*(ident(f.name) for f in columns))

    def add_cutoff(self, frame: DataFrame) -> DataFrame:
        """Return the rows with a column for the cutoff, which changes with each epoch."""
        return frame.selectExpr("*", constants({_BOUND: literal(self.value, self.type)}))

    def is_over(self, row: str = "") -> str:
        """Return the text of: a new row is over as it is written, `beside` the cutoff.

        `row` is the text of a struct and a dot, if it is in one. A row whose time is that of its
        write never is over.
        """
        if self.ttl.column is None:
            return "FALSE"
        return f"coalesce({row}{ident(self.ttl.column)} <= {_BOUND}, FALSE)"

    def ends(self, file: DataFile) -> bool:
        """Tell whether a file can have expired rows."""
        low = file.low.get(self.column)
        if low is None:
            return file.nulls.get(self.column) != file.rows
        return bool(low <= self.value)

    def expires_all(self, file: DataFile) -> bool:
        """Tell whether all rows of a file are expired."""
        high = file.high.get(self.column)
        known = high is not None and file.nulls.get(self.column) == 0
        return known and bool(high <= self.value)


def end_columns(obj: AnalysedObject) -> tuple[str, ...]:
    """Return the columns that decide whether a row ended without a change; none if rows do not."""
    declared = obj.declared
    if declared is None or not declared.drops_silently:
        return ()
    if declared.ttl_column is not None:
        return (declared.ttl_column,)
    assert declared.ttl is not None
    return (declared.ttl.column or EPOCH,)


def find_cutoff(obj: AnalysedObject, record: ObjectRecord) -> Cutoff | None:
    """Return the cutoff of a record; None where there is none yet."""
    ttl = None if obj.declared is None else obj.declared.ttl
    if ttl is None or record.cutoff is None:
        return None
    return Cutoff(ttl, record.cutoff, record.cutoff_epoch, _type_of(obj, ttl))


def _type_of(obj: AnalysedObject, ttl: Ttl) -> SqlType:
    types = {f.name: f.type for f in obj.relation.columns}
    return BIGINT if ttl.column is None else types[ttl.column]


def cutoff_of(
    obj: AnalysedObject,
    now: datetime,
    before: ObjectRecord | None,
    epoch: int,
    time_of: TimeOf | None,
) -> Cutoff | None:
    """Return the cutoff of a table in an epoch; None without a TTL.

    Discarded rows stay discarded even if the TTL is longer now: `before` is the previous record.
    """
    ttl = None if obj.declared is None else obj.declared.ttl
    if ttl is None:
        return None
    time = now - ttl.length
    known = None if before is None else before.cutoff
    if known is not None and not ttl.deletes:
        time = max(time, known)
    if ttl.column is not None:
        return Cutoff(ttl, time, 0, _type_of(obj, ttl))
    assert time_of is not None
    low = before.cutoff_epoch if before is not None and known is not None else 0
    return Cutoff(ttl, time, _last_epoch(time, min(low, epoch - 1), epoch - 1, time_of))


def _last_epoch(time: datetime, low: int, high: int, time_of: TimeOf) -> int:
    """Return the last epoch from `low` to `high` that was not after a time; `low` was not, or 0.

    Mostly it is the same as before, or the next one.
    """
    if low and time_of(low) > time:
        low = 0
    step = 1
    while low < high and time_of(min(low + step, high)) <= time:
        low = min(low + step, high)
        step *= 2
    high = min(low + step, high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if time_of(middle) <= time else (low, middle)
    return low


LAST = datetime(9000, 1, 1, tzinfo=UTC)
"""A time that every advance and every time-out has come by."""
