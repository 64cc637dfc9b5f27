"""Which tables an object has, and their columns."""

from __future__ import annotations

from typing import Any

from floodmark.catalog.objects import ObjectKind
from floodmark.changelog import EPOCH, KIND, OWNERS, WEIGHT
from floodmark.plan import nodes as n
from floodmark.scalar.types import BIGINT, INT, TIMESTAMPTZ, VARCHAR, Field, Schema, list_of
from floodmark.spark.columns import WATERMARK
from floodmark.spark.expressions import compile
from floodmark.spark.rows import ERROR_FIELD
from floodmark.storage import warehouse
from floodmark.storage.table import Store
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.stream.operators.accumulator_columns import accumulators, state_schema
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.grouping import StreamGrouping
from floodmark.stream.properties.state import OwnTableState

DEAD_LETTER: Schema = (
    Field(EPOCH, BIGINT, nullable=False),
    Field(WEIGHT, INT, nullable=False),
    ERROR_FIELD,
)
BACKFILL, CORRECTED_AT = "__backfill", "__corrected_at"
CORRECTED: Schema = (
    Field(BACKFILL, BIGINT, nullable=False),
    Field(CORRECTED_AT, TIMESTAMPTZ, nullable=False),
)
"""Which backfill of the view wrote a correction, counted from 1, and when."""


OWNERS_FIELD = Field(OWNERS, list_of(VARCHAR))


def current_table(obj: AnalysedObject) -> str:
    """Return the table of the object's rows."""
    return warehouse.rows(obj.object.schema, _base(obj))


def publication_table(obj: AnalysedObject) -> str:
    """Return the table of the object's rows that other programs read."""
    return warehouse.publication(obj.object.schema, _base(obj))


def changes_table(obj: AnalysedObject) -> str:
    """Return the table of the object's changes; append-only objects have none."""
    return warehouse.changes(obj.object.schema, _base(obj))


def layer_table(obj: AnalysedObject) -> str:
    """Return the table of changes that the object's own table does not hold yet."""
    return warehouse.layer(obj.object.schema, _base(obj))


def fold_of(obj: AnalysedObject) -> str:
    """Return the application whose transaction in the object's table is its last folded epoch."""
    return f"{obj.object.storage_key}/folded"


def late_table(obj: AnalysedObject) -> str:
    """Return the table of the object's late rows."""
    return warehouse.late(obj.object.schema, _base(obj))


def dead_letter_table(obj: AnalysedObject) -> str:
    """Return the table of the object's dead letters."""
    return warehouse.dead_letter(obj.object.schema, _base(obj))


def corrections_table(obj: AnalysedObject) -> str:
    """Return the table of the corrections of a view that emits on window close."""
    return warehouse.corrections(obj.object.schema, _base(obj))


def state_table(obj: AnalysedObject, name: str) -> str:
    """Return the table of one operator's state; a sink's is kept apart from its namesake's."""
    return warehouse.state(obj.object.schema, _base(obj), name)


def state_folder(obj: AnalysedObject) -> str:
    """Return what the names of all state tables of an object begin with."""
    return state_table(obj, "any").removesuffix("any")


def _base(obj: AnalysedObject) -> str:
    """Return the name of an object's folders; a sink may have the name of a relation."""
    base = obj.object.storage_base
    return f"{base}__sink" if obj.kind is ObjectKind.SINK else base


def companion_base(obj: AnalysedObject) -> str:
    """Return the name to which the suffix of a companion is added; a sink's has `__sink`."""
    return f"{obj.name}__sink" if obj.kind is ObjectKind.SINK else obj.key


def sink_progress_table(obj: AnalysedObject) -> str:
    """Return the table without rows whose transaction says how far a sink has written outside."""
    return state_table(obj, "sent")


def own_operator(obj: AnalysedObject, beside: OwnTableState) -> StreamOperator[Any] | None:
    """Return the operator of which the object's own table holds something beside its rows."""
    operators = () if obj.plan is None else obj.plan.operators.values()
    return next((op for op in operators if op.own_table is beside), None)


