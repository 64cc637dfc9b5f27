"""The epoch log: the inputs of each epoch, written before any work, and its results.

`_floodmark/epochs/<epoch // 1000>/` holds, per epoch, `<epoch>.open.json`, `<epoch>.seal.json` and
numbered events. A record is put in place once, whole, and never changes. The newest epoch is found
from two folder listings, however many epochs there are, which show what is missing between others;
after that, from where it was found before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, TypeVar

from floodmark.errors import DataError, TransientError
from floodmark.limits import LIMITS
from floodmark.storage.durability import objects_of
from floodmark.storage.logs.epoch_additions import Addition, Advanced, Amended, Asked, Undone
from floodmark.storage.logs.epoch_listing import BUCKET as BUCKET, buckets, list_bucket
from floodmark.storage.logs.object_record import ObjectRecord as ObjectRecord
from floodmark.storage.logs.record_files import RecordFiles
from floodmark.storage.logs.row_files import EntryRows, flush_rows, from_log, to_log
from floodmark.storage.objects.contract import Location
from floodmark.storage.records.text import Record, new_id

_DISCOVERED = "discovered.json"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class OpenRecord:
    """An epoch as it was opened.

    `splits` has the connector splits (JSON form) per source, `dml` the files of DML rows.
    `positions` is the end offset per source and partition after this epoch, all sources included.
    Under `dml_of` a table, it is the number of rows that statements have written. The positions of
    `restarted` objects begin at nothing again. `backfills` has the records from which views go on
    whose backfill begins or ends with the epoch. It takes in everything that `exhausted` sources
    had. From the epoch on, `renamed` objects have new keys; here they are by the former ones. `id`
    is that of the record, which every commit of the epoch has; None where a former version wrote
    it.
    """

    epoch: int
    now: datetime
    catalog_version: int
    opened_at: datetime
    splits: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    dml: Sequence[EntryRows] = ()
    positions: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    restarted: Sequence[str] = ()
    backfills: Mapping[str, ObjectRecord] = field(default_factory=dict)
    exhausted: Sequence[str] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    id: str | None = field(default=None, compare=False)

    @property
    def kind(self) -> str:
        """Return what the epoch is for: `dml`, `data`, or `ddl`."""
        return "dml" if self.dml else "data" if self.splits else "ddl"


@dataclass(frozen=True, slots=True)
class Event:
    """Something worth remembering in an epoch: a suspension, a resumption, a note, a warning.

    A suspension tells how many `tries` in a row have ended with its code.
    """

    kind: Literal["suspend", "resume", "note", "warning"]
    epoch: int
    at: datetime
    message: str = ""
    object: str | None = None
    code: str | None = None
    tries: int = 1


@dataclass(frozen=True, slots=True)
class SealRecord:
    """A finished epoch: every object's record, and the suspensions in force after it."""

    epoch: int
    sealed_at: datetime
    objects: Mapping[str, ObjectRecord]
    suspended: Mapping[str, Event] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LogHead:
    """The end of the log: the last sealed epoch (0 before the first) and the open one."""

    sealed: int
    open: OpenRecord | None


def dml_of(table: str) -> str:
    """Return under which name positions count the rows that statements wrote into a table.

    >>> dml_of("public.t")
    'dml:public.t'
    """
    return f"dml:{table}"


