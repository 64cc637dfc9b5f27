"""Definitions at rest that this version refuses: what the pipeline has in their place."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Protocol

from floodmark.catalog.catalog import Catalog
from floodmark.catalog.objects import CatalogObject, ObjectKind, Relation, name_of
from floodmark.catalog.refused import OTHER_STATE, refusal_of_object
from floodmark.errors import FloodmarkError, NotSupported
from floodmark.plan.declare.functions import refusal_of
from floodmark.sql import statements as s
from floodmark.stream.objects.analysed import AnalysedObject


class ObjectTables(Protocol):
    """What is known of objects from their tables alone."""

    def relation(self, obj: CatalogObject) -> Relation:
        """Return the relation of an object's stored rows."""

    def states_left(self, obj: AnalysedObject) -> Collection[str]:
        """Return the state tables that an object has, and its plan does not have."""


def refuse_other_state(obj: AnalysedObject, at_rest: ObjectTables) -> None:
    """Raise E0855 if what an operator has stored so far would be read by none."""
    left = at_rest.states_left(obj)
    if left:
        names = ", ".join(sorted(left))
        raise NotSupported(
            OTHER_STATE,
            f"this version keeps its state in other tables: nothing would read {names}",
            span=obj.object.statement.span,
            hint=state_remedy(obj.key, obj.kind, obj.object.target),
        )


def state_remedy(key: str, kind: ObjectKind, target: str | None) -> str:
    """Return the hint of E0855: how an object begins anew, with the same query or another."""
    name = name_of(key)
    if target is not None:
        return f"DROP SINK {name} and CREATE it again: the rows of {target} stay"
    again = f"ALTER {kind.value.upper()} {name} AS the same query or another"
    return f"{again}, or DROP and CREATE it: it is computed anew"


def refusal_at_rest(obj: CatalogObject, catalog: Catalog) -> FloodmarkError | None:
    """Return why an object cannot be analysed at all: its text, or a function that it calls."""
    if isinstance(obj.statement, s.RefusedDefinition):
        return obj.statement.refused
    below = catalog.used_functions(obj.reads)
    refused = (refusal_of(catalog.objects[key].statement) for key in below)
    return next(filter(None, refused), None)


def opaque_inputs(obj: CatalogObject, done: Mapping[str, AnalysedObject]) -> list[AnalysedObject]:
    """Return what the definition of an object needs to know of, and nothing is known of."""
    names = (*obj.reads, *([obj.target] if obj.target is not None else []))
    return [done[key] for key in names if key in done and done[key].opaque]


def opaque_object(
    obj: CatalogObject,
    catalog: Catalog,
    done: Mapping[str, AnalysedObject],
    relation: Relation,
    refused: FloodmarkError | None,
) -> AnalysedObject:
    """Return an object of which only its rows at rest are known; it waits for all that it reads."""
    return AnalysedObject(
        obj,
        relation,
        reads=tuple(dict.fromkeys(_reads(obj.reads, done))),
        feeders=tuple(o.key for o in catalog.feeders(obj.key)),
        refused=refused,
        opaque=True,
    )


def _reads(names: Collection[str], done: Mapping[str, AnalysedObject]) -> Iterator[str]:
    """Yield the stored objects below some names, and plain views that cannot be looked through."""
    for obj in (done[key] for key in names if key in done):
        if obj.kind is not ObjectKind.VIEW or obj.opaque:
            yield obj.key
        if obj.kind is ObjectKind.VIEW:
            yield from obj.reads


def find_refusal(
    obj: AnalysedObject, objects: Mapping[str, AnalysedObject]
) -> AnalysedObject | None:
    """Return the object whose refusal leaves another one opaque: itself, or the nearest above."""
    left, seen = [obj], {obj.key}
    while left:
        one = left.pop(0)
        if one.refused is not None:
            return one
        above = (*one.reads, *([one.object.target] if one.object.target is not None else []))
        left += [objects[key] for key in above if key in objects and key not in seen]
        seen.update(above)
    return None


def refuse_opaque(obj: AnalysedObject, objects: Mapping[str, AnalysedObject]) -> None:
    """Raise the refusal where nothing but the rows of an object is known."""
    cause = find_refusal(obj, objects) if obj.opaque else None
    if cause is not None and cause.refused is not None:
        raise refusal_of_object(cause.object, cause.refused)
