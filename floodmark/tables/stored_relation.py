"""What is known of an object from its tables, where its definition says nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from floodmark.catalog.objects import CatalogObject, ObjectKind, Relation
from floodmark.changelog import EPOCH, KIND, OWNERS, ChangelogMode, is_hidden
from floodmark.errors import DataError
from floodmark.scalar.types import Field
from floodmark.sql import statements as s
from floodmark.storage import warehouse
from floodmark.storage.logs.object_record import ObjectRecord
from floodmark.storage.table import Store
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables import layout


@dataclass(frozen=True)
class StoredTables:
    """The tables of a store, and the records as of the seal that has the definitions in force."""

    store: Store
    records: Mapping[str, ObjectRecord]

    def relation(self, obj: CatalogObject) -> Relation:
        """Return the relation of an object's stored rows."""
        return stored_relation(self.store, obj)

    def states_left(self, obj: AnalysedObject) -> list[str]:
        """Return the state tables that an object has, and its plan does not have.

        What is recomputed goes on without any.
        """
        record = self.records.get(obj.object.target or obj.key)
        if record is None or obj.plan is None or obj.refreshes:
            return []
        states, planned = layout.state_folder(obj), layout.state_tables(obj)
        return [t for t in record.versions if t.startswith(states) and t not in planned]


_STORED = (ObjectKind.SOURCE, ObjectKind.TABLE, ObjectKind.MATERIALIZED_VIEW)


def stored_relation(store: Store, obj: CatalogObject) -> Relation:
    """Return the relation of an object's stored rows; without columns where it stores none.

    Its key is the declared one, if there is one.
    """
    named = (obj.schema, obj.storage_base)
    tables = (warehouse.changes(*named), warehouse.rows(*named)) if obj.kind in _STORED else ()
    there = [table for table in tables if store.exists(table)]
    # A table of rows may have accumulators beside them, one of changes has not.
    columns = _columns(store, there[0]) if there else ()
    declared = getattr(obj.statement, "primary_key", None)
    key = declared.columns if isinstance(declared, s.PrimaryKey) else ()
    return Relation(
        name=obj.key,
        kind=obj.kind,
        columns=(
            *(f for f in columns if not is_hidden(f.name)),
            *(f for f in columns if is_hidden(f.name)),
        ),
        stream_key=key,
        mode=ChangelogMode.RETRACT if len(there) > 1 else ChangelogMode.APPEND_ONLY,
        primary_key=key,
    )


def _columns(store: Store, table: str) -> tuple[Field, ...]:
    try:
        schema = store.open(table).schema
    except DataError:
        return ()
    return tuple(f for f in schema if f.name not in (EPOCH, KIND, OWNERS))
