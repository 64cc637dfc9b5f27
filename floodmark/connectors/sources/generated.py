"""Sources whose rows are computed from their row number: the same whenever they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from floodmark.connectors.absent import absent_texts
from floodmark.connectors.base import REASON, Discovery, SourceSpec, Split, WithoutFiles
from floodmark.errors import UserError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTITION = 0


def hash_of(seed: int, tag: int, row: str = "id") -> str:
    """Return Spark text for 64 random bits that depend on seed, tag and row number."""
    return f"xxhash64({seed}L, {tag}, {row})"


def number_below(bits: str, count: str | int) -> str:
    """Return Spark text for a whole number from 0 to `count` - 1."""
    return f"pmod({bits}, CAST({count} AS BIGINT))"


def unit(bits: str) -> str:
    """Return Spark text for a double in [0, 1) from the top 53 bits."""
    return f"(shiftrightunsigned({bits}, 11) * CAST({2.0**-53!r} AS DOUBLE))"


@dataclass(frozen=True, slots=True)
class GeneratedConnector(WithoutFiles):
    """Rows 0, 1, 2, … of one partition.

    `available` says how many rows there are by now. `columns` are Spark texts with the declared
    names and types, over the row number `id` and over `n`, which `number` computes from it.
    `ranges` give a column's range over rows from … to (inclusive).
    """

    spec: SourceSpec
    available: Callable[[], int]
    columns: tuple[str, ...]
    ranges: Mapping[str, Callable[[int, int], tuple[Any, Any]]]
    task_rows: int
    number: str = "id"

    def __post_init__(self) -> None:
        if self.spec.metadata:
            raise UserError(
                "E0481",
                f"source {self.spec.name}: generated rows have no metadata, "
                f"not {self.spec.metadata[0].name!r}",
                hint="remove METADATA FROM",
            )

    @property
    def reads_text(self) -> bool:
        """Tell that the main session reads it."""
        return False

    def discover_splits(
        self, taken: Mapping[int, int], limit: int, discovery: Discovery | None = None
    ) -> tuple[Split, ...]:
        """Offer the next `limit` rows as one split."""
        start, total = taken.get(PARTITION, 0), self.available()
        end = min(total, start + max(limit, 1))
        if end <= start:
            return ()
        return (Split(PARTITION, start, end, end - start, {}, partition_end=end == total),)

    def read_splits(self, spark: SparkSession, splits: Sequence[Split]) -> DataFrame:
        """Compute the rows of splits."""
        ranges = [(s.start, s.end) for s in splits] or [(0, 0)]
        numbers = [
            spark.range(start, end, 1, max(1, -((start - end) // self.task_rows)))
            for start, end in ranges
        ]
        rows = reduce(lambda left, right: left.unionAll(right), numbers)
        return rows.selectExpr("id", f"{self.number} AS n").selectExpr(
            *self.columns,
            f"{PARTITION} AS __partition",
            "id AS __offset",
            "CAST(NULL AS STRING) AS __corrupt",
            f"CAST(NULL AS STRING) AS {REASON}",
            "CAST(NULL AS STRING) AS __file",
            "CAST(NULL AS BIGINT) AS __line",
            *absent_texts(self.spec.defaulted),
        )

    def bounds(self, splits: Sequence[Split], column: str) -> tuple[Any, Any] | None:
        """Return the range of a column that grows with the row number."""
        taken = [s for s in splits if s.start < s.end]
        if column not in self.ranges or not taken:
            return None
        return self.ranges[column](min(s.start for s in taken), max(s.end for s in taken) - 1)

    def intact(self, splits: Sequence[Split], columns: Sequence[str]) -> bool:
        """Tell whether the columns grow with the row number: those are never NULL."""
        return self.ranges.keys() >= set(columns)
