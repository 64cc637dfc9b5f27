"""Suspensions: why objects do not advance, and the remedies."""

from __future__ import annotations

import traceback
from collections.abc import Callable

from floodmark.catalog.objects import title_of
from floodmark.catalog.refused import OTHER_STATE
from floodmark.connectors.sinks.identity import UNREACHABLE
from floodmark.errors import FloodmarkError, TransientError
from floodmark.sql.printer.dialect import quote_name
from floodmark.storage.local_files import disk_error
from floodmark.storage.logs.epochs import Event
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.stream.objects.refusals import state_remedy
from floodmark.warehouse.refusal_events import is_refusal
from floodmark.warehouse.warehouse import Warehouse

CHANGED_FUNCTIONS = "E0377"
"""The code of a suspension that REBASE ends."""


def suspend(warehouse: Warehouse, key: str, error: Exception) -> None:
    """Log a suspension; a defect of the engine stops one object, like a fault of its user.

    Errors of the disk are raised instead.
    """
    log, now = warehouse.log, warehouse.clock.now()
    if isinstance(error, OSError):
        error = disk_error(error, f"what {key} needs")
        if isinstance(error, TransientError):
            raise error
    if isinstance(error, FloodmarkError):
        message, code = error.message, error.code
    else:
        message, code = f"a defect of Floodmark: {type(error).__name__}: {error}", "E0609"
        log.record("note", now, "".join(traceback.format_exception(error)), object=key)
    log.record("suspend", now, message, object=key, code=code)


def resume_command(obj: AnalysedObject, word: str = "RESUME") -> str:
    """Return the statement that lifts an object's suspension."""
    name = ".".join(map(quote_name, obj.name.split(".")))
    return f"ALTER {obj.kind.value.upper()} {name} {word}"


def remedy(obj: AnalysedObject, event: Event, quoted: Callable[[str], str] = str) -> str:
    """Return what to do about a suspension; `quoted` writes a statement as it is to be given."""
    key = event.object or obj.key
    if is_refusal(event) and event.code == OTHER_STATE:
        target = obj.object.target if key == obj.key else obj.name
        return f"{state_remedy(key, obj.kind, target)}; an earlier version runs it"
    if is_refusal(event):
        what = title_of(key)
        return f"change the definition of {what}, or DROP it; an earlier version runs it"
    if event.code == CHANGED_FUNCTIONS:
        return f"{quoted(resume_command(obj, 'REBASE'))} goes on with the present meaning"
    if event.code == UNREACHABLE:
        return "make its path writable; the next run then goes on by itself"
    mended = "restore that version" if event.code in _WRITTEN_BY_OTHERS else "mend it"
    return f"{mended}, then {quoted(resume_command(obj))}"


_WRITTEN_BY_OTHERS = ("E0420", "E0427")
