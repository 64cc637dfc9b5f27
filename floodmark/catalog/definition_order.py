"""The dependency order of definitions, independent of the order in which they are written."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

from floodmark.catalog.catalog import COMPANIONS, function_calls
from floodmark.catalog.objects import ObjectKind, catalog_name, key_of, kind_of
from floodmark.catalog.references import relations_of
from floodmark.errors import BindError, NotSupported
from floodmark.sql import statements as s


class DefinitionCycle(BindError):
    """E0204: definitions of which each names the next, and the last one the first."""

    def __init__(self, members: Sequence[s.Definition]) -> None:
        places = {f"{m.name} ({m.span.file}:{m.span.line})" for m in members if m.span.file}
        names = " -> ".join(str(m.name) for m in (*members, members[0]))
        super().__init__(
            "E0204",
            f"these definitions need each other: {names}",
            span=members[0].name.span,
            detail="\n".join(f"  {place}" for place in sorted(places)),
            hint="change one of them so that it reads something else",
        )
        self.members = tuple(members)


def order_definitions(definitions: Sequence[s.Definition]) -> list[s.Definition]:
    """Return definitions so that each comes after those that it names; else as they are written.

    `DefinitionCycle` (E0204) for definitions that depend on each other in a circle.
    """
    places: dict[str, int] = {}
    uses: list[set[int]] = []
    for i, definition in enumerate(definitions):
        made = [places.setdefault(key, i) for key in _keys(definition)]
        uses.append({place for place in made if place != i})
    for i, definition in enumerate(definitions):
        named = (places.get(key) for key in _references(definition))
        uses[i] |= {place for place in named if place is not None and place != i}
    sorter = TopologicalSorter(dict(enumerate(uses)))
    try:
        sorter.prepare()
    except CycleError as cycle:
        first, *others = (definitions[i] for i in reversed(cycle.args[1]))
        raise DefinitionCycle([first, *others[:-1]]) from None
    out, ready = list[s.Definition](), list[int]()
    while sorter.is_active():
        for i in sorter.get_ready():
            heapq.heappush(ready, i)
        first = heapq.heappop(ready)
        out.append(definitions[first])
        sorter.done(first)
    return out


def _keys(definition: s.Definition) -> Iterator[str]:
    """Yield the keys of what a definition makes."""
    yield _key(definition)
    if isinstance(definition, s.CreateSource):
        tables = (t.alias or t.table for t in definition.transforms)
        yield from (name for name in tables if name)


def _key(definition: s.Definition) -> str:
    name = catalog_name(definition.name)
    try:
        return key_of(name, kind_of(definition))
    except NotSupported:  # It stands for several, or is refused when its turn comes.
        return name


def _references(definition: s.Definition) -> Iterator[str]:
    """Yield the keys of what a definition names; some may be nothing's."""
    transforms: tuple[s.Transform, ...] = getattr(definition, "transforms", ())
    queries = [getattr(definition, "query", None), *(t.query for t in transforms)]
    for query in queries:
        for name in () if query is None else relations_of(query):
            companion = next((c for c in COMPANIONS if name.endswith(c)), "")
            yield name
            yield name.removesuffix(companion)
    into = getattr(definition, "into", None) or getattr(definition, "table", None)
    if isinstance(into, s.ObjectName):
        yield catalog_name(into)
    yield from (key_of(name, ObjectKind.FUNCTION) for name in function_calls(definition))
