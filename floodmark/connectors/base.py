"""What a connector is: offsets that can be listed without Spark, rows that can be read again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from floodmark.catalog.types import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Split:
    """A piece of a source partition that one epoch takes in; goes to the epoch log as JSON.

    `partition` is the stable ordinal (0 … 65535) of the partition, `start` and `end` are offsets
    (half-open) in the partition's own count, `estimate` the expected number of rows, `payload`
    what the connector needs to read it again (file name, size, mtime, row range …) as JSON values.
    `partition_end` says that nothing more was on offer in the partition when it was listed.
    """

    partition: int
    start: int
    end: int
    estimate: int
    payload: Mapping[str, Any]
    partition_end: bool = True

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "partition": self.partition,
            "start": self.start,
            "end": self.end,
            "estimate": self.estimate,
            "payload": dict(self.payload),
            "partition_end": self.partition_end,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Split:
        """Read the JSON form back."""
        return cls(**data)


class Connector(Protocol):
    """Rows from outside; made from a source's WITH options and schema."""

    def offer(self, taken: Mapping[int, int], limit: int) -> tuple[Split, ...]:
        """List what comes next, in order, without Spark.

        `taken` maps partitions to the end offsets of earlier epochs; at most about `limit` rows
        are offered, at least one split when there is anything new. Raises `DataError` for a
        missing or unreadable folder, a file that changed after it was logged.
        """

    def read(self, spark: SparkSession, splits: Sequence[Split]) -> DataFrame:
        """Read splits again, always the same rows.

        The frame has the source's schema (physical columns) and, hidden, `__partition` INT,
        `__offset` BIGINT (unique and increasing within the partition), `__corrupt` STRING (the raw
        text of a row that does not parse, else NULL), `__place` STRING (file and line, for dead
        letters; may be NULL for good rows), plus one column per requested metadata name.
        """

    def bounds(self, splits: Sequence[Split], column: str) -> tuple[Any, Any] | None:
        """Return (low, high) of a column over the splits where file statistics say so, else None."""

    def head(self) -> Any:
        """Return a cheap JSON value that changes whenever there is something new (for the sensor)."""


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """What a connector needs to know of a source."""

    name: str
    schema: Schema
    format: str
    encode: str
    options: Mapping[str, str]
    metadata: tuple[str, ...] = ()
