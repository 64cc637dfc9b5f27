"""Whether a warehouse outlives a power cut: chosen when it is made, and kept in its first record.

In a durable one, data files are on the disk before the commit that names them, the commit before
anything that follows from it, and so is every record of a log.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from floodmark.errors import UserError
from floodmark.storage.local_files import disk_errors, flush, make_folder, put_if_absent
from floodmark.storage.records import Record, new_id, read_record, sealed_text
from floodmark.storage.warehouse import engine_folder

VARIABLE: Final = "FLOODMARK_DURABLE"
"""What new warehouses are, unless that is said otherwise: `true` or `false`."""
NAME: Final = "warehouse.json"
_CHOICES = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Choice:
    """What the record of a warehouse says."""

    durable: bool


def durable_by_default() -> bool:
    """Return what a warehouse becomes of which nobody says it; E0436 for an unknown value."""
    text = os.environ.get(VARIABLE, "true").strip().lower()
    if text not in _CHOICES:
        raise UserError(
            "E0436",
            f"{VARIABLE} is {text!r}",
            hint=f"{VARIABLE}=true or {VARIABLE}=false",
        )
    return _CHOICES[text]


def is_durable(root: str | Path) -> bool:
    """Tell whether a warehouse is durable: by its record, before that by default."""
    chosen = chosen_for(root)
    return durable_by_default() if chosen is None else chosen


def chosen_for(root: str | Path) -> bool | None:
    """Return what was chosen for a warehouse; None before it is made."""
    with disk_errors("the record of the warehouse"):
        record = read_record(engine_folder(root) / NAME, Choice)
    return None if record is None else bool(record.body.durable)


def check_choice(root: str | Path, durable: bool | None) -> None:
    """Raise E0436 where a warehouse was made otherwise."""
    if durable is None:
        return  # who says nothing of it can read a warehouse whose record is damaged
    chosen = chosen_for(root)
    if chosen is not None and chosen != durable:
        raise UserError(
            "E0436",
            f"the warehouse {root} was made with durable = {str(chosen).lower()}",
            hint=f"leave the option out; a warehouse with durable = {str(durable).lower()} is "
            "another one",
        )


def choose(root: str | Path, durable: bool | None) -> None:
    """Record what a warehouse is, where that is not recorded; E0436 where it is the contrary."""
    wanted = durable_by_default() if durable is None else durable
    path = engine_folder(root) / NAME
    if not path.exists():
        text = sealed_text(NAME, Record({"durable": wanted}, 0, new_id()))
        with disk_errors("the record of the warehouse"):
            make_folder(path.parent, durable=wanted)
            if wanted:
                flush(path.parent.parent)  # the folder may be there, and its name not yet
            put_if_absent(path, text, durable=wanted)
    check_choice(root, durable)
