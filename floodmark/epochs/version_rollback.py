"""Rollback of definitions that are logged but cannot be applied, so that they block no later run.

A new version with the previous definitions is logged; it names the version that it rolls back.
After that, each further step can be repeated: the epoch's record refers to the new version, changed
tables get their former columns, and suspensions are restored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import NoReturn, TypeVar

from floodmark import failpoints
from floodmark.errors import DataError, FloodmarkError, TransientError, UserError
from floodmark.storage.checks.older_log import tables_of_epoch
from floodmark.storage.logs.catalog import CatalogVersion, TakenBack
from floodmark.storage.logs.epochs import ObjectRecord, OpenRecord
from floodmark.tables.tables import RESHAPE, UNDO
from floodmark.warehouse.suspensions import suspend
from floodmark.warehouse.warehouse import Warehouse

_T = TypeVar("_T")
_NAMED = 3
"""How many tables an error names."""
COMMAND = "`floodmark rollback`"


def is_of_definitions(error: BaseException) -> bool:
    """Tell whether an error is caused by the definitions, not by data or the disk."""
    return isinstance(error, UserError) and not isinstance(error, DataError)


def attempt(warehouse: Warehouse, version: int, step: Callable[[], _T]) -> _T | None:
    """Return the result of a step towards applying a version; None if that was taken back.

    That happens where the step finds the definitions wrong and the epoch has done nothing yet.
    Other errors are raised, with a hint of what a person can do about the version.
    """
    try:
        with _name_version_in_the_way(warehouse, version):
            return step()
    except UserError as error:
        if not is_of_definitions(error) or take_back(warehouse, error) is None:
            raise
        return None


@contextmanager
def _name_version_in_the_way(warehouse: Warehouse, version: int) -> Iterator[None]:
    """Let an error of the block name the version that is in the way and can be taken back.

    E0437 stands for an error without a code. What passes is raised as it is.
    """
    try:
        yield
    except TransientError:
        raise
    except Exception as error:
        before = warehouse.newest_sealed_version()
        if version == before or is_of_definitions(error):
            raise
        what = ", ".join(_changes(warehouse, before, version))
        if isinstance(error, FloodmarkError):
            error.hint = f"{error.hint or 'mend it'}; or {COMMAND} takes back what the open "
            error.hint += f"epoch is to do: {what}"
            raise
        raise DataError(
            "E0437",
            f"the definitions of catalog version {version} cannot be applied: "
            f"{type(error).__name__}: {error}",
            hint=f"{COMMAND} rolls them back: {what}; report the error, with this text, as a "
            "defect",
        ) from error


def take_back(warehouse: Warehouse, error: FloodmarkError | None = None) -> int | None:
    """Log that the newest version is rolled back, and let the open epoch use the previous one.

    Return the version from then on; None where none waits to be applied. Without an `error` a
    person wants it so. E0438 where the epoch has done a part already; the `error` where there is
    one. The lease is held.
    """
    latest, head = warehouse.catalogs.latest(), warehouse.log.head()
    before = warehouse.newest_sealed_version()
    if latest is None or latest.version <= before or (error is not None and latest.takes_back):
        return None
    if latest.takes_back is None:
        done = _irreversible_work(warehouse, head.sealed + 1) if head.open is not None else None
        if done is not None:
            _refuse(head.sealed + 1, done, error)
        try:
            warehouse.definitions_of_version(before)
        except UserError as also:
            raise error or also from also
        defined = warehouse.catalogs.get(before).statements if before else ()
        changes = _changes(warehouse, before, latest.version)
        said = ("", "at a person's word") if error is None else (error.code, error.message)
        back = TakenBack(latest.version, *said, changes)
        now = warehouse.clock.now()
        latest = warehouse.catalogs.append(head.sealed + 1, defined, now, takes_back=back)
        failpoints.reach("change_taken_back")
    return drop_open_epoch(warehouse, head.open, latest)


def drop_open_epoch(
    warehouse: Warehouse, opened: OpenRecord | None, latest: CatalogVersion | None
) -> int | None:
    """Let the open epoch go by a version that takes back what it was opened for, if there is one.

    Return that version.
    """
    if (
        latest is None
        or latest.takes_back is None
        or latest.version <= warehouse.newest_sealed_version()
    ):
        return None
    if opened is not None and opened.catalog_version == latest.takes_back.version:
        warehouse.log.undo(opened.epoch, latest.version, latest.takes_back.text)
        failpoints.reach("epoch_undone")
    return latest.version


def raise_taken_back(warehouse: Warehouse, version: int) -> None:
    """Raise the reason why a version was rolled back, if it was."""
    back = warehouse.catalogs.find_take_back(version)
    if back is not None:
        raise UserError(
            back.code or "E0437",
            f"{back.message}; nothing has changed: {', '.join(back.changes)} is taken back",
            hint="mend what the message names; docs/errors.md has more on the code",
        )


def restore_tables(
    warehouse: Warehouse, kept: Mapping[str, ObjectRecord], record: OpenRecord
) -> dict[str, ObjectRecord]:
    """Restore former columns of tables, and suspensions that the epoch had lifted.

    Only in an epoch that takes definitions back is there anything to do.
    """
    change = warehouse.change_at(record.epoch, record.catalog_version)
    if change.before.version == change.after.version or change.after.takes_back is None:
        return dict(kept)
    warehouse.pending_drops.forget()
    log, now = warehouse.log, warehouse.clock.now()
    before = log.seal_record(record.epoch - 1).suspended if record.epoch > 1 else {}
    for key in before.keys() - log.suspensions().keys():
        event = before[key]
        log.record("suspend", now, event.message, object=key, code=event.code)
    out = dict(kept)
    for key in kept.keys() - log.suspensions().keys():
        try:
            versions = {
                t: _version_before(warehouse, t, v, record) for t, v in kept[key].versions.items()
            }
            out[key] = replace(kept[key], versions=versions)
        except TransientError:
            raise
        except FloodmarkError as error:
            suspend(warehouse, key, error)
    return out


def _version_before(warehouse: Warehouse, table: str, version: int, record: OpenRecord) -> int:
    """Return the version of a table as it was before the epoch gave it other columns."""
    store = warehouse.store
    history = [i for i in store.history(table, version) if i["metadata"].get("epoch")]
    of_epoch = [i for i in history if i["metadata"]["epoch"] == record.epoch]
    done = [i for i in of_epoch if i["metadata"].get("maintenance") == UNDO]
    if done:
        return int(done[-1]["version"])
    if not any(i["metadata"].get("maintenance") == RESHAPE for i in of_epoch):
        return version
    previous, newest = store.open(table, version), store.open(table)
    files, there = ({f.path: f for f in h.files} for h in (previous, newest))
    back = store.commit(
        newest,
        adds=[f for path, f in files.items() if path not in there],
        removes=[f for path, f in there.items() if path not in files],
        metadata={"maintenance": UNDO, "epoch": record.epoch, "record": record.id},
        data_change=False,
        schema=previous.schema,
    )
    failpoints.reach("columns_restored")
    return back.version


def _changes(warehouse: Warehouse, before: int, after: int) -> tuple[str, ...]:
    """Return the changes of a version, from the texts of both: one may be unreadable."""
    catalogs = warehouse.catalogs
    old = {s.object: s.sql for s in (catalogs.get(before).statements if before else ())}
    new = {s.object: s.sql for s in catalogs.get(after).statements}
    words = [(k, "create" if k not in old else "alter") for k in new if new[k] != old.get(k)]
    words += [(k, "drop") for k in old if k not in new]
    return tuple(f"{word} {key}" for key, word in words) or ("the definitions",)


def _irreversible_work(warehouse: Warehouse, epoch: int) -> str | None:
    """Describe the part of an epoch that cannot be taken back; None where there is none."""
    written = tables_of_epoch(warehouse.store, epoch)
    sealed = warehouse.log.seal_record(epoch - 1) if epoch > 1 else None
    pinned = [
        table
        for key, record in (sealed.objects if sealed else {}).items()
        if sealed is not None and key not in sealed.suspended
        for table in record.versions
    ]
    emptied = [table for table in pinned if not warehouse.store.exists(table)]
    advanced = list(warehouse.log.partial_records(epoch))
    for word, names in (("written", written), ("emptied", emptied), ("advanced", advanced)):
        if names:
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            return f"{word} {', '.join(names[:_NAMED])}{more}"
    return None


def _refuse(epoch: int, done: str, error: FloodmarkError | None) -> NoReturn:
    if error is not None:
        error.detail = f"epoch {epoch} cannot be rolled back: it has {done}"
        raise error
    raise DataError(
        "E0438",
        f"epoch {epoch} cannot be rolled back: it has {done}",
        hint="`floodmark run` finishes it; where that fails, use the version of Floodmark that "
        "logged it, or restore a backup with `floodmark restore`",
    )