class EpochLog:
    """The epoch log of one warehouse; epochs count from 1."""

    def __init__(self, place: Location) -> None:
        self.objects = objects_of(place)
        self._files = RecordFiles(self.objects, "epochs", "the epoch log")
        self._sealed = 0

    def head(self) -> LogHead:
        """Return the end of the log; E0431 where a listing lacks a record between others.

        The first call lists the log, as do later ones that cannot follow its end.
        """
        last, is_sealed = self._last()
        return LogHead(last, None) if is_sealed else LogHead(last - 1, self.open_record(last))

    def open(
        self,
        epoch: int,
        now: datetime,
        catalog_version: int,
        opened_at: datetime,
        *,
        splits: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
        dml: Sequence[Mapping[str, Any]] = (),
        notes: Sequence[str] = (),
        restarted: Sequence[str] = (),
        backfills: Mapping[str, ObjectRecord] | None = None,
        exhausted: Sequence[str] = (),
        renamed: Mapping[str, str] | None = None,
    ) -> OpenRecord:
        """Open the epoch after the last sealed one; E0506 when somebody else has."""
        head = self.head()
        if head.open is not None or epoch != head.sealed + 1:
            _raise_taken(epoch, "opened")
        gone = {*restarted, *map(dml_of, restarted)}
        before = {k: v for k, v in self.positions().items() if k not in gone}
        names = dict(renamed or {})
        names |= {dml_of(old): dml_of(new) for old, new in names.items()}
        before = {names.get(k, k): v for k, v in before.items()}
        positions = _positions_after(before, splits or {}, dml)
        record = OpenRecord(
            epoch,
            now,
            catalog_version,
            opened_at,
            splits or {},
            dml,
            positions,
            notes,
            restarted,
            backfills or {},
            exhausted,
            renamed or {},
            new_id(),
        )
        flush_rows(self.objects, dml)
        self._put_record(epoch, "open", record)
        return record

    def seal(self, epoch: int, objects: Sequence[ObjectRecord], sealed_at: datetime) -> SealRecord:
        """Seal the open epoch with the records of all active objects, untouched ones included."""
        assert self._has(epoch, "open"), f"epoch {epoch} is not open"
        by_name = {record.object: record for record in objects}
        record = SealRecord(epoch, sealed_at, by_name, self._suspensions_after(epoch))
        self._put_record(epoch, "seal", record)
        return record

    def record_advanced(self, epoch: int, objects: Sequence[ObjectRecord]) -> None:
        """Append the records of objects that a selection has advanced in an epoch left open.

        They spare the next run the work; what is not here is found out from the objects' tables.
        """
        self._append(epoch, "advanced", Advanced(objects))

    def amend(self, epoch: int, splits: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """Replace sources' splits in an opened epoch, in which they have not advanced.

        Partitions, offsets and rows to come stay: only how a split is read may differ.
        """
        self._append(epoch, "amended", Amended(splits))

    def undo(self, epoch: int, catalog_version: int, note: str) -> OpenRecord:
        """Let the open epoch do nothing of what it was opened for, and go by another version.

        What has been undone stays as it was undone. The record keeps its id.
        """
        before = self.open_record(epoch - 1).positions if epoch > 1 else {}
        self._try_put(epoch, f"undone-{0:06d}", Undone(catalog_version, before, note))
        return self.open_record(epoch)

    def pin(self, epoch: int, table: str, version: int | None) -> int | None:
        """Return at which version an epoch asks a table outside: the first that was given for it.

        It is logged before anything is read; without a version nothing is, and None may come back.
        """
        number = self._external_version(epoch, table)
        if number is None and version is not None:
            self._append(epoch, "asked", Asked(table, version))
            number = self._external_version(epoch, table)
        return number

    def _external_version(self, epoch: int, table: str) -> int | None:
        records = self._iterate_numbered(epoch, "asked", Asked)
        return next((record.version for record in records if record.table == table), None)

    def partial_records(self, epoch: int) -> dict[str, ObjectRecord]:
        """Return what selections have advanced in an epoch so far, by object."""
        out: dict[str, ObjectRecord] = {}
        for advanced in self._iterate_numbered(epoch, "advanced", Advanced):
            out.update({record.object: record for record in advanced.objects})
        return out

    def open_record(self, epoch: int) -> OpenRecord:
        """Return how an epoch was opened; one that is not there is a `DataError` E0410."""
        record = self._require(epoch, "open", OpenRecord)
        opened: OpenRecord = record.body
        for undone in self._iterate_numbered(epoch, "undone", Undone):
            opened = OpenRecord(
                opened.epoch,
                opened.now,
                undone.catalog_version,
                opened.opened_at,
                positions=undone.positions,
                notes=(*opened.notes, undone.note),
            )
        splits = dict(opened.splits)
        for amended in self._iterate_numbered(epoch, "amended", Amended):
            splits |= amended.splits
        return replace(
            opened, splits=splits, dml=from_log(self.objects.place, opened.dml), id=record.id
        )

    def catalog_version(self, epoch: int) -> int:
        """Return the catalog version of an epoch, 0 before the first."""
        return self.open_record(epoch).catalog_version if epoch else 0

    def time_of(self, epoch: int) -> datetime:
        """Return the time of an epoch: what `now()` was in it."""
        return self.open_record(epoch).now

    def id_of(self, epoch: int) -> str | None:
        """Return the id of an epoch's record; None where a former version wrote it."""
        return self._require(epoch, "open", OpenRecord).id

    def seal_record(self, epoch: int) -> SealRecord:
        """Return how an epoch was sealed; one that is not there is a `DataError` E0410."""
        sealed: SealRecord = self._require(epoch, "seal", SealRecord).body
        return sealed

    def positions(self) -> Mapping[str, Mapping[int, int]]:
        """Return, per source and partition, the end offset of what is taken in so far."""
        last, _ = self._last()
        return self.open_record(last).positions if last else {}

    def record(
        self,
        kind: Literal["suspend", "resume", "note", "warning"],
        at: datetime,
        message: str = "",
        *,
        object: str | None = None,
        code: str | None = None,
    ) -> Event:
        """Append an event to the open epoch, or to the next one when none is open."""
        sealed = self.head().sealed
        before = self.seal_record(sealed).suspended.get(object or "") if sealed else None
        again = kind == "suspend" and before is not None and before.code == code
        tries = before.tries + 1 if again and before is not None else 1
        event = Event(kind, sealed + 1, at, message, object, code, tries)
        number = len(self.events(event.epoch))
        while not self._try_put(event.epoch, f"event-{number:06d}", event):
            number += 1
        return event

    def events(self, epoch: int) -> list[Event]:
        """Return the events of an epoch, oldest first."""
        return list(self._iterate_numbered(epoch, "event", Event))

    def suspensions(self) -> dict[str, Event]:
        """Return the suspensions in force now, by object."""
        return self._suspensions_after(self.head().sealed + 1)

    def epochs(self, after: int = 0) -> Iterator[int]:
        """Iterate over the epochs after the given one, oldest first; E0431 where one is missing."""
        last, _ = self._last()
        for bucket in range(max(after, 0) // BUCKET, last // BUCKET + 1):
            if last:
                numbers = list_bucket(self._files, bucket, full=bucket < last // BUCKET).opened
                yield from (epoch for epoch in sorted(numbers) if epoch > after)

    def record_discovered(self, epoch: int, sources: Mapping[str, Any]) -> None:
        """Keep what the splits up to an epoch, the last of its bucket, amount to, by source.

        It spares reading them all again, follows from them, and takes the place of an older one.
        """
        assert (epoch + 1) % BUCKET == 0
        self._files.replace(f"{epoch // BUCKET}/{_DISCOVERED}", sources, derived=True)
        self._files.remove(f"{epoch // BUCKET - 1}/{_DISCOVERED}")

    def last_discovery(self) -> tuple[int, dict[str, Any]]:
        """Return the newest epoch of `record_discovered`, 0 for none, and what it was given.

        A damaged one counts as none.
        """
        for bucket in reversed(buckets(self._files)):
            found = self._files.read_derived(f"{bucket}/{_DISCOVERED}", dict[str, Any])
            if found is not None:
                return (bucket + 1) * BUCKET - 1, found
        return 0, {}

    def _last(self) -> tuple[int, bool]:
        """Return the newest epoch, 0 before the first, and whether it is sealed."""
        last, is_sealed = self._follow() or self._list_last()
        self._sealed = last if is_sealed else last - 1
        return last, is_sealed

    def _follow(self) -> tuple[int, bool] | None:
        """Return the newest epoch if it follows the one that was sealed when last asked.

        None where that is not known or gone, or where many epochs were sealed meanwhile.
        """
        known = self._sealed
        if not known or not self._has(known, "seal"):
            return None
        for epoch in range(known + 1, known + 1 + LIMITS.followed_epochs):
            if not self._has(epoch, "open"):
                return epoch - 1, True
            if not self._has(epoch, "seal"):
                return epoch, False
        return None

    def _list_last(self) -> tuple[int, bool]:
        for bucket in reversed(buckets(self._files)):
            listing = list_bucket(self._files, bucket)
            if listing.opened:
                return listing.last, listing.last in listing.sealed
        return 0, True

    def _has(self, epoch: int, kind: str) -> bool:
        return self._files.has(_name(epoch, kind))

    def _suspensions_after(self, epoch: int) -> dict[str, Event]:
        before = self.seal_record(epoch - 1).suspended if epoch > 1 else {}
        suspended = dict(before)
        for event in self.events(epoch):
            if event.kind == "suspend" and event.object is not None:
                suspended[event.object] = event
            elif event.kind == "resume" and event.object is not None:
                suspended.pop(event.object, None)
        return suspended

    def _require(self, epoch: int, name: str, kind: type) -> Record:
        """Return a record of an epoch; E0410 where there is none."""
        record = self._files.read_immutable(_name(epoch, name), kind)
        if record is None:
            raise DataError(
                "E0410",
                f"epoch {epoch} is not in the log, or not sealed",
                hint=f"the last sealed epoch is {self.head().sealed}",
            )
        return record

    def _put_record(self, epoch: int, kind: str, record: OpenRecord | SealRecord) -> None:
        if not self._try_put(epoch, kind, record):
            _raise_taken(epoch, "opened" if kind == "open" else "sealed")

    def _iterate_numbered(self, epoch: int, name: str, kind: type[_T]) -> Iterator[_T]:
        """Iterate over an epoch's records of a kind that there may be several of."""
        number = 0
        while (found := self._files.body(_name(epoch, f"{name}-{number:06d}"), kind)) is not None:
            yield found
            number += 1

    def _append(self, epoch: int, kind: str, record: Addition) -> None:
        number = 0
        while not self._try_put(epoch, f"{kind}-{number:06d}", record):
            number += 1

    def _try_put(
        self, epoch: int, kind: str, record: OpenRecord | SealRecord | Event | Addition
    ) -> bool:
        data = asdict(record)
        if "dml" in data:
            data["dml"] = to_log(self.objects.place, data["dml"])
        return self._files.create(_name(epoch, kind), data, id=data.pop("id", None))


def _name(epoch: int, kind: str) -> str:
    return f"{epoch // BUCKET}/{epoch}.{kind}.json"


def _raise_taken(epoch: int, what: str) -> None:
    raise TransientError(
        "E0506",
        f"epoch {epoch} cannot be {what}: another process has written the log",
        hint="run again: the run continues from the end of the epoch log",
    )


def _positions_after(
    before: Mapping[str, Mapping[int, int]],
    splits: Mapping[str, Sequence[Mapping[str, Any]]],
    dml: Sequence[Mapping[str, Any]],
) -> dict[str, Mapping[int, int]]:
    positions: dict[str, Mapping[int, int]] = dict(before)
    for source, taken in splits.items():
        ends = dict(positions.get(source, {}))
        for split in taken:
            partition = int(split["partition"])
            ends[partition] = max(ends.get(partition, 0), int(split["end"]))
        positions[source] = ends
    for item in dml:
        written = positions.get(dml_of(item["table"]), {}).get(0, 0) + int(item["rows"])
        positions[dml_of(item["table"])] = {0: written}
    return positions
