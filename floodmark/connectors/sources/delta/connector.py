"""A Delta table that any program writes, commit by commit: appended rows, or its change feed.

A commit is taken in whole. Offsets count rows, and each row of the feed twice: first come all old
rows, then all new ones. So a row that moves to another key is not taken for the one that has left
that key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from floodmark.connectors.absent import absent_column
from floodmark.connectors.base import (
    BEFORE,
    DELETES,
    FAULT,
    OPERATION,
    REASON,
    UPSERTS,
    Discovery,
    SourceSpec,
    Split,
)
from floodmark.connectors.files.connector import FilesConnector
from floodmark.connectors.files.discovery import file_change, stat_file
from floodmark.connectors.sources.delta.commits import APPEND, PARTITION, TableFeed
from floodmark.errors import DataError
from floodmark.limits import Limits
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.functions.years import outside_years
from floodmark.scalar.types import VARCHAR, Field, Schema
from floodmark.spark.types import ident, spark_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CHANGE_TYPE = "_change_type"
_GONE, _CAME = ("delete", "update_preimage"), ("insert", "update_postimage")


@dataclass(frozen=True, slots=True)
class DeltaConnector:
    """The `delta` connector; made by `make_delta`."""

    spec: SourceSpec
    feed: TableFeed
    limits: Limits

    @property
    def reads_text(self) -> bool:
        """Return False: the files are Parquet."""
        return False

    def discover_splits(
        self, taken: Mapping[int, int], limit: int, discovery: Discovery | None = None
    ) -> tuple[Split, ...]:
        """List the files of the commits that come next, of about `limit` rows in all."""
        last = None if discovery is None else discovery.partial_split(PARTITION)
        return self.feed.splits(last, taken.get(PARTITION, 0), limit)

    def check(self, splits: Sequence[Split]) -> None:
        """Raise E0489 for a file that is gone or is not the one that was logged."""
        what = self.find_change(splits)
        if what is not None:
            raise DataError(
                "E0489",
                f"{what}, but epochs refer to its former content",
                hint="VACUUM has removed it: keep more history (delta.deletedFileRetentionDuration)"
                ", and create the source again",
            )

    def find_change(self, splits: Sequence[Split], *, gone: bool = True) -> str | None:
        """Say which file is gone or is not the one that was logged: by size and time."""
        for split in splits:
            path = self._path(split)
            if not gone and stat_file(path) is None:
                continue
            what = file_change(path.parent, _as_file_split(split, path))
            if what is not None:
                return what
        return None

    def bounds(self, splits: Sequence[Split], column: str) -> tuple[Any, Any] | None:
        """Return the column's range from Parquet footers, of appended rows."""
        alone = self._alone(splits)
        return None if alone is None else alone[0].bounds(alone[1], column)

    def pieces(self, splits: Sequence[Split], column: str) -> Sequence[tuple[Any, Any]] | None:
        """Return the column's ranges in the files, of appended rows."""
        alone = self._alone(splits)
        return None if alone is None else alone[0].pieces(alone[1], column)

    def storable(self, splits: Sequence[Split]) -> Sequence[tuple[str, int]] | None:
        """Return files of appended rows that hold the declared columns alone."""
        alone = self._alone(splits)
        return None if alone is None else alone[0].storable(alone[1])

    def intact(self, splits: Sequence[Split], columns: Sequence[str]) -> bool:
        """Tell whether the footers of files of appended rows count no NULLs."""
        alone = self._alone(splits)
        return alone is not None and alone[0].intact(alone[1], columns)

    def without_unreadable(self, splits: Sequence[Split], *, changed: bool) -> Sequence[Split]:
        """Return the splits: rows of a table are not put aside by the file."""
        return splits

    def read_splits(self, spark: SparkSession, splits: Sequence[Split]) -> DataFrame:
        """Read splits: one scan per folder, kind of file, and values of partition columns."""
        self.check(splits)
        ordered = sorted(splits, key=self._scan_key)
        parts = [
            self._scan(spark, list(group)) for _, group in groupby(ordered, key=self._scan_key)
        ]
        return reduce(lambda left, right: left.unionAll(right), parts)

    def _scan_key(self, split: Split) -> tuple[str, str, str]:
        """Return the properties that files must share to be read by one scan."""
        values = split.payload.get("values") or {}
        return split.payload["kind"], repr(sorted(values.items())), str(self._path(split).parent)

    def _scan(self, spark: SparkSession, splits: list[Split]) -> DataFrame:
        kind, values = splits[0].payload["kind"], splits[0].payload.get("values") or {}
        folder = self._path(splits[0]).parent
        fed = kind.startswith("cdc")
        inner = [_as_file_split(split, self._path(split)) for split in splits]
        frame = self._files(folder, feed=fed).read_splits(spark, inner)
        if fed:
            kinds = _GONE if kind == "cdc-" else _CAME
            frame = frame.where(f"{CHANGE_TYPE} IN {kinds}")
        cast = [(f.name, _of_partition(f, values)) for f in self.spec.schema]
        names = [ident(c) if v is None else f"{v} AS {ident(c)}" for c, v in cast]
        corrupt = _corrupt(self.spec.schema, values, names)
        hidden = ["__partition", "__offset", *corrupt, "__file", "__line"]
        if self.feed.mode != APPEND:
            says = DELETES if kind in ("cdc-", "remove") else UPSERTS
            whole = ", ".join(f"{ident(f.name)}: {spark_type(f.type)}" for f in self.spec.schema)
            hidden += [
                f"CAST(NULL AS INT) AS {FAULT}",
                f"'{says}' AS {OPERATION}",
                f"CAST(NULL AS struct<{whole}>) AS {BEFORE}",
            ]
        near = {name.lower() for name in values}
        for name in self.spec.defaulted:
            column = absent_column(name)
            hidden.append(f"FALSE AS {column}" if name.lower() in near else column)
        return frame.selectExpr(*names, *hidden)

    def _files(self, folder: Path, *, feed: bool = False) -> FilesConnector:
        extra = (Field(CHANGE_TYPE, VARCHAR),) if feed else ()
        spec = replace(self.spec, schema=(*self.spec.schema, *extra), metadata=())
        return FilesConnector(
            spec, folder, "*", "parquet", None, dead_letters=False, limits=self.limits
        )

    def _alone(self, splits: Sequence[Split]) -> tuple[FilesConnector, list[Split]] | None:
        """Return files of appended rows of one folder as that of a connector of files."""
        keys = {self._scan_key(split) for split in splits}
        plain = all(not s.payload.get("values") and s.payload["kind"] == "add" for s in splits)
        if len(keys) != 1 or not plain or self.feed.mode != APPEND:
            return None
        found = [_as_file_split(split, self._path(split)) for split in splits]
        return self._files(self._path(splits[0]).parent), found

    def _path(self, split: Split) -> Path:
        return self.feed.folder / str(split.payload["path"])


