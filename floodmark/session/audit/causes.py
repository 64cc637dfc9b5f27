"""Likely reasons of a replay difference: the non-deterministic parts of a definition."""

from __future__ import annotations

from collections.abc import Iterator

from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Expr, UserCall, walk
from floodmark.scalar.functions import Determinism
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline

UNKNOWN = "nothing in the definition explains it: the stored files have changed, or the engine has"


def likely_cause(obj: AnalysedObject, pipeline: Pipeline) -> str:
    """Return a sentence that names the likely reason why an object's replay differs."""
    calls = {call.user.name: call.user for call in _calls(obj, pipeline)}
    loose = [c for c, f in calls.items() if f.determinism is not Determinism.DETERMINISTIC]
    if loose:
        return f"{_join(loose)} is not IMMUTABLE: another evaluation gives other values"
    if calls:
        return (
            f"{_join(list(calls))} is declared IMMUTABLE: it depends on more than its arguments, "
            "or what it imports has changed"
        )
    elsewhere = sorted(_lookup_objects(obj, pipeline))
    if elsewhere:
        return f"{', '.join(elsewhere)} is kept elsewhere, and was looked up in as it is now"
    if obj.declared is not None and obj.declared.connector is not None:
        return "the source's data has changed, though size, time and digest are those logged"
    return UNKNOWN


def _calls(obj: AnalysedObject, pipeline: Pipeline) -> Iterator[UserCall]:
    """Yield the calls of users' functions in an object's plan, columns and sinks."""
    for expr in _expressions(obj, pipeline):
        yield from (part for part in walk(expr) if isinstance(part, UserCall))


def _lookup_objects(obj: AnalysedObject, pipeline: Pipeline) -> set[str]:
    """Return the objects outside in which a plan looks up."""
    plans = (o.plan for o in (obj, *(pipeline[key] for key in obj.feeders)))
    lookups = (m for p in plans if p is not None for m in p.nodes if isinstance(m, n.Pairing))
    return {lookup.external.object for lookup in lookups if lookup.external is not None}


def _expressions(obj: AnalysedObject, pipeline: Pipeline) -> Iterator[Expr]:
    if obj.declared is not None:
        yield from (c.generated for c in obj.declared.columns if c.generated is not None)
    for writer in (obj, *(pipeline[key] for key in obj.feeders)):
        if writer.plan is not None:
            for node in n.walk(writer.plan.root):
                yield from node.expressions


def _join(names: list[str]) -> str:
    return ", ".join(f"{name}()" for name in sorted(names))
