"""Accounts of row counts (P5): each row that came in is stored or accounted for exactly once.

They are computed without Spark, from the epoch log, file lists and the files' columns for epochs
and kinds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass

from floodmark.catalog.objects import ObjectKind
from floodmark.changelog import EPOCH, KIND, WEIGHT
from floodmark.session.ddl.renaming import renames_of
from floodmark.storage.checks.verification import RESTORE, TableFinding
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.storage.plain_files import read_parquet
from floodmark.storage.table import Handle, Store
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables import layout
from floodmark.warehouse.warehouse import Warehouse

_APPLIED = ("+I", "-D", "+U")
"""The kinds of a changelog, one for each key that an epoch changes."""


@dataclass(frozen=True)
class Account:
    """The counts of one object over the epochs from `since` on, and the rows in its tables.

    All numbers are rows over these epochs; `since` is 0 if they are all epochs of the object.
    `changed` is None for views and external sinks, because no count says how many rows they store.
    A row of a table can be replaced by one with another hidden key; `twice` bounds how often.
    """

    object: str
    since: int
    rows_in: int = 0
    applied: int = 0
    ignored: int = 0
    expired: int = 0
    dropped: int = 0
    late: int = 0
    dead: int = 0
    changed: int | None = None
    stored_late: int = 0
    stored_dead: int = 0
    twice: bool = False

    @property
    def faults(self) -> tuple[str, ...]:
        """Return a line for each count that does not add up."""
        names = []
        counts = {name: value for name, value in asdict(self).items() if isinstance(value, int)}
        negative = [name for name, value in counts.items() if value < 0]
        if negative:
            names.append(f"less than no rows: {', '.join(negative)}")
        most = 2 * self.applied if self.twice else self.applied
        if self.changed is not None and not self.applied <= self.changed <= most:
            names.append(
                f"{self.rows_in:,} rows came in, and {self.applied:,} of them are neither ignored, "
                f"expired, dropped, late nor dead; but {self.changed:,} are stored"
            )
        for what, counted, stored in (
            ("late rows", self.late, self.stored_late),
            ("dead letters", self.dead, self.stored_dead),
        ):
            if counted != stored:
                names.append(f"{counted:,} {what} were counted; but {stored:,} are stored")
        return tuple(names)


def accounts(warehouse: Warehouse, but: Collection[str | None] = ()) -> Iterator[Account]:
    """Yield the account of every stored object, except some, over the sealed epochs that are kept.

    The account of a refilled object starts at its refill. An object that has never been up to date
    has no account yet.
    """
    # One cut throughout: epochs may go on meanwhile.
    cut = warehouse.cut()
    counted, records = _count_rows(warehouse, cut.epoch), cut.records
    for obj in warehouse.deployed().pipeline.writing_objects:
        if obj.key in counted and obj.key in records and obj.key not in but:
            since, total = counted[obj.key]
            yield _account(warehouse.store, obj, since, total, records[obj.key].versions)


def verify_accounts(
    warehouse: Warehouse, keys: Collection[str] | None, but: Collection[str | None]
) -> Iterator[TableFinding]:
    """Yield an E0463 for each count that does not add up, of all objects or of `keys`."""
    stored = {o.key for o in warehouse.deployed().pipeline.writing_objects}
    for account in accounts(warehouse, {*but, *(() if keys is None else stored - {*keys})}):
        for fault in account.faults:
            yield TableFinding(f"{account.object}: {fault}", RESTORE, account.object, code="E0463")


def _count_rows(warehouse: Warehouse, head: int) -> dict[str, tuple[int, ObjectRecord]]:
    """Return, by key of today, from which epoch on an object's counts are whole, and their sum.

    The last epoch of the sum is `head`. Rows of an epoch that an object had missed are in that of
    its return: a sum begins after it.
    """
    out: dict[str, tuple[int, ObjectRecord]] = {}
    before: Mapping[str, ObjectRecord] = {}
    oldest = warehouse.retention_record.kept_epochs().oldest
    names = renames_of(warehouse)
    for epoch in warehouse.log.epochs(after=oldest - 1):
        if epoch > head:
            break
        opened, sealed = warehouse.log.open_record(epoch), warehouse.log.seal_record(epoch).objects
        previous = warehouse.change_at(epoch, opened.catalog_version).previous_definitions
        known = {opened.renamed.get(key, key): record for key, record in before.items()}
        for key, record in sealed.items():
            today = names.now(key, epoch)
            if epoch == 1 or _is_refilled(key, opened.restarted, known, previous):
                if epoch > oldest or epoch == 1:
                    out[today] = (0, record)
            elif today in out:
                since, total = out[today]
                out[today] = (since, record.add_earlier(total))
            elif key in known and known[key].position == epoch - 1:
                out[today] = (epoch, record)
        before = sealed
    return out


def _is_refilled(
    key: str,
    restarted: Collection[str],
    before: Mapping[str, ObjectRecord],
    previous: Collection[str],
) -> bool:
    """Tell whether an object has nothing of what an object of its name had before the epoch."""
    return key not in before or (key in restarted and key not in previous)


def _account(
    store: Store,
    obj: AnalysedObject,
    since: int,
    total: ObjectRecord,
    versions: Mapping[str, int],
) -> Account:
    def count_stored(table: str, column: str | None = None, kept: Collection[object] = ()) -> int:
        version = versions.get(table)
        handle = None if version is None else store.open(table, store.settle(table, version))
        return 0 if handle is None else _rows(store, handle, since, column, kept)

    takes_in = obj.kind in (ObjectKind.SOURCE, ObjectKind.TABLE)
    changed: int | None = None
    if takes_in and obj.append_only:
        changed = total.rows_written
    elif takes_in:
        # What time alone ends is among the changes, but for what is seen during a period.
        ended = 0 if obj.period else total.timed_rows
        changed = count_stored(layout.changes_table(obj), KIND, _APPLIED) - ended
    aside = total.ignored_rows + total.expired_rows + total.dropped_rows
    return Account(
        obj.key,
        since,
        rows_in=total.rows_in,
        applied=total.rows_in - aside - total.late_rows - total.dead_rows if takes_in else 0,
        ignored=total.ignored_rows,
        expired=total.expired_rows,
        dropped=total.dropped_rows,
        late=total.late_rows,
        dead=total.dead_rows,
        changed=changed,
        stored_late=count_stored(layout.late_table(obj)),
        stored_dead=count_stored(layout.dead_letter_table(obj), WEIGHT, range(1, 2**31)),
        twice=obj.kind is ObjectKind.TABLE and not obj.append_only,
    )


def _rows(
    store: Store, handle: Handle, since: int, column: str | None, kept: Collection[object]
) -> int:
    """Return how many rows of the epochs from `since` on have one of some values in a column."""
    counted = 0
    for file, path in zip(handle.files, store.paths(handle), strict=True):
        if file.high.get(EPOCH, since) < since:
            continue
        whole = file.low.get(EPOCH, -1) >= since or not since
        if whole and (column is None or file.low.get(WEIGHT) == file.high.get(WEIGHT) == 1):
            counted += file.rows
            continue
        columns = [EPOCH, *([] if column is None else [column])]
        rows = read_parquet(path, columns).to_pydict()
        values = rows[column] if column is not None else rows[EPOCH]
        for epoch, value in zip(rows[EPOCH], values, strict=True):
            counted += epoch >= since and (column is None or value in kept)
    return counted
