"""An analysed pipeline to the objects that the reference runs."""

from __future__ import annotations

from floodmark.catalog.objects import ObjectKind
from floodmark.changelog import ROW_ID, is_hidden
from floodmark.plan.declaration import NO_CLOCK, Declaration
from floodmark.plan.expr.expressions import Expr
from floodmark.reference.interpreter import key_of
from floodmark.reference.pipeline import ReferenceKind, ReferenceObject
from floodmark.reference.rows import Key, unique_columns
from floodmark.reference.sink_writes import SinkWrites
from floodmark.reference.tables import MergeRules
from floodmark.reference.transform import ReferenceTransform
from floodmark.reference.watermarks import Watermark
from floodmark.scalar.types import BIGINT, Field
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline

_KINDS = {
    ObjectKind.SOURCE: ReferenceKind.SOURCE,
    ObjectKind.TABLE: ReferenceKind.TABLE,
    ObjectKind.MATERIALIZED_VIEW: ReferenceKind.VIEW,
    ObjectKind.SINK: ReferenceKind.SINK,
}


def reference_objects(pipeline: Pipeline) -> tuple[ReferenceObject, ...]:
    """Return the objects with rows, each after what flows into it; names are catalog keys.

    Plain views have none: their plans stand in what reads them.
    """
    return tuple(_object(obj) for obj in pipeline.objects.values() if obj.kind in _KINDS)


def _object(obj: AnalysedObject) -> ReferenceObject:
    declared = obj.declared
    relation = obj.relation
    return ReferenceObject(
        name=obj.key,
        kind=_KINDS[obj.kind] if obj.external_sink is None else ReferenceKind.VIEW,
        schema=relation.columns,
        stream_key=_key(obj),
        plan=None if obj.plan is None else obj.plan.root,
        merge=_rules(obj),
        ingested=() if declared is None else declared.ingestion_columns,
        promised=_source_key(obj),
        watermarks=_watermarks(declared),
        clock=NO_CLOCK if declared is None else declared.clock,
        defaults=_defaults(declared),
        generated=_generation_exprs(declared),
        target=obj.object.target,
        emits_on_close=obj.emits_on_close,
        recomputed=obj.refreshes,
        connected=declared is not None and declared.connector is not None,
        transform=_transform(obj),
        sink_writes=_sink_rule(obj),
        ttl=None if declared is None else declared.ttl,
        ttl_column=None if declared is None else declared.ttl_column,
        force_append_only=obj.object.is_on("force_append_only"),
        ignore_delete=obj.object.is_on("ignore_delete"),
        owns=obj.object.storage_key if _owns(obj) else "",
    )


def _owns(obj: AnalysedObject) -> bool:
    return obj.kind is ObjectKind.SINK and obj.object.word("on_delete") == "columns"


def _key(obj: AnalysedObject) -> Key:
    """Return the columns that tell rows apart: the key of the plan, or of the declaration.

    A declaration has a primary key, with the time by which rows end, or numbers its rows.
    """
    if obj.plan is not None:
        return key_of(obj.plan.root)
    transform = obj.declared and obj.declared.transform
    hidden = tuple(f.name for f in obj.relation.columns if is_hidden(f.name))
    return (transform and transform.key) or _key_of_declaration(obj.declared) or hidden


def _key_of_declaration(declared: Declaration | None) -> Key:
    if declared is None or not declared.primary_key:
        return ()
    return unique_columns(declared.primary_key, filter(None, (declared.ttl_column,)))


def _sink_rule(obj: AnalysedObject) -> SinkWrites | None:
    sink = obj.external_sink
    return None if sink is None else SinkWrites(sink.type, sink.key)


def _transform(obj: AnalysedObject) -> ReferenceTransform | None:
    if obj.declared is None or obj.declared.transform is None:
        return None
    raw = tuple(Field(c.name, c.type, not c.not_null) for c in obj.declared.columns)
    key = _key_of_declaration(obj.declared)
    numbered = () if key else (Field(ROW_ID, BIGINT, nullable=False),)
    return ReferenceTransform(obj.declared.transform, (*raw, *numbered), key or (ROW_ID,))


def _rules(obj: AnalysedObject) -> MergeRules | None:
    declared = obj.declared
    if declared is None or not declared.primary_key or _source_key(obj):
        return None
    conflict = declared.conflict
    return MergeRules(
        declared.primary_key,
        conflict.action,
        conflict.versions,
        conflict.assignments,
        conflict.condition,
        _generation_exprs(declared),
        tuple(c.name for c in declared.columns if c.not_null),
        tuple((owner.name, owner.columns) for owner in obj.owners),
    )


def _source_key(obj: AnalysedObject) -> tuple[str, ...]:
    """Return the key that a source of rows that are only added promises."""
    declared = obj.declared
    promises = obj.kind is ObjectKind.SOURCE and obj.append_only
    return declared.primary_key if declared is not None and promises else ()


def _watermarks(declared: Declaration | None) -> tuple[Watermark, ...]:
    marks = () if declared is None else declared.watermarks
    return tuple(Watermark(mark.column, mark.expr) for mark in marks)


def _defaults(declared: Declaration | None) -> tuple[tuple[str, Expr], ...]:
    columns = () if declared is None else declared.columns
    return tuple((c.name, c.default) for c in columns if c.default is not None)


def _generation_exprs(declared: Declaration | None) -> tuple[tuple[str, Expr], ...]:
    columns = () if declared is None else declared.columns
    return tuple((c.name, c.generated) for c in columns if c.generated is not None)
