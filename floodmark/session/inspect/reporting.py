"""Reports of what happened to each object since its last report.

Everything comes from the epoch log and file lists; Spark is not needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from floodmark.catalog.objects import ObjectKind
from floodmark.epochs.backfill.progress import running_backfills
from floodmark.errors import DataError
from floodmark.session.ddl.renaming import Renames, renames_of
from floodmark.storage.logs.epochs import Event, ObjectRecord, OpenRecord
from floodmark.storage.logs.last_reported import LastReport
from floodmark.storage.table import DataFile, Scalar
from floodmark.storage.warehouse import STATE
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.tables.current import count_rows
from floodmark.warehouse.warehouse import Warehouse

STORED = (ObjectKind.SOURCE, ObjectKind.TABLE, ObjectKind.MATERIALIZED_VIEW)


@dataclass(frozen=True)
class EpochStep:
    """One epoch of one object: its time, and the records before and after.

    If a changed query `takes_over`, it continues from the previous rows, but closes windows by
    itself.
    """

    epoch: int
    now: datetime
    before: ObjectRecord | None
    after: ObjectRecord
    takes_over: bool = False

    @property
    def watermarks_before(self) -> Mapping[str, Scalar]:
        """Return the watermarks of the object's query before the epoch."""
        return {} if self.before is None or self.takes_over else self.before.watermarks


@dataclass(frozen=True)
class ObjectReport:
    """The report of one object; `steps` are the epochs that changed it, oldest first.

    `suspended` is set if it is suspended now. Sinks into tables and plain views have no steps of
    their own.
    """

    obj: AnalysedObject
    epoch: int
    changed: int
    steps: tuple[EpochStep, ...] = ()
    suspended: Event | None = None

    @property
    def key(self) -> str:
        """Return the object's key."""
        return self.obj.key

    @property
    def data_version(self) -> str:
        """Return a digest that changes when the object's rows or its definition have changed."""
        text = f"{self.obj.fingerprint}\n{self.changed}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def to_last_report(self) -> LastReport:
        """Return the entry for the book of reports after this report."""
        return LastReport(
            self.epoch, self.changed, self.obj.fingerprint, self.suspended is not None
        )


def reports(warehouse: Warehouse, book: Mapping[str, LastReport]) -> list[ObjectReport]:
    """Return a report for every object with news, upstream first.

    An object has news if its rows, its definition or its state changed since its last report. A
    view that is backfilling has news when it has joined the cut. Objects that a selection has
    advanced in an open epoch count.
    """
    pipeline = warehouse.deployed().pipeline
    head = warehouse.log.head().sealed
    suspended = _all_suspensions(warehouse, pipeline)
    names = Renames()
    if not pipeline.objects.keys() <= book.keys():
        names = renames_of(warehouse)
        book = {names.now(key, last.epoch): last for key, last in book.items()} | dict(book)
    filling = {key for key in running_backfills(warehouse) if key not in suspended}
    seen = {key: book.get(key, LastReport()) for key in pipeline.objects if key not in filling}
    steps = _steps(warehouse, seen, head, names)
    out: dict[str, ObjectReport] = {}
    for key, obj in pipeline.objects.items():
        if key in filling:
            continue
        last = book.get(key, LastReport())
        mine = tuple(steps.get(key, ()))
        changed = max(
            (s.epoch for s in mine if s.after.rows_out or _joins(s)), default=last.changed
        )
        if last.suspended and key not in suspended:
            changed = head  # what it caught up belongs to epochs that are past
        if not _has_steps(obj):
            changed = max(_last_change(k, out, book) for k in (key, *obj.reads))
        epoch = max((s.epoch for s in mine), default=head)
        report = ObjectReport(obj, max(epoch, head), changed, mine, suspended.get(key))
        if _is_news(report, last):
            out[key] = report
    return list(out.values())


def _has_steps(obj: AnalysedObject) -> bool:
    """Tell whether epochs do something to an object of its own: store rows, or write outside."""
    return obj.kind in STORED or obj.external_sink is not None


def _joins(step: EpochStep) -> bool:
    return step.before is not None and step.before.backfilling


