"""`floodmark backfill`: closed windows of a view against its query over all rows, late ones too."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from floodmark.changelog import EPOCH, KIND, WEIGHT
from floodmark.errors import DataError, NotSupported, UserError
from floodmark.plan import nodes as n
from floodmark.query.query import Reader
from floodmark.scalar.functions.intervals import micros_of
from floodmark.scalar.types import Field, Kind as TypeKind
from floodmark.session.ddl.renaming import renames_of
from floodmark.spark.literals import literal
from floodmark.spark.types import ident
from floodmark.storage.logs.correction_versions import CorrectedTables
from floodmark.storage.objects.contract import Location
from floodmark.storage.plain_files import read_parquet
from floodmark.storage.table import DataFile, Handle, raise_missing_version, raise_older
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.stream.objects.closing import closing_column
from floodmark.stream.operators.scan import StreamScan
from floodmark.tables import layout
from floodmark.tables.bounds import keeper
from floodmark.tables.correction_table import WEIGHED, application, corrections, newest
from floodmark.tables.tables import Tables
from floodmark.tables.window_finality import as_time, closes_in_time, final_bound
from floodmark.tools.corrections.differences import differences
from floodmark.tools.corrections.in_place import apply_in_place, check_readers
from floodmark.tools.corrections.recompute import Recomputation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from floodmark.api import Floodmark


@dataclass(frozen=True)
class EpochSpan:
    """The closed time that is computed once more: from `first` to before `end`, both aware."""

    first: datetime
    end: datetime

    def __post_init__(self) -> None:
        """Raise E0302 for a span without time."""
        if self.first >= self.end:
            raise UserError(
                "E0302",
                f"there is no time from {_text(self.first)} to before {_text(self.end)}",
                hint="--from is included, --to is not",
            )

    def ends(self, column: Field) -> tuple[Any, Any]:
        """Return both ends in the type of a column."""
        return _as_value(self.first, column), _as_value(self.end, column)

    def condition(self, column: Field) -> str:
        """Return the text of: the column is within."""
        low, high = (literal(end, column.type) for end in self.ends(column))
        return f"{ident(column.name)} >= {low} AND {ident(column.name)} < {high}"


@dataclass(frozen=True)
class CorrectionResult:
    """What a backfill of closed windows came to, as of an epoch.

    `rows` counts the corrections by kind; `backfill` is their number, 0 where there are none.
    `taken_in` is the epoch that put the view's corrections into its rows, 0 for none.
    """

    object: str
    span: EpochSpan
    epoch: int
    backfill: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    taken_in: int = 0

    @property
    def words(self) -> str:
        """Return the corrections in words: how many rows of which kind."""
        parts = (("+U", "changed"), ("+I", "added"), ("-D", "taken back"))
        counts = [f"{self.rows[k]:,} {word}" for k, word in parts if k in self.rows]
        return f"{self.object}: {', '.join(counts)}" if counts else "nothing to correct"


def correct(
    floodmark: Floodmark, name: str, span: EpochSpan, *, in_place: bool = False
) -> CorrectionResult:
    """Compute closed windows once more; `in_place` puts all corrections into the view's rows.

    See `_correct`; E0305 where something reads the view that takes no row back.
    """
    if in_place:
        check_readers(floodmark, _closing(floodmark, name))
    done = _correct(floodmark, name, span)
    return replace(done, taken_in=apply_in_place(floodmark, done.object)) if in_place else done


def _correct(floodmark: Floodmark, name: str, span: EpochSpan) -> CorrectionResult:
    """Write what the closed windows of a view lack, and have too much, to its corrections.

    Windows are those of which the closing column is within the span. Corrections of earlier
    backfills count as done. Raises E0301 for an object that emits nothing on close by a time, E0303
    for windows that are not closed, E0304 for a view that cannot be computed once more, E0415 where
    late rows are not kept any more.
    """
    warehouse = floodmark.warehouse
    with floodmark.loop.hold("a backfill"):
        pass  # an epoch that a selection has left open is complete now
    reader = floodmark.reader()
    obj = _closing(floodmark, name)
    again = Recomputation(reader, micros_of(warehouse.log.open_record(reader.cut.epoch).now))
    again.check(obj)
    _check_windows_closed(obj, reader, span)
    _check_late_retention(obj, floodmark, again, span)
    with floodmark.sessions().guard():
        handle = _open_table(obj, reader.tables, floodmark.warehouse.objects)
        number = newest(floodmark.store, obj) + 1
        taken_in = floodmark.deployed.corrected.get(obj.key, 0)
        rows = _corrections(obj, reader, again, span, taken_in)
        stamped = rows.selectExpr(
            f"{reader.cut.epoch}L AS {EPOCH}",
            KIND,
            *(ident(f.name) for f in layout.row_schema(obj)),
            f"{number}L AS {layout.BACKFILL}",
            f"timestamp_micros({micros_of(warehouse.clock.now())}L) AS {layout.CORRECTED_AT}",
        )
        files = _write_files(reader.tables, handle, number, stamped)
    if not files:
        return CorrectionResult(obj.key, span, reader.cut.epoch)
    counts = _kinds(reader.tables.store.paths(handle, files))
    _commit(floodmark, obj, handle, files, number)
    return CorrectionResult(obj.key, span, reader.cut.epoch, number, counts)


def _closing(floodmark: Floodmark, name: str) -> AnalysedObject:
    obj = floodmark.find(name)
    if closes_in_time(obj):
        return obj
    hint = "other views follow their inputs at once: there is nothing to correct"
    if obj.emits_on_close:
        hint = (
            "its rows wait for rows, or for numbers: no span of time says which ones are final; "
            "DROP it and CREATE it again to take late rows in"
        )
    raise NotSupported(
        "E0301",
        f"no column with a watermark says which rows of {obj.kind.value} {obj.name} are closed",
        hint=hint,
    )


def _column(obj: AnalysedObject) -> Field:
    column = closing_column(obj.plan)
    assert column is not None
    return column


def _check_windows_closed(obj: AnalysedObject, reader: Reader, span: EpochSpan) -> None:
    """Raise E0303 where windows of the span have not been emitted."""
    mark = final_bound(obj, reader.cut.records.get(obj.key))
    if mark is None or span.end > mark:
        reached = (
            "nothing is closed yet" if mark is None else f"closed is what is below {_text(mark)}"
        )
        raise UserError(
            "E0303",
            f"windows of {obj.name} up to {_text(span.end)} are not closed: {reached}",
            hint="choose a --to that the watermark has passed; open windows still take in rows "
            "by themselves",
        )


def _check_late_retention(
    obj: AnalysedObject, floodmark: Floodmark, again: Recomputation, span: EpochSpan
) -> None:
    """Raise E0415 where late rows that could be of the span are not kept any more."""
    sources, names = again.sources(obj), renames_of(floodmark.warehouse)
    log, oldest = floodmark.warehouse.log, floodmark.warehouse.retention_record.kept_epochs().oldest
    most = floodmark.warehouse.limits.correction_epochs
    for epoch in islice(range(oldest - 1, 0, -1), most):
        records = log.seal_record(epoch).objects
        then = [names.then(key, epoch) for key in sources]
        if not any(key in records and records[key].late_rows for key in then):
            continue
        record = records.get(names.then(obj.key, epoch))
        if record is None and floodmark.store.exists(layout.corrections_table(obj)):
            record = floodmark.status().get(obj.key)  # they may be of what the view began with
        mark = final_bound(obj, record)
        if mark is not None and span.first <= mark:
            raise DataError(
                "E0415",
                f"rows that came late for {obj.name} up to {_text(mark)} are not kept any more",
                hint=f"begin after that time; SET retention in the pipeline files keeps late rows "
                f"longer; epochs since {oldest} are kept",
            )
        return


def _corrections(
    obj: AnalysedObject, reader: Reader, again: Recomputation, span: EpochSpan, taken_in: int
) -> DataFrame:
    """Return the corrections of a span: kinds, and the view's columns.

    Earlier ones up to the number `taken_in` are in the view's rows.
    """
    relation = obj.relation
    names = [ident(f.name) for f in relation.columns]
    column = _column(obj)
    within, ends = span.condition(column), {column.name: span.ends(column)}
    scan = n.Scan(obj.key, relation.columns, relation.stream_key, relation.mode)
    keeps = keeper(StreamScan(scan, "r0", ()), ends)
    parts = [
        again.rows(obj, ends).where(within).selectExpr(*names, f"1 AS {WEIGHT}"),
        again.rows_to_scan(scan, keeps).where(within).selectExpr(*names, f"-1 AS {WEIGHT}"),
    ]
    earlier = corrections(reader.tables, obj)
    if earlier is not None:
        beside = f"{layout.BACKFILL} > {taken_in}"
        done = earlier.where(f"{within} AND {beside}").selectExpr(*names, WEIGHED)
        parts.append(done.selectExpr(*names, f"-{WEIGHT} AS {WEIGHT}"))
    weighed = parts[0]
    for part in parts[1:]:
        weighed = weighed.unionAll(part)
    return differences(obj, weighed, WEIGHT)


def _open_table(obj: AnalysedObject, tables: Tables, place: Location) -> Handle:
    """Return the table of corrections; E0434 where it has lost commits."""
    table = layout.corrections_table(obj)
    known = CorrectedTables(place).versions().get(table, 0)
    if not tables.store.exists(table):
        if known:
            raise_missing_version(table, None)
        return tables.store.create(table, layout.corrections_schema(obj))
    handle = tables.store.open(table)
    if handle.version < known:
        raise_older(table, handle.version, known)
    return handle


def _write_files(
    tables: Tables, handle: Handle, number: int, rows: DataFrame
) -> tuple[DataFile, ...]:
    attempt = secrets.randbelow(10**9) + 1
    rows.coalesce(1).write.parquet(tables.store.stage(handle.table, number, attempt))
    return tables.store.list_stage(handle.table, number, attempt)


def _commit(
    floodmark: Floodmark,
    obj: AnalysedObject,
    handle: Handle,
    files: tuple[DataFile, ...],
    number: int,
) -> None:
    """Commit corrections; another backfill of the view in the meantime is a conflict, E0501."""
    with floodmark.loop.hold(f"corrections of {obj.name}"):
        done = floodmark.store.commit(
            handle, adds=files, app=application(obj), epoch=number, metadata={"backfill": number}
        )
        CorrectedTables(floodmark.warehouse.objects).record_version(done.table, done.version)


def _kinds(paths: list[str]) -> dict[str, int]:
    """Return how many corrections of each kind written files have."""
    from pyarrow import compute as pc

    out: dict[str, int] = {}
    for path in paths:
        kinds = read_parquet(path, [KIND]).column(KIND)
        for pair in pc.value_counts(kinds).to_pylist():
            out[pair["values"]] = out.get(pair["values"], 0) + pair["counts"]
    return out


def parse_time(text: str) -> datetime:
    """Return a date or time as a person writes it, in UTC where it has no zone; else E0302.

    >>> parse_time("2013-01-02").isoformat()
    '2013-01-02T00:00:00+00:00'
    """
    try:
        return as_time(datetime.fromisoformat(text)).astimezone(UTC)
    except ValueError:
        raise UserError(
            "E0302", f"'{text}' is not a time", hint="write 2024-01-31 or 2024-01-31T06:00"
        ) from None


def _as_value(time: datetime, column: Field) -> Any:
    """Return a time in the type of a column; of a date, the first day that is not before it."""
    match column.type.kind:
        case TypeKind.DATE:
            later = time.date() + timedelta(days=1)
            return time.date() if time == as_time(date(time.year, time.month, time.day)) else later
        case TypeKind.TIMESTAMP:
            return time.astimezone(UTC).replace(tzinfo=None)
        case _:
            return time


def _text(time: datetime) -> str:
    """Return a time as messages have it: a date where it is midnight."""
    text = time.astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ")
    return text.removesuffix(" 00:00:00")