def _as_file_split(split: Split, path: Path) -> Split:
    """Return a split as one of a connector of files."""
    known = {k: v for k, v in split.payload.items() if k in ("size", "mtime", "types", "digest")}
    payload = {**known, "file": path.name, "row": 0, "rows": split.end - split.start}
    return replace(split, payload=payload)


def _corrupt(schema: Schema, values: Mapping[str, str | None], names: Iterable[str]) -> list[str]:
    """Return the Spark text of `__corrupt` and `__reason`; times of a partition may be wrong, too.

    `names` are the texts of the columns of a row.
    """
    from floodmark.connectors.files.parquet_faults import beyond, row_text  # loads pyarrow

    whens = []
    for column in schema:
        value = _of_partition(column, values)
        outside = None if value is None else outside_years(value, column.type)
        if outside is not None:
            said = beyond(column.name, f"CAST({value} AS STRING)")
            whens.append(f"WHEN {outside} THEN {said}")
    if not whens:
        return ["__corrupt", REASON]
    fault = f"CASE {' '.join(whens)} END"
    row = f"CASE WHEN ({fault}) IS NOT NULL THEN {row_text(names)} END"
    return [f"coalesce({c}, {t}) AS {c}" for c, t in (("__corrupt", row), (REASON, fault))]


def _of_partition(column: Field, values: Mapping[str, str | None]) -> str | None:
    """Return the Spark text of the value that a partition has in a column; None for no such one."""
    near = {name.lower(): value for name, value in values.items()}
    if column.name.lower() not in near:
        return None
    value, type_ = near[column.name.lower()], spark_type(column.type)
    text = "NULL" if value is None or value == "" else quote(value)
    return f"CAST({text} AS {type_})"