def recent(warehouse: Warehouse, keys: Collection[str]) -> list[ObjectReport]:
    """Return reports of some objects over the last epochs, independent of earlier reports."""
    newest = warehouse.log.head().sealed - warehouse.limits.recent_epochs
    first = max(warehouse.retention_record.kept_epochs().oldest, newest)
    if first == 1:
        first = 0  # the first epoch has nothing before it
    book = dict.fromkeys(keys, LastReport(first))
    pipeline = warehouse.deployed().pipeline
    suspended = _all_suspensions(warehouse, pipeline)
    steps = _steps(warehouse, book, warehouse.log.head().sealed, renames_of(warehouse))
    return [
        ObjectReport(
            obj,
            warehouse.log.head().sealed,
            first,
            tuple(steps.get(key, ())),
            suspended.get(key),
        )
        for key, obj in pipeline.objects.items()
        if key in keys
    ]


def advance_epochs(
    book: Mapping[str, LastReport], keys: Collection[str], epoch: int
) -> dict[str, LastReport]:
    """Return a book in which objects without news are reported up to an epoch."""
    return {
        key: replace(last, epoch=max(last.epoch, epoch)) if key in keys else last
        for key, last in book.items()
    }


def mark_reported(book: Mapping[str, LastReport], epoch: int) -> dict[str, LastReport]:
    """Return a book in which everything up to an epoch is reported, with or without checks."""
    return {key: replace(x, epoch=max(x.epoch, x.told, epoch)) for key, x in book.items()}


def _is_news(report: ObjectReport, last: LastReport) -> bool:
    now = report.to_last_report
    if report.suspended is not None or not report.epoch:
        return now.suspended != last.suspended
    changed = (now.changed, now.fingerprint, now.suspended)
    return bool(report.steps) or changed != (last.changed, last.fingerprint, last.suspended)


def _last_change(key: str, done: Mapping[str, ObjectReport], book: Mapping[str, LastReport]) -> int:
    """Return the last epoch that changed an object's rows, reported now or before."""
    return done[key].changed if key in done else book.get(key, LastReport()).changed


def _all_suspensions(warehouse: Warehouse, pipeline: Pipeline) -> dict[str, Event]:
    """Return the suspended objects and what depends on them, with the reason of the first."""
    out = dict(warehouse.suspensions())
    for key, obj in pipeline.objects.items():
        cause = next((out[k] for k in (*obj.reads, *obj.feeders) if k in out), None)
        if cause is not None:
            out.setdefault(key, cause)
    for table in [o for o in pipeline.objects.values() if o.key in out]:
        out.update(dict.fromkeys(table.feeders, out[table.key]))
    return out


def _steps(
    warehouse: Warehouse, book: Mapping[str, LastReport], head: int, names: Renames
) -> dict[str, list[EpochStep]]:
    """Return the epochs that touched the objects of a book after those that it has."""
    last = {key: entry.epoch for key, entry in book.items()}
    first = min(last.values(), default=head)
    out: dict[str, list[EpochStep]] = {}
    before: Mapping[str, ObjectRecord] = {}
    for opened, records in _epoch_records(warehouse, first, head):
        # What begins anew has nothing before it, and none of what it closed was closed before;
        # another query may go on from the rows that are there.
        new, previous = opened.renamed, _continued_keys(warehouse, opened)
        anew = {*opened.restarted} - previous
        known = {new.get(k, k): r for k, r in before.items() if k not in anew}
        for key, after in records.items() if opened.epoch > first else ():
            mine = names.now(key, opened.epoch)
            if after.touched and opened.epoch > last.get(mine, head):
                step = EpochStep(opened.epoch, opened.now, known.get(key), after, key in previous)
                out.setdefault(mine, []).append(step)
        before = records
    if (open_ := warehouse.log.head().open) is not None:
        for key, after in warehouse.log.partial_records(open_.epoch).items():
            if open_.epoch > last.get(key, open_.epoch):
                then = next((old for old, new in open_.renamed.items() if new == key), key)
                previous = _continued_keys(warehouse, open_)
                last_one = None if key in {*open_.restarted} - previous else before.get(then)
                step = EpochStep(open_.epoch, open_.now, last_one, after, key in previous)
                out.setdefault(key, []).append(step)
    return out


def _continued_keys(warehouse: Warehouse, opened: OpenRecord) -> set[str]:
    """Return the objects of which another query goes on from the rows in an epoch."""
    if not opened.restarted:
        return set()
    return {*warehouse.change_at(opened.epoch, opened.catalog_version).previous_definitions}


