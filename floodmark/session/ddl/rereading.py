"""Checks of changed definitions that would need rows which nobody reads again."""

from __future__ import annotations

from collections.abc import Iterable

from floodmark.catalog.objects import ObjectKind
from floodmark.errors import NotSupported
from floodmark.plan import nodes as n
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.stream.objects.replacement import DIFF, continuation
from floodmark.warehouse.changes import ObjectChange, former_definitions, keys_to_refill


def refuse_rereading(changes: Iterable[ObjectChange], before: Pipeline, after: Pipeline) -> None:
    """Raise E0854 if an object would be recomputed without rows that it was computed from.

    A TTL has discarded them, or a view that begins without a snapshot does not read them again.
    """
    changes = list(changes)
    formers = former_definitions(before, after, changes)
    anew = keys_to_refill(changes)
    for change in changes:
        if change.action not in ("replace", "rebuild"):
            continue
        obj = after[change.key]
        if obj.kind is ObjectKind.MATERIALIZED_VIEW and not obj.object.begins_whole:
            raise NotSupported(
                "E0854",
                f"{change.key} would begin anew without a snapshot: the rows that it has would be "
                "lost",
                span=obj.object.statement.name.span,
                hint="create another one beside it; or DROP and CREATE it, without those rows",
            )
        scanned = _scan_objects(obj, formers.get(change.key))
        gone = [k for k in scanned if k not in anew and _has_dropped(k, before, after)]
        if not gone or not _reads_again(obj, formers.get(change.key)):
            continue
        into = obj.kind is ObjectKind.SINK and obj.object.target is not None
        raise NotSupported(
            "E0854",
            f"{change.key} would be recomputed from {gone[0]}, which discards rows by its TTL: "
            "results of discarded rows would be lost",
            span=obj.object.statement.name.span,
            hint="WITH (backfill = 'none') applies the new query only to changes that come"
            if into
            else "create another one beside it; or DROP and CREATE it, without those rows",
        )


def _scan_objects(obj: AnalysedObject, previous: AnalysedObject | None) -> list[str]:
    """Return the objects that the queries of an object read, now and before."""
    plans = [o.plan.root for o in (obj, previous) if o is not None and o.plan is not None]
    return [scan.object for root in plans for scan in n.scans(root)]


def _has_dropped(key: str, before: Pipeline, after: Pipeline) -> bool:
    """Tell whether a table that goes on has discarded rows; a refused one tells it by now."""
    obj = before.objects.get(key)
    obj = after.objects.get(key) if obj is not None and obj.opaque else obj
    return obj is not None and obj.declared is not None and obj.declared.drops_silently


def _reads_again(obj: AnalysedObject, previous: AnalysedObject | None) -> bool:
    """Tell whether an object's rows follow from what is there; a view's always do."""
    if obj.kind is not ObjectKind.SINK:
        return True
    if obj.object.target is None:
        return obj.object.begins_whole
    # What a sink has written into a table stays there when it is rebuilt: it has no former query.
    return previous is not None and continuation(obj, previous) == DIFF
