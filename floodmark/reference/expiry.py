"""The end of rows of a table: by a TTL, or below a watermark WITH TTL.

A row that is over at the epoch's time is absent when rows of the epoch come: these meet nothing.
What comes and is over itself leaves its key without a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from floodmark.plan.declaration import Ttl
from floodmark.reference.rows import Row, key_of, sort_value
from floodmark.scalar.functions.intervals import micros_of

KeyValues = tuple[Any, ...]


@dataclass(frozen=True)
class RowExpiry:
    """Which rows of a table have ended at `now`; `bound` is the watermark before the epoch.

    `wrote` has the time at which the row of a stream key was last written.
    """

    key: tuple[str, ...]
    now: datetime
    ttl: Ttl | None = None
    ttl_column: str | None = None
    bound: Any = None
    wrote: Mapping[KeyValues, datetime] = field(default_factory=dict)

    def record_writes(self, written: Iterable[KeyValues]) -> RowExpiry:
        """Return the ends once the rows of some keys are written, in this epoch."""
        if self.ttl is None or self.ttl.column is not None:
            return self
        return replace(self, wrote={**self.wrote, **dict.fromkeys(written, self.now)})

    def is_over(self, row: Row) -> bool:
        """Tell whether the TTL of a row has passed; one without a time stays."""
        if self.ttl is None:
            return False
        column = self.ttl.column
        counts = self.wrote.get(key_of(row, self.key)) if column is None else row[column]
        return counts is not None and micros_of(counts) <= micros_of(self.now - self.ttl.length)

    def is_below(self, row: Row, bound: Any) -> bool:
        """Tell whether a row is below a value of the watermark."""
        if self.ttl_column is None or bound is None:
            return False
        return bool(sort_value(row[self.ttl_column]) < sort_value(bound))

    def is_absent(self, row: Row) -> bool:
        """Tell whether a stored row does not count when rows of the epoch come."""
        return self.is_over(row) or self.is_below(row, self.bound)

    @property
    def drops_silently(self) -> bool:
        """Tell whether rows end that what follows does not hear of."""
        return self.ttl_column is not None or (self.ttl is not None and not self.ttl.deletes)

    def visible_rows(self, rows: Iterable[Row], bound: Any) -> tuple[Row, ...] | None:
        """Return the rows that readers see after the epoch; None where that is all of them."""
        if not self.drops_silently:
            return None
        return tuple(r for r in rows if not (self.is_over(r) or self.is_below(r, bound)))
