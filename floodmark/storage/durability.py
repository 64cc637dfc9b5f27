"""Durability: whether a warehouse survives a power cut, chosen when it is created.

In a durable warehouse, data files are on the disk before the commit that names them. Commits and
records of logs are on the disk before anything that follows from them.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from floodmark.errors import UserError
from floodmark.scalar.casts import truth_of
from floodmark.storage.local_files import disk_errors
from floodmark.storage.objects.contract import Location, Objects, create_once, replace_once
from floodmark.storage.objects.local import LocalObjects
from floodmark.storage.records.text import (
    Record,
    new_id,
    parse_record,
    read_record,
    record_text,
    unless_newer,
)
from floodmark.storage.records.upgrades import FORMAT
from floodmark.storage.warehouse import ENGINE, local_root

VARIABLE: Final = "FLOODMARK_DURABLE"
"""What new warehouses are, unless that is said otherwise: `true` or `false`."""
NAME: Final = "warehouse.json"
_KEY: Final = f"{ENGINE}/{NAME}"
_TITLE: Final = "the record of the warehouse"


@dataclass(frozen=True, slots=True)
class Choice:
    """What the record of a warehouse says."""

    durable: bool


@dataclass(slots=True)
class _RecordedChoice:
    """What the record of a warehouse says, from when there is one; the default before that."""

    place: Location
    chosen: bool | None = field(default=None, init=False)

    def __call__(self) -> bool:
        if self.chosen is None:
            self.chosen = read_choice(self.place)
        return durable_by_default() if self.chosen is None else self.chosen


def durable_by_default() -> bool:
    """Return the default for a new warehouse; E0436 for an unknown value."""
    text = os.environ.get(VARIABLE, "true")
    if (durable := truth_of(text)) is None:
        raise UserError(
            "E0436",
            f"{VARIABLE} is {text!r}",
            hint=f"{VARIABLE}=true or {VARIABLE}=false",
        )
    return durable


def objects_of(place: Location, durable: bool | None = None) -> Objects:
    """Return the objects of a warehouse; of a folder, `durable` says what its record does not."""
    if isinstance(place, str | Path):
        root = local_root(place)
        return LocalObjects(root, _RecordedChoice(root) if durable is None else durable)
    if isinstance(place, LocalObjects) and durable is not None:
        return LocalObjects(place.place, durable)
    return place


def is_durable(place: Location) -> bool:
    """Tell whether a warehouse is durable: by its record, before that by default."""
    chosen = read_choice(place)
    return durable_by_default() if chosen is None else chosen


def read_choice(place: Location) -> bool | None:
    """Return what was chosen for a warehouse; None before it is made."""
    with disk_errors(_TITLE):
        record = read_record(objects_of(place), _KEY, Choice)
    return None if record is None else bool(record.body.durable)


def check_choice(place: Location, durable: bool | None) -> None:
    """Raise E0436 where a warehouse was made otherwise."""
    if durable is None:
        return  # who says nothing of it can read a warehouse whose record is damaged
    chosen = read_choice(place)
    if chosen is not None and chosen != durable:
        raise UserError(
            "E0436",
            f"the warehouse {objects_of(place).place} was made with "
            f"durable = {str(chosen).lower()}",
            hint=f"leave the option out; for durable = {str(durable).lower()}, create another "
            "warehouse",
        )


def refuse_newer_warehouse(place: Location) -> None:
    """Raise E0430 where a newer version made a warehouse.

    Who reads it needs no other word of its record, which may be damaged, or out of reach.
    """
    with suppress(OSError), unless_newer():
        read_record(objects_of(place), _KEY, Choice)


def renew_record(objects: Objects) -> None:
    """Write the record of a warehouse in the newest format: former versions refuse it then."""
    with disk_errors(_TITLE):
        stored = objects.get(_KEY)
        if stored is None:
            return
        record = parse_record(stored[0], objects.spark_url(_KEY), Choice)
        if record.format < FORMAT:
            body = {"durable": record.body.durable}
            text = record_text(NAME, Record(body, record.number + 1, new_id()))
            replace_once(objects, _KEY, text.encode(), stored[1])


def choose(place: Location, durable: bool | None) -> None:
    """Record the choice for a warehouse without one; E0436 if it contradicts the recorded one."""
    wanted = durable_by_default() if durable is None else durable
    objects = objects_of(place, wanted)
    with disk_errors(_TITLE):
        if objects.head(_KEY) is None:
            text = record_text(NAME, Record({"durable": wanted}, 0, new_id()))
            create_once(objects, _KEY, text.encode())
            objects.flush([_KEY])  # the folder may have been there, and its name not yet
    check_choice(place, durable)
