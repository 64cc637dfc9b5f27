"""What is known of an object from its rows at rest, where its definition says nothing."""

from __future__ import annotations

from floodmark.catalog.objects import CatalogObject, ObjectKind, Relation
from floodmark.changelog import EPOCH, KIND, OWNERS, ChangelogMode, is_hidden
from floodmark.errors import DataError
from floodmark.scalar.types import Field
from floodmark.sql import statements as s
from floodmark.storage import warehouse
from floodmark.storage.table import Store

_STORED = (ObjectKind.SOURCE, ObjectKind.TABLE, ObjectKind.MATERIALIZED_VIEW)


def stored_relation(store: Store, obj: CatalogObject) -> Relation:
    """Return the relation of an object's stored rows; without columns where it stores none.

    Its key is the declared one, if there is one.
    """
    named = (obj.schema, obj.storage_base)
    tables = (warehouse.changes(*named), warehouse.current(*named)) if obj.kind in _STORED else ()
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
        found = store.open(table).schema
    except DataError:
        return ()
    return tuple(f for f in found if f.name not in (EPOCH, KIND, OWNERS))
