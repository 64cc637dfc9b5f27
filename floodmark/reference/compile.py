"""An analysed pipeline to the objects that the reference runs."""

from __future__ import annotations

from floodmark.catalog.objects import Kind
from floodmark.plan.declared import NO_CLOCK, Declared
from floodmark.plan.expr.expressions import Expr
from floodmark.reference.outward import Outward
from floodmark.reference.pipeline import ObjectKind, ReferenceObject
from floodmark.reference.tables import MergeRules
from floodmark.reference.transform import ReferenceTransform
from floodmark.reference.watermarks import Watermark
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.stream.objects.owners import owns
from floodmark.stream.objects.stored import raw_relation
from floodmark.stream.passes.refresh import refreshes

_KINDS = {
    Kind.SOURCE: ObjectKind.SOURCE,
    Kind.TABLE: ObjectKind.TABLE,
    Kind.MATERIALIZED_VIEW: ObjectKind.VIEW,
    Kind.SINK: ObjectKind.SINK,
}


def reference_objects(pipeline: Pipeline) -> tuple[ReferenceObject, ...]:
    """Return the objects with rows, each after what flows into it; names are catalog keys.

    Plain views have none: their plans stand in what reads them.
    """
    return tuple(_object(found) for found in pipeline.objects.values() if found.kind in _KINDS)


def _object(found: AnalysedObject) -> ReferenceObject:
    declared = found.declared
    relation = found.relation
    return ReferenceObject(
        name=found.key,
        kind=_KINDS[found.kind] if found.outside is None else ObjectKind.VIEW,
        schema=relation.columns,
        stream_key=relation.stream_key,
        plan=None if found.plan is None else found.plan.root,
        merge=_rules(found),
        ingested=() if declared is None else declared.ingested,
        promised=_source_key(found),
        watermarks=_watermarks(declared),
        clock=NO_CLOCK if declared is None else declared.clock,
        defaults=_defaults(declared),
        generated=_generation_exprs(declared),
        target=found.object.target,
        emits_on_close=found.emits_on_close,
        recomputed=refreshes(found.object),
        connected=declared is not None and declared.connector is not None,
        transform=_transform(found),
        outward=_outward(found),
        ttl=None if declared is None else declared.ttl,
        fading=None if declared is None else declared.fading,
        force_append_only=found.object.is_on("force_append_only"),
        ignore_delete=found.object.is_on("ignore_delete"),
        owns=found.object.storage_key if _owns(found) else "",
    )


def _owns(found: AnalysedObject) -> bool:
    return found.kind is Kind.SINK and owns(found.object)


def _outward(found: AnalysedObject) -> Outward | None:
    outside = found.outside
    return None if outside is None else Outward(outside.type, outside.key)


def _transform(found: AnalysedObject) -> ReferenceTransform | None:
    if found.declared is None or found.declared.transform is None:
        return None
    raw = raw_relation(found.object, found.declared)
    return ReferenceTransform(found.declared.transform, raw.columns, raw.stream_key)


def _rules(found: AnalysedObject) -> MergeRules | None:
    declared = found.declared
    if declared is None or not declared.primary_key or _source_key(found):
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
        tuple((owner.name, owner.columns) for owner in found.owners),
    )


def _source_key(found: AnalysedObject) -> tuple[str, ...]:
    """Return the key that a source of rows that are only added promises."""
    declared = found.declared
    promises = found.kind is Kind.SOURCE and found.append_only
    return declared.primary_key if declared is not None and promises else ()


def _watermarks(declared: Declared | None) -> tuple[Watermark, ...]:
    marks = () if declared is None else declared.watermarks
    return tuple(Watermark(mark.column, mark.expr) for mark in marks)


def _defaults(declared: Declared | None) -> tuple[tuple[str, Expr], ...]:
    columns = () if declared is None else declared.columns
    return tuple((c.name, c.default) for c in columns if c.default is not None)


def _generation_exprs(declared: Declared | None) -> tuple[tuple[str, Expr], ...]:
    columns = () if declared is None else declared.columns
    return tuple((c.name, c.generated) for c in columns if c.generated is not None)
