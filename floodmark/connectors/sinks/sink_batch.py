"""The changes of an epoch for a sink: stored in the warehouse, read without Spark."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from floodmark.changelog import ADDED, EPOCH, KIND
from floodmark.scalar.types import Field, Schema
from floodmark.spark.user_functions import arrow_type
from floodmark.storage.files.imported_files import is_delivered
from floodmark.storage.plain_files import open_parquet
from floodmark.storage.table import DataFile
from floodmark.stream.objects.external_sink import ExternalSink, SinkType

if TYPE_CHECKING:
    import pyarrow as pa

PUT, DELETE = "+U", "-D"
"""The row kinds of type upsert: a row takes the place of that of its key, or the key goes."""


@dataclass(frozen=True)
class SinkBatch:
    """Files of changes in reading order; rows of other epochs in them are skipped.

    `names` maps the sink's columns to those of the files. Without `kinds` every row is new. `order`
    are the columns of the changes' stream key, in the files.
    """

    epoch: int
    files: Sequence[tuple[DataFile, str]] = ()
    names: Mapping[str, str] | None = None
    kinds: bool = True
    order: Schema = ()
    piece: int = field(kw_only=True)

    def rows(self, sink: ExternalSink) -> Iterator[pa.Table]:
        """Yield the rows to write in batches, with the columns of `outside.written`."""
        for part in self._parts_by_type(sink):
            if part.num_rows:
                yield _sink_columns(part, sink)

    def _parts_by_type(self, sink: ExternalSink) -> Iterator[pa.Table]:
        columns = sink.columns
        match sink.type:
            case SinkType.RETRACT:
                yield from self._changes(columns)
            case SinkType.APPEND_ONLY:
                yield from (_filter_kinds(part, ADDED) for part in self._changes(columns))
            case SinkType.UPSERT:
                yield from self._upserts(columns, sink.key)

    def _upserts(self, columns: Schema, key: tuple[str, ...]) -> Iterator[pa.Table]:
        """Yield the last row of each key, or its delete."""
        names = self.names or {}
        if {names.get(c, c) for c in key} == {f.name for f in self.order}:
            for part in self._changes(columns):
                yield _mark_kinds(_without_old(part))
            return
        import pyarrow as pa

        order = tuple(Field(f"__order{i}", f.type) for i, f in enumerate(self.order))
        parts = list(self._changes(columns, order))
        if parts:
            yield _mark_kinds(_last_of_keys(pa.concat_tables(parts), key, [f.name for f in order]))

    def _changes(self, columns: Schema, order: Schema = ()) -> Iterator[pa.Table]:
        """Yield the kind and the columns of the epoch's changes, then those of the order."""
        names = self.names or {}
        read = [names.get(f.name, f.name) for f in columns]
        read += [f.name for f in self.order] if order else []
        wanted = (*columns, *order)
        for file, path in self.files:
            yield from self._file_parts(file, path, dict(zip(wanted, read, strict=True)))

    def _file_parts(
        self, file: DataFile, path: str, wanted: Mapping[Field, str]
    ) -> Iterator[pa.Table]:
        import pyarrow as pa
        from pyarrow import compute as pc

        mixed = not is_delivered(file) and file.low.get(EPOCH) != file.high.get(EPOCH)
        own = [KIND] * self.kinds + [EPOCH] * mixed
        schema = pa.schema([(KIND, pa.string()), *((f.name, arrow_type(f.type)) for f in wanted)])
        with open_parquet(path) as parquet:
            known = set(parquet.schema_arrow.names)
            read = sorted({*own, *wanted.values()} & known)
            for batch in parquet.iter_batches(self.piece, columns=read):
                part = pa.Table.from_batches([batch])
                if mixed:
                    part = part.filter(pc.equal(part.column(EPOCH), self.epoch))
                n = part.num_rows
                kind = part.column(KIND) if self.kinds else pa.repeat(pa.scalar("+I"), n)
                arrays = [
                    part.column(name).cast(arrow_type(f.type))
                    if name in known
                    else pa.nulls(n, arrow_type(f.type))
                    for f, name in wanted.items()
                ]
                yield pa.Table.from_arrays([kind, *arrays], schema=schema)


def _sink_columns(part: pa.Table, sink: ExternalSink) -> pa.Table:
    """Return the columns at the outside, the kind under its name there."""
    shown = part.select([f.name for f in sink.columns])
    if sink.op is None:
        return shown if not _keeps_kind(sink) else shown.append_column(KIND, part.column(KIND))
    return shown.add_column(0, sink.op, part.column(KIND))


def _keeps_kind(sink: ExternalSink) -> bool:
    """Tell whether who writes has to know the kinds of rows that nobody is shown."""
    return sink.type is SinkType.UPSERT


def _filter_kinds(part: pa.Table, kinds: Sequence[str]) -> pa.Table:
    import pyarrow as pa
    from pyarrow import compute as pc

    return part.filter(pc.is_in(part.column(KIND), value_set=pa.array(kinds)))


def _without_old(part: pa.Table) -> pa.Table:
    from pyarrow import compute as pc

    return part.filter(pc.not_equal(part.column(KIND), "-U"))


def _mark_kinds(part: pa.Table) -> pa.Table:
    """Return rows whose kind says whether they are put or deleted, by what it was."""
    import pyarrow as pa
    from pyarrow import compute as pc

    added = pc.is_in(part.column(KIND), value_set=pa.array(ADDED))
    return part.set_column(0, KIND, pc.if_else(added, PUT, DELETE))


def _last_of_keys(part: pa.Table, key: Sequence[str], order: Sequence[str]) -> pa.Table:
    """Return of each key the last row that was added, in an order, else one that went."""
    import pyarrow as pa
    from pyarrow import compute as pc

    added = pc.is_in(part.column(KIND), value_set=pa.array(ADDED))
    part = part.append_column("__added", pc.cast(added, pa.int8()))
    by = [("__added", "ascending"), *((name, "ascending") for name in order)]
    ordered = part.sort_by(by)
    seen = {row: i for i, row in enumerate(zip(*_lists(ordered, key), strict=True))}
    return ordered.take(sorted(seen.values())).drop_columns(["__added", *order])


def _lists(part: pa.Table, columns: Sequence[str]) -> list[list[object]]:
    return [[_plain(v) for v in part.column(name).to_pylist()] for name in columns]


def _plain(value: object) -> object:
    """Return a value that can be looked up: one NaN, one zero, no lists."""
    match value:
        case float():
            return math.nan if math.isnan(value) else value + 0.0
        case list() | tuple():
            return tuple(map(_plain, value))
        case dict():
            return tuple((name, _plain(part)) for name, part in value.items())
        case _:
            return value
