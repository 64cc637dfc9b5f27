"""Scratch folders of operators for one attempt of an epoch; they lie beside their state tables.

Nobody reads them after the epoch's seal.
"""

from __future__ import annotations

from collections.abc import Iterable

from floodmark.storage.objects.contract import Objects, folders_in
from floodmark.storage.table import Store
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables import layout


def drop(objects: Objects, store: Store, owners: Iterable[AnalysedObject]) -> None:
    """Remove the scratch folders of objects' plans, including those of killed attempts."""
    for owner in owners:
        folder = layout.state_table(owner, "any").rpartition("/")[0]
        if not drop_scratch(objects, store, folders_in(objects, folder)):
            objects.prune(folder)


def drop_scratch(objects: Objects, store: Store, folders: Iterable[str]) -> list[str]:
    """Remove those of some folders of states that are no tables; return the tables."""
    tables = list[str]()
    for folder in folders:
        if store.exists(folder):
            tables.append(folder)
        else:
            objects.remove(folder)
    return tables
