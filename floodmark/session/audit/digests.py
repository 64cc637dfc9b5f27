"""Digests of multisets of rows, and the rows in which two multisets differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from floodmark.changelog import EPOCH
from floodmark.limits import Limits
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.types import Field, Kind, Schema
from floodmark.spark.round_trips import fetch
from floodmark.spark.types import ident

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STORED, REPLAYED = "stored", "replayed"
_NESTED = (Kind.LIST, Kind.MAP, Kind.STRUCT, Kind.INTERVAL)
_JSON = (
    "map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSSXXX', "
    "'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')"
)


@dataclass(frozen=True)
class RowPart:
    """Rows of one kind (changes, late rows, …): those that an epoch published and replayed ones."""

    label: str
    columns: Schema
    stored: DataFrame | None
    replayed: DataFrame | None

    @property
    def sides(self) -> tuple[tuple[str, DataFrame], ...]:
        """Return the sides that have rows."""
        both = ((STORED, self.stored), (REPLAYED, self.replayed))
        return tuple((side, frame) for side, frame in both if frame is not None)

    @property
    def digest_columns(self) -> Schema:
        """Return the columns without the epoch, which is the same in all rows."""
        return tuple(f for f in self.columns if f.name != EPOCH)


@dataclass(frozen=True)
class Digest:
    """The number of rows, and their digest as a multiset in 16 hexadecimal digits."""

    rows: int
    text: str


@dataclass(frozen=True)
class RowDifference:
    """A row that one side (`stored` or `replayed`) has `count` times more than the other.

    `part` is the kind of the row: a change, a stored row, a late row or a dead letter. Values of
    nested types are JSON; `types` are the SQL types' texts.
    """

    part: str
    side: str
    count: int
    names: tuple[str, ...]
    types: tuple[str, ...]
    values: tuple[Any, ...]


def digests(parts: Sequence[RowPart]) -> tuple[Digest, Digest]:
    """Return the digests of the stored and of the replayed rows, by one Spark job."""
    frames = [
        _hash_rows(part, frame).selectExpr(
            f"{quote(part.label)} AS part", f"{quote(side)} AS side", "one", "two"
        )
        for part in parts
        for side, frame in part.sides
    ]
    if not frames:
        return (_digest([]), _digest([]))
    sums = (
        reduce(lambda a, b: a.unionAll(b), frames)
        .groupBy("part", "side")
        .agg({"*": "count", "one": "sum", "two": "sum"})
        .selectExpr("part", "side", "`count(1)` AS n", "`sum(one)` AS one", "`sum(two)` AS two")
    )
    sides = fetch(sums).to_pylist()
    return (
        _digest([r for r in sides if r["side"] == STORED]),
        _digest([r for r in sides if r["side"] == REPLAYED]),
    )


def _hash_rows(part: RowPart, frame: DataFrame) -> DataFrame:
    """Return two hashes of each row, as numbers whose sum has room."""
    values = [text for f in part.digest_columns for text in (f"{_plain(f)} IS NULL", _plain(f))]
    inside = ", ".join(values)
    hashes = (f"CAST(xxhash64({salt}, {inside}) AS DECIMAL(20,0))" for salt in (1, 2))
    one, two = hashes
    return frame.selectExpr(f"{one} AS one", f"{two} AS two")


def _plain(field: Field) -> str:
    """Return a column as a value that can be hashed, grouped and shown."""
    name = ident(field.name)
    if field.type.kind is Kind.MAP:
        name = f"map_from_entries(array_sort(map_entries({name})))"
    if field.type.kind not in _NESTED:
        return name
    return (
        f"CASE WHEN {ident(field.name)} IS NOT NULL THEN to_json(struct({name} AS v), {_JSON}) END"
    )


def _digest(sums: Sequence[dict[str, Any]]) -> Digest:
    rows = sorted((r["part"], int(r["n"]), int(r["one"]), int(r["two"])) for r in sums)
    text = blake2b(repr(rows).encode(), digest_size=8).hexdigest()
    return Digest(sum(n for _, n, _, _ in rows), text)


def differences(parts: Sequence[RowPart], limits: Limits) -> tuple[RowDifference, ...]:
    """Return the first rows in which the sides differ; at most one Spark job per part."""
    out, most = list[RowDifference](), limits.shown_differences
    for part in parts:
        if len(out) < most and part.sides:
            out += _differing(part, most - len(out))
    return tuple(out)


def _differing(part: RowPart, most: int) -> Iterator[RowDifference]:
    names = [ident(f.name) for f in part.digest_columns]
    shown = [f"{_plain(f)} AS {ident(f.name)}" for f in part.digest_columns]
    signed = [
        frame.selectExpr(*shown, f"{1 if side == STORED else -1} AS __side")
        for side, frame in part.sides
    ]
    both = reduce(lambda a, b: a.unionAll(b), signed)
    sums = both.groupBy(*names).agg({"__side": "sum"}).where("`sum(__side)` <> 0")
    rows = fetch(sums.orderBy(*names, "`sum(__side)`").limit(most)).to_pylist()
    columns = tuple(f.name for f in part.digest_columns)
    types = tuple("json" if f.type.kind in _NESTED else str(f.type) for f in part.digest_columns)
    for row in rows:
        count = int(row["sum(__side)"])
        side = STORED if count > 0 else REPLAYED
        values = tuple(row[name] for name in columns)
        yield RowDifference(part.label, side, abs(count), columns, types, values)
