"""Which objects need which others to advance."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from floodmark.stream.objects.analysed import AnalysedObject, Pipeline


def needs_of(obj: AnalysedObject, pipeline: Pipeline) -> set[str]:
    """Return what has to be advanced before an object: what it reads, or its sinks do."""
    sinks = [pipeline[key] for key in obj.feeders]
    return {*obj.reads, *(name for sink in sinks for name in sink.reads)}


def upstream_of(keys: Iterable[str], pipeline: Pipeline) -> set[str]:
    """Return objects and all that has to be advanced before them, by key."""
    names: set[str] = set()
    left = list(keys)
    while left:
        key = left.pop()
        if key not in names:
            names.add(key)
            left += needs_of(pipeline[key], pipeline)
    return names


def blocked_keys(suspended: Collection[str], pipeline: Pipeline) -> set[str]:
    """Return the suspended objects and all that depend on them."""
    out = set(suspended)
    for obj in pipeline.writing_objects:
        if needs_of(obj, pipeline) & out:
            out.add(obj.key)
    return out
