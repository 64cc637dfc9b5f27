"""Kinds of log records by their names in the engine's folder; other files are not records."""

from __future__ import annotations

import re
from typing import Any

from floodmark.storage import durability
from floodmark.storage.logs import (
    correction_versions,
    last_reported,
    pending_drops,
    retention,
    seed,
    witness,
)
from floodmark.storage.logs.backfills import BackfillStep
from floodmark.storage.logs.catalog import CatalogVersion
from floodmark.storage.logs.epoch_additions import Advanced, Amended, Asked, Undone
from floodmark.storage.logs.epochs import Event, ObjectRecord, OpenRecord, SealRecord
from floodmark.storage.warehouse import BACKFILLS

_EPOCH = r"epochs/\d+/\d+"
_STEP = rf"{BACKFILLS}/[^/]+"
KINDS: tuple[tuple[str, Any], ...] = (
    (re.escape(correction_versions.NAME), correction_versions.Versions),
    (re.escape(durability.NAME), durability.Choice),
    (re.escape(pending_drops.NAME), pending_drops.PendingTables),
    (re.escape(last_reported.NAME), last_reported.Book),
    (re.escape(retention.NAME), retention.KeptEpochs),
    (re.escape(witness.NAME), witness.Witness),
    (seed.NAME, seed.Drawn),
    (r"catalog/\d+\.json", CatalogVersion),
    (rf"{_EPOCH}\.open\.json", OpenRecord),
    (rf"{_EPOCH}\.seal\.json", SealRecord),
    (rf"{_EPOCH}\.event-\d+\.json", Event),
    (rf"{_EPOCH}\.advanced-\d+\.json", Advanced),
    (rf"{_EPOCH}\.amended-\d+\.json", Amended),
    (rf"{_EPOCH}\.asked-\d+\.json", Asked),
    (rf"{_EPOCH}\.undone-\d+\.json", Undone),
    (r"epochs/\d+/discovered\.json", dict[str, Any]),
    (rf"{_STEP}/\d+\.step\.json", BackfillStep),
    (rf"{_STEP}/\d+\.done\.json", ObjectRecord),
    (rf"{_STEP}/ready\.json", Any),
)


def kind_of(name: str) -> Any:
    """Return the kind of the record of a name; None where it is no record's.

    >>> kind_of("epochs/0/7.open.json").__name__, kind_of("epochs/0/x.json")
    ('OpenRecord', None)
    """
    return next((kind for pattern, kind in KINDS if re.fullmatch(pattern, name)), None)
