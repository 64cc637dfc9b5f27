"""The contract of connectors: offsets are listed without Spark, rows can be read again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from floodmark.scalar.types import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


METADATA = "__metadata_"
"""How the names of metadata columns start."""
REASON = "__reason"
"""VARCHAR: which column of a row that does not parse is wrong, and why, in words."""
OPERATION, BEFORE, FAULT = "__operation", "__before", "__fault"
UPSERTS, DELETES, IGNORED = "upsert", "delete", "ignored"


def rows_of_piece(rows: int) -> int:
    """Return of how many neighbouring rows the lowest and the highest time are looked at.

    So many that there are hardly more than a thousand pieces.
    """
    return max(1, rows // 1024)


@dataclass(frozen=True, slots=True)
class Split:
    """A piece of a source partition that one epoch takes in; goes to the epoch log as JSON.

    `partition` is the stable ordinal (0 … 65535) of the partition. `start` and `end` are half-open
    offsets in the partition's own count. `estimate` is the expected number of rows. `payload` has,
    as JSON values, what the connector needs to read it again: file name, size, mtime, row range.
    `partition_end` says that nothing more was on offer in the partition when it was listed: only
    then the clock may raise a watermark (`watermark.advance`, `watermark.idle_after`).
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


class Discovery:
    """What a source has logged of its files: a cache of the log, fed with every logged split.

    Files arrive with names in any order, so that no single position says which are new. The split
    enumerator keeps one value per source. It calls `add` with the splits that are logged and, once
    after a start, with those of the log. It hands the value to `discover_splits`. A split that
    names a `file` in its payload counts; with `rest: true` more of that file is still to come.
    Membership costs O(1), a name about 100 bytes.
    """

    def __init__(self, splits: Iterable[Split] = ()) -> None:
        self._files: set[str] = set()
        self._partial: dict[int, Split] = {}
        self.add(splits)

    def __contains__(self, file: str) -> bool:
        return file in self._files

    def __len__(self) -> int:
        return len(self._files)

    def same_as(self, other: Discovery) -> bool:
        """Tell whether another source has logged the same files, as far as this one."""
        return self._files == other._files and self._partial == other._partial

    def add(self, splits: Iterable[Split]) -> None:
        """Take in splits in the order in which they were logged."""
        for split in splits:
            file = split.payload.get("file")
            if file is None:
                continue
            self._files.add(file)
            if split.payload.get("rest"):
                self._partial[split.partition] = split
            else:
                self._partial.pop(split.partition, None)

    def amend(self, splits: Iterable[Split]) -> None:
        """Replace splits that were taken in, where the rest of one is still to come."""
        for split in splits:
            last = self._partial.get(split.partition)
            if last is not None and last.end == split.end:
                self._partial[split.partition] = split

    def partial_split(self, partition: int) -> Split | None:
        """Return the last split of a file that was cut and has rows left."""
        return self._partial.get(partition)

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form: a checkpoint that saves reading old splits back."""
        return {
            "files": sorted(self._files),
            "unfinished": [split.as_json() for split in self._partial.values()],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Discovery:
        """Read the JSON form back."""
        discovery = cls(Split.from_json(split) for split in data["unfinished"])
        discovery._files.update(data["files"])
        return discovery


class Connector(Protocol):
    """Rows from outside; made from a source's WITH options and schema."""

    @property
    def reads_text(self) -> bool:
        """Tell whether `read_splits` must get the text-ingest session (one split per file)."""

    def discover_splits(
        self, taken: Mapping[int, int], limit: int, discovery: Discovery | None = None
    ) -> tuple[Split, ...]:
        """List what comes next, in order, without Spark.

        `taken` maps partitions to the end offsets of earlier epochs, `discovery` says which files
        they held (None: none; connectors without files ignore it). At most about `limit` rows are
        offered, at least one split when there is anything new. Raises `DataError` for a missing or
        unreadable folder, a file that changed after it was logged, a changed schema.
        """

    def read_splits(self, spark: SparkSession, splits: Sequence[Split]) -> DataFrame:
        """Read splits again, always the same rows.

        The frame has the source's schema (physical columns), and hidden columns:

        - `__partition` INT.
        - `__offset` BIGINT: unique and increasing within the partition.
        - `__corrupt` STRING: the raw text of a row that does not parse, else NULL. The row's other
          columns hold what could be read.
        - `__reason` STRING: what is wrong with such a row, in words, or NULL.
        - `__file` STRING and `__line` BIGINT: where a row stands, for dead letters. NULL where it
          stands nowhere.
        - One column per requested metadata name, with `METADATA` before it.
        - `absent_column` BOOLEAN per column of `SourceSpec.defaulted`.

        Of FORMAT UPSERT and DEBEZIUM a row is a message. It has three more columns:

        - `__operation` STRING. UPSERTS: the row takes the place of the one of its key. DELETES:
          only the key counts. IGNORED: the message changes nothing.
        - `__before` STRUCT of the schema: the old row as delivered, else NULL.
        - `__fault` INT: why the message cannot be applied, where `__corrupt` is set. NULL: it does
          not parse.

        Raises `DataError` for a logged file that is gone or has changed.
        """

    def check(self, splits: Sequence[Split]) -> None:
        """Raise `DataError` E0476 for a logged file that is gone or has changed."""

    def bounds(self, splits: Sequence[Split], column: str) -> tuple[Any, Any] | None:
        """Return (low, high) of a column over the splits if statistics say so, else None."""

    def pieces(self, splits: Sequence[Split], column: str) -> Sequence[tuple[Any, Any]] | None:
        """Return (low, high) of a time column, piece by piece of neighbouring rows.

        They stand in the order of offsets; a piece without a value is left out. None where that
        takes as long as reading the splits.
        """

    def storable(self, splits: Sequence[Split]) -> Sequence[tuple[str, int]] | None:
        """Return the Parquet files that hold just the splits' rows, as they would be stored.

        Each with the offset of its first row; the others follow in the order of the file. None
        where rows have to be read.
        """

    def intact(self, splits: Sequence[Split], columns: Sequence[str]) -> bool:
        """Tell whether surely every row can be read and has a value in these columns."""

    def find_change(self, splits: Sequence[Split], *, gone: bool = True) -> str | None:
        """Say, in one sentence, why splits cannot be read again as they were; None: they can.

        Without `gone`, what is not there any more is passed over.
        """

    def without_unreadable(self, splits: Sequence[Split], *, changed: bool) -> Sequence[Split]:
        """Return splits that `read_splits` has failed for, as it can read them.

        What cannot be read is marked, and comes as a corrupt row. With `changed` so is what is gone
        or is not as it was logged. Raises `DataError` where dead letters are not wanted.
        """


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """What a connector needs to know of a source.

    `metadata` has the names of the metadata that it gives, with the types of their columns. `key`
    is the primary key. For `defaulted` columns it says whether a row lacks them.
    """

    name: str
    schema: Schema
    format: str
    encode: str
    options: Mapping[str, str]
    metadata: Schema = ()
    key: tuple[str, ...] = ()
    defaulted: tuple[str, ...] = ()


class WithoutFiles:
    """What connectors answer whose rows come from no files; `bounds` says all that they know."""

    def check(self, splits: Sequence[Split]) -> None:
        """Do nothing: nothing can go or change."""

    def pieces(self, splits: Sequence[Split], column: str) -> None:
        """Return None."""

    def storable(self, splits: Sequence[Split]) -> None:
        """Return None."""

    def find_change(self, splits: Sequence[Split], *, gone: bool = True) -> str | None:
        """Return None."""
        return None

    def without_unreadable(self, splits: Sequence[Split], *, changed: bool) -> Sequence[Split]:
        """Return the splits."""
        return splits
