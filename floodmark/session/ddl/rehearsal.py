"""Rehearsal of a catalog version: what its first epoch derives is derived before it is logged.

A logged version is applied by whoever runs next. If it could not be applied, it would block every
later run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from floodmark.epochs.backfill.choice import backfillable
from floodmark.epochs.start_records import epoch_start_records
from floodmark.storage.logs.catalog import AppliedStatement, CatalogVersion
from floodmark.tables import layout
from floodmark.warehouse.deployed import Deployed, load
from floodmark.warehouse.version_change import VersionChange
from floodmark.warehouse.warehouse import Warehouse


def rehearse(
    warehouse: Warehouse,
    defined: Sequence[AppliedStatement],
    now: datetime,
    renamed: Mapping[str, str],
) -> Deployed:
    """Return a version's definitions; raise the errors that its epoch would before objects advance.

    It checks the definitions as read from the log, the changes, the folders, and whether the tables
    with changed columns can be opened.
    """
    before, epoch = warehouse.deployed(), warehouse.log.head().sealed + 1
    version = CatalogVersion(before.version + 1, epoch, tuple(defined), now, renamed)
    after = load(version, before)
    change = VersionChange(before, after)
    for obj in after.pipeline.writing_objects:
        layout.names_of(obj)
    backfillable(after.pipeline)
    cut = warehouse.cut().rename_keys(renamed)
    kept = epoch_start_records(cut, after.pipeline, change.new_keys, change.previous_definitions)
    if not change.stays:
        for key in change.reshapings:
            for table in kept[key].versions:
                warehouse.store.open(table)
    return after
