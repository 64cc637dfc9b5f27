"""Which objects need which others to advance."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from floodmark.stream.objects.analysed import AnalysedObject, Pipeline


def needs_of(found: AnalysedObject, pipeline: Pipeline) -> set[str]:
    """Return what has to be advanced before an object: what it reads, or its sinks do."""
    sinks = [pipeline[key] for key in found.feeders]
    return {*found.reads, *(name for sink in sinks for name in sink.reads)}


def upstream_of(keys: Iterable[str], pipeline: Pipeline) -> set[str]:
    """Return objects and all that has to be advanced before them, by key."""
    found: set[str] = set()
    left = list(keys)
    while left:
        key = left.pop()
        if key not in found:
            found.add(key)
            left += needs_of(pipeline[key], pipeline)
    return found


def blocked(suspended: Collection[str], pipeline: Pipeline) -> set[str]:
    """Return the suspended objects and all that depend on them."""
    out = set(suspended)
    for found in pipeline.stored:
        if needs_of(found, pipeline) & out:
            out.add(found.key)
    return out