def _epoch_records(
    warehouse: Warehouse, first: int, head: int
) -> Iterator[tuple[OpenRecord, Mapping[str, ObjectRecord]]]:
    """Yield the retained epochs from `first` to `head`."""
    for epoch in warehouse.log.epochs(after=first - 1):
        if epoch > head:
            return
        yield warehouse.log.open_record(epoch), warehouse.log.seal_record(epoch).objects


def numbers(report: ObjectReport, warehouse: Warehouse) -> dict[str, int | float]:
    """Return a report's numbers, under the names that every orchestrator shows.

    Rows are summed over the epochs, seconds too; the epoch and the lag are the last's.
    """
    out: dict[str, int | float] = {"epoch": report.epoch}
    if not _has_steps(report.obj):
        return out
    done = [step.after for step in report.steps]
    by_key = report.obj.kind is ObjectKind.SOURCE and not report.obj.append_only
    ignored: tuple[str, ...] = ("ignored_rows",) if by_key else ()
    declared = report.obj.declared
    if declared is not None and (declared.ttl is not None or declared.ttl_column is not None):
        ignored = ("ignored_rows", "expired_rows", "timed_rows")
    for name in ("rows_in", "rows_out", "late_rows", "dead_rows", *ignored):
        out[name] = sum(getattr(record, name) for record in done)
    if report.obj.transforms:
        out["rows_stored"] = sum(record.rows_written for record in done)
        out["rows_dropped"] = sum(record.dropped_rows for record in done)
        out["rows_timed"] = sum(record.timed_rows for record in done)
        out["share_stored"] = share(out["rows_stored"], out["rows_in"])
    lag = None if not report.steps else watermark_lag(report.steps[-1])
    if lag is not None:
        out["watermark_lag_s"] = lag
    out["duration_s"] = round(sum(record.duration_s for record in done), 3)
    return out | sizes(report, warehouse)


def share(part: float, whole: float) -> float:
    """Return the ratio of a part to a whole; 1 if the whole is empty."""
    return round(part / whole, 4) if whole else 1.0


@dataclass(frozen=True)
class Intake:
    """The numbers of rows that a source received and stored over some epochs."""

    received: int
    stored: int

    def __str__(self) -> str:
        part = round(100 * share(self.stored, self.received))
        return f"{self.stored:,} of {self.received:,} ({part} %)"


def intakes(warehouse: Warehouse) -> dict[str, Intake]:
    """Return the received and stored rows of sources with TRANSFORM USING in the last epochs."""
    keys = [o.key for o in warehouse.deployed().pipeline.writing_objects if o.transforms]
    if not keys:
        return {}
    head = warehouse.log.head().sealed
    first = max(
        head - warehouse.limits.recent_epochs + 1, warehouse.retention_record.kept_epochs().oldest
    )
    epochs = [records for _, records in _epoch_records(warehouse, first, head)]
    return {
        key: Intake(sum(r.rows_in for r in mine), sum(r.rows_written for r in mine))
        for key in keys
        if (mine := [records[key] for records in epochs if key in records])
    }


def watermark_lag(step: EpochStep) -> float | None:
    """Return by how many seconds an object's first watermark is behind the epoch's time."""
    lag = step.after.lag(step.now)
    return None if lag is None else round(lag.total_seconds(), 3)


def sizes(report: ObjectReport, warehouse: Warehouse) -> dict[str, int]:
    """Return the rows of an object and the rows and bytes of its operators' state, from file lists.

    A state table belongs to the object; that of a sink to the table that it feeds.
    """
    steps = report.steps
    record = steps[-1].after if steps else warehouse.cut().records.get(report.key)
    versions: Mapping[str, int] = {} if record is None else record.versions
    state = [f for table in versions if table.startswith(f"{STATE}/")
             for f in files_at_version(warehouse, table, versions[table]) or ()]  # fmt: skip
    row_count = None
    with suppress(DataError):  # a version that is not kept any more
        row_count = count_rows(warehouse.store, report.obj, record)
    return {
        "state_rows": sum(f.rows for f in state),
        "state_bytes": sum(f.size for f in state),
        "row_count": row_count or 0,
    }


def files_at_version(warehouse: Warehouse, table: str, version: int) -> tuple[DataFile, ...] | None:
    """Return the files of a table at a version; None if the version has expired."""
    try:
        return warehouse.store.open(table, version).files
    except DataError:
        return None
