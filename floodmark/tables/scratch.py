"""What operators put aside within one attempt of an epoch: folders beside their states, no tables.

Nobody reads them after the epoch's seal.
"""

from __future__ import annotations

from collections.abc import Iterable

from floodmark.storage.objects import Objects, folders_in
from floodmark.storage.table import Store
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables import layout


def drop(objects: Objects, store: Store, owners: Iterable[AnalysedObject]) -> None:
    """Remove what the plans of objects have put aside, those of attempts that were killed, too."""
    for owner in owners:
        folder = layout.state_table(owner, "any").rpartition("/")[0]
        if not drop_among(objects, store, folders_in(objects, folder)):
            objects.prune(folder)


def drop_among(objects: Objects, store: Store, folders: Iterable[str]) -> list[str]:
    """Remove those of some folders of states that are no tables; return the tables."""
    tables = list[str]()
    for folder in folders:
        if store.exists(folder):
            tables.append(folder)
        else:
            objects.remove(folder)
    return tables