def own_state(obj: AnalysedObject) -> Schema:
    """Return the accumulator columns of the object's own table.

    Expressions print as of one time, whichever: what is kept alike is so at every time.
    """
    own = own_operator(obj, OwnTableState.GROUPS)
    if own is None:
        return ()
    assert isinstance(own, StreamGrouping)
    columns = accumulators(own.node, own.keeps, lambda e: compile(e, 0).value)
    return state_schema((), columns)


def merge_key(obj: AnalysedObject) -> tuple[str, ...]:
    """Return the columns by which rows of a table replace each other.

    Where rows end below a watermark, changes tell several rows of such a key by their time.
    """
    declared = obj.declared
    fades = declared is not None and declared.ttl_column is not None
    return obj.relation.primary_key if fades else obj.relation.stream_key


def row_schema(obj: AnalysedObject) -> Schema:
    """Return the columns of a row: the relation's, the period in which it is seen, who holds it."""
    held = (OWNERS_FIELD,) if obj.has_owners else ()
    return (*obj.relation.columns, *obj.period, *held)


def current_schema(obj: AnalysedObject) -> Schema:
    """Return the columns at rest: those of a row, accumulators, the epoch that wrote it."""
    return (*row_schema(obj), *own_state(obj), Field(EPOCH, BIGINT, nullable=False))


def changes_schema(obj: AnalysedObject) -> Schema:
    """Return the columns of the changes."""
    head = (Field(EPOCH, BIGINT, nullable=False), Field(KIND, VARCHAR, nullable=False))
    return (*head, *row_schema(obj))


def layer_schema(obj: AnalysedObject) -> Schema:
    """Return the columns of the layer: those of the changes, and accumulators."""
    return (*changes_schema(obj), *own_state(obj))


def late_schema(obj: AnalysedObject) -> Schema:
    """Return the columns of the late rows."""
    return (*current_schema(obj), Field(WATERMARK, VARCHAR))


def corrections_schema(obj: AnalysedObject) -> Schema:
    """Return the columns of the corrections: those of changes, which backfill, and when."""
    return (*changes_schema(obj), *CORRECTED)


def expires_dead_letters(obj: AnalysedObject) -> bool:
    """Tell whether dead letters end with the retention; a view's live as long as their rows."""
    return obj.kind in (ObjectKind.SOURCE, ObjectKind.TABLE) and not obj.feeders


def companion_column(obj: AnalysedObject, name: str) -> str:
    """Return the name of an engine's column in a companion, next to those of the object.

    It begins with `changelog_` where the object has a column of that name, in upper or lower case.
    """
    taken = {f.name.lower() for f in obj.relation.visible}
    while name in taken:
        name = f"changelog_{name}"
    return name


def tables_of(obj: AnalysedObject, store: Store) -> list[str]:
    """Return the tables that an object has at rest; a sink has the state of its operators.

    Which states an opaque object has, only the store knows.
    """
    names = [name for name in names_of(obj) if store.exists(name)]
    states = state_folder(obj)
    return names + [t for t in store.tables() if t.startswith(states)] if obj.opaque else names


def names_of(obj: AnalysedObject) -> list[str]:
    """Return the tables that an object may have at rest, or be about to begin."""
    names = state_tables(obj)
    if obj.writes_outside:
        names += [changes_table(obj), dead_letter_table(obj)]
    elif obj.kind not in (ObjectKind.SINK, ObjectKind.VIEW):
        names += [
            current_table(obj),
            changes_table(obj),
            layer_table(obj),
            late_table(obj),
            dead_letter_table(obj),
            corrections_table(obj),
        ]
    return names


def state_tables(obj: AnalysedObject) -> list[str]:
    """Return the tables of the operators of an object's plan, and of what a sink has sent."""
    plan = obj.plan
    states = [] if plan is None else [t.name for node in plan.nodes for t in plan[node].tables]
    sent = [] if obj.external_sink is None else [sink_progress_table(obj)]
    return [*(state_table(obj, name) for name in states), *sent]


def lookup_tables(obj: AnalysedObject) -> list[str]:
    """Return the tables with what the operators of an object's plan fetched from elsewhere."""
    plan = obj.plan
    nodes = () if plan is None else plan.nodes
    external = (m for m in nodes if n.is_lookup(m) and m.external and not m.stored)
    return [state_table(obj, s.name) for m in external for s in plan[m].state] if plan else []
