"""The record of one object in one epoch, as the epoch log stores it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from floodmark.errors import DataError
from floodmark.price import Price
from floodmark.storage.records.bodies import UnknownField, parse_body
from floodmark.storage.records.text import from_text, refuse_newer_field
from floodmark.storage.table import Scalar

COUNTS = (
    "rows_in",
    "rows_out",
    "late_rows",
    "dead_rows",
    "ignored_rows",
    "before_differs",
    "timed_rows",
    "dropped_rows",
    "expired_rows",
)
"""What a record counts. Each row counts once: in the first epoch whose seal has it."""


@dataclass(frozen=True, slots=True)
class ObjectRecord:
    """What an epoch did to one object; `versions` pins each of its tables.

    Counts are those of the epoch. In an epoch that does not touch the object they are 0. An epoch
    in which it catches up, or comes from its backfill, counts all that it had missed.

    `position` is the last epoch that the object has taken in: behind the log while it is suspended.
    Of what a source by key took in, `ignored_rows` changed nothing: a later operation of the epoch
    took its place, the row is so already, there is none to delete. `before_differs` counts keys of
    which the first message delivered another old row than the stored one. `asked` has the versions
    of Delta tables elsewhere that were looked up in. A view that is `backfilling` has no rows in
    the cut; its position is the epoch that created it. At `due` rows change without any input. Rows
    that are seen during a period alone are those of the time `as_of`; of the changes, `timed_rows`
    have come or gone because of the time alone. Of what a source took in, it left `dropped_rows`
    out by its transformation. Of what a table took in, `expired_rows` were over; with a TTL rows up
    to `cutoff`, or written up to `cutoff_epoch`, are over. Where several partitions write, or time
    alone raises a watermark, `reached` has the highest time of each partition, by column, and
    `heard` the time of the epoch in which it had its last rows. Of what a source took in, no row
    had the `lacking` columns, and no column takes the `unused` fields. `price` is what the
    epoch paid for the object.
    """

    object: str
    versions: Mapping[str, int]
    rows_in: int = 0
    rows_out: int = 0
    late_rows: int = 0
    dead_rows: int = 0
    watermarks: Mapping[str, Scalar] = field(default_factory=dict)
    duration_s: float = 0.0
    touched: bool = True
    position: int = 0
    ignored_rows: int = 0
    before_differs: int = 0
    asked: Mapping[str, int] = field(default_factory=dict)
    backfilling: bool = False
    due: datetime | None = None
    as_of: datetime | None = None
    timed_rows: int = 0
    dropped_rows: int = 0
    reached: Mapping[str, Mapping[str, Scalar]] = field(default_factory=dict)
    heard: Mapping[str, datetime] = field(default_factory=dict)
    expired_rows: int = 0
    cutoff: datetime | None = None
    cutoff_epoch: int = 0
    lacking: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    price: Price = field(default_factory=Price)

    def __post_init__(self) -> None:
        # JSON has lists alone.
        object.__setattr__(self, "lacking", tuple(self.lacking))
        object.__setattr__(self, "unused", tuple(self.unused))

    def at_rest(self) -> ObjectRecord:
        """Return the record in an epoch that does nothing to the object."""
        nothing = dict.fromkeys(COUNTS, 0)
        note: dict[str, Any] = {**nothing, "asked": {}, "lacking": (), "unused": ()}
        return replace(self, **note, duration_s=0.0, touched=False, price=Price())

    def add_earlier(self, earlier: ObjectRecord) -> ObjectRecord:
        """Return the record with what was counted on the way to it, too."""
        both = {name: getattr(self, name) + getattr(earlier, name) for name in COUNTS}
        took = round(self.duration_s + earlier.duration_s, 3)
        touched, price = self.touched or earlier.touched, self.price + earlier.price
        return replace(self, **both, duration_s=took, touched=touched, price=price)

    @property
    def plan_s(self) -> float:
        """Return the seconds in neither queries nor commits: planning, and work in this process."""
        return round(max(0.0, self.duration_s - self.price.query_s - self.price.commit_s), 3)

    @property
    def rows_written(self) -> int:
        """Return how many rows were written, or their changes: not what the time alone did."""
        return self.rows_out - self.timed_rows

    @property
    def watermark(self) -> Scalar:
        """Return the object's first watermark, or None."""
        return next((w for w in self.watermarks.values() if w is not None), None)

    @property
    def watermark_time(self) -> datetime | None:
        """Return the first watermark that is a time, in UTC where it has no zone."""
        for value in self.watermarks.values():
            if isinstance(value, datetime):
                return value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return None

    def lag(self, now: datetime) -> timedelta | None:
        """Return how far the first watermark in time is behind a time; None without one."""
        return lag_of(self.watermark_time, now)


def lag_of(value: Scalar, now: datetime) -> timedelta | None:
    """Return how far a watermark is behind a time; None where it is no timestamp.

    One without a zone is in UTC.
    """
    if not isinstance(value, datetime):
        return None
    return now - (value if value.tzinfo is not None else value.replace(tzinfo=UTC))


def versions_of(records: Iterable[ObjectRecord]) -> dict[str, int]:
    """Return the version of each table that records pin."""
    return {table: version for r in records for table, version in r.versions.items()}


def parse_record(text: str, table: str, format: int) -> ObjectRecord:
    """Read the record that a commit of a table and of a format tells.

    Raises E0435 for one that is not whole, E0430 for one with a field that is not known.
    """
    try:
        record: ObjectRecord = parse_body(ObjectRecord, from_text(text), format)
    except UnknownField as error:
        refuse_newer_field(f"a commit of {table}", str(error))
    except (ValueError, ArithmeticError) as error:
        raise DataError(
            "E0435",
            f"a commit of {table} has a damaged record of its object",
            detail=str(error),
            hint="restore the commit from a backup",
        ) from error
    return record
