"""The seed of a warehouse, by which its random values differ from those of others."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass

from floodmark.storage.logs.record_files import RecordFiles
from floodmark.storage.objects.contract import Location

NAME = "seed"
_PLAIN = re.compile(r"[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class Drawn:
    """The seed as its record says it."""

    seed: str


def pipeline_seed(place: Location) -> str:
    """Return the seed of a warehouse; it is drawn once, by whoever asks first."""
    seed = find_seed(place)
    if seed is None:
        _files(place).create(NAME, {"seed": secrets.token_hex(8)})
        seed = find_seed(place)
    assert seed is not None
    return seed


def find_seed(place: Location) -> str | None:
    """Return the seed, None before it is drawn.

    Former versions wrote it as it is.
    """
    files = _files(place)
    text = files.text(NAME)
    return text if text is None or _PLAIN.fullmatch(text) else _seed_of_record(files)


def _seed_of_record(files: RecordFiles) -> str | None:
    found = files.body(NAME, Drawn)
    return None if found is None else found.seed


def _files(place: Location) -> RecordFiles:
    return RecordFiles(place, "", "the seed of the warehouse")
