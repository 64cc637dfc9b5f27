"""A catalog to analysed objects: every definition bound, planned and given its properties."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from floodmark.catalog.catalog import Catalog
from floodmark.catalog.objects import CatalogObject, ObjectKind, Relation
from floodmark.catalog.splitting import STORED
from floodmark.changelog import is_hidden
from floodmark.errors import NotSupported, UserError
from floodmark.plan.build.aliases import rename_columns
from floodmark.plan.build.builder import build_query
from floodmark.plan.declare.available import check_available
from floodmark.plan.declare.definitions import check_external
from floodmark.plan.declare.functions import Functions, functions_of
from floodmark.plan.nodes import Node
from floodmark.plan.nodes.size import guard_stack
from floodmark.sql import statements as s
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.stream.objects.owners import owners_of
from floodmark.stream.objects.planning import Draft, Use, plan_of, reads
from floodmark.stream.objects.refusals import (
    ObjectTables,
    opaque_inputs,
    opaque_object,
    refusal_at_rest,
    refuse_opaque,
    refuse_other_state,
)
from floodmark.stream.objects.stored import declaration
from floodmark.stream.objects.supported import check_options
from floodmark.stream.operators.lower import StreamPlan
from floodmark.stream.passes.refresh import refreshes, refuse_on_close


def analyse_catalog(
    catalog: Catalog,
    known: Pipeline | None = None,
    *,
    runs: bool = True,
    at_rest: ObjectTables | None = None,
) -> Pipeline:
    """Return the analysed pipeline; objects that `known` has unchanged are taken from it.

    Without `runs` what the engine cannot run yet is analysed all the same: to explain it.

    Raises `BindError` and `NotSupported` for the first definition that does not hold. With
    `at_rest` no such definition is new, and each stays, `refused`; so do those of `known`.
    """
    done: dict[str, AnalysedObject] = {}
    functions = functions_of(catalog.objects.values())
    for catalog_object in definition_order(catalog):
        obj = _reuse(catalog_object, catalog, known, done)
        if obj is None:
            stored = _known_relation(catalog_object, known, done)
            stays = stored is not None or at_rest is not None
            try:
                _check_inputs(catalog_object, catalog, done)
                with guard_stack(catalog_object.statement.name.span):
                    obj = analyse_object(catalog_object, catalog, done, functions)
                if runs and obj.refused is not None and not stays:
                    raise obj.refused
                if at_rest is not None:
                    refuse_other_state(obj, at_rest)
            except UserError as error:
                if not stays:
                    raise
                waits = refusal_at_rest(catalog_object, catalog) is None
                waits = waits and bool(opaque_inputs(catalog_object, done))
                refused = None if waits else error
                if stored is None and at_rest is not None:
                    stored = at_rest.relation(catalog_object)
                assert stored is not None
                obj = opaque_object(catalog_object, catalog, done, stored, refused)
        done[catalog_object.key] = obj
    ordered = {o.key: done[o.key] for o in catalog.order() if o.key in done}
    return Pipeline(catalog, ordered)


def _known_relation(
    obj: CatalogObject, known: Pipeline | None, done: Mapping[str, AnalysedObject]
) -> Relation | None:
    """Return the known relation of an object that was refused, or that waits for a refused one.

    An object that waits for none any more has to be valid.
    """
    before = None if known is None else known.objects.get(obj.key)
    if before is None or before.object.statement != obj.statement:
        return None
    if before.refused is None and not (before.opaque and opaque_inputs(obj, done)):
        return None
    return before.relation


def _check_inputs(obj: CatalogObject, catalog: Catalog, done: Mapping[str, AnalysedObject]) -> None:
    """Raise why an object cannot be analysed: its text, a function, or an input is refused."""
    refused = refusal_at_rest(obj, catalog)
    if refused is not None:
        raise refused
    for one in opaque_inputs(obj, done):
        refuse_opaque(one, done)


def definition_order(catalog: Catalog) -> list[CatalogObject]:
    """Return what has rows, so that each comes after what its definition names."""
    plain = [o for o in catalog.order() if o.kind not in (ObjectKind.INDEX, ObjectKind.FUNCTION)]
    return sorted(plain, key=lambda o: o.kind is ObjectKind.SINK)


def _reuse(
    obj: CatalogObject,
    catalog: Catalog,
    known: Pipeline | None,
    done: Mapping[str, AnalysedObject],
) -> AnalysedObject | None:
    before = None if known is None else known.objects.get(obj.key)
    if before is None or before.object is not obj or known is None:
        return None
    reads = {*before.reads, *obj.reads, *catalog.used_functions(obj.reads)}
    # A sink's plan has the columns of its target.
    reads |= {obj.target} if obj.target is not None else set()
    same = all(
        done.get(k) is known.objects.get(k)
        and (k in done or catalog.objects.get(k) is known.catalog.objects.get(k))
        for k in reads
    )
    feeders = catalog.feeders(obj.key)
    owners = owners_of(feeders, before.relation.primary_key)
    same = same and tuple(o.key for o in feeders) == before.feeders and owners == before.owners
    return before if same else None


def analyse_object(
    obj: CatalogObject,
    catalog: Catalog,
    done: Mapping[str, AnalysedObject],
    functions: Functions,
) -> AnalysedObject:
    """Return one object with its properties; `done` has all that its definition names."""
    known = dict(obj.sees)
    relations = {
        o.key: _hide_unknown(o.relation, known.get(o.key))
        for o in done.values()
        if o.kind is not ObjectKind.SINK
    }
    views = plain_views(done.values())
    match obj.statement:
        case s.CreateSource() | s.CreateTable():
            return _analyse_stored(obj, catalog, relations, views, functions)
        case s.CreateSink():
            feeders = () if obj.target is None else catalog.feeders(obj.target)
            return _sink(obj, feeders, done, relations, views, functions)
        case s.CreateMaterializedView() | s.CreateView():
            return _view(obj, done, relations, views, functions)
        case _:
            raise AssertionError(obj.statement)


def _refusal(obj: CatalogObject) -> NotSupported | None:
    """Return why a source or table does not run yet."""
    try:
        check_available(obj)
    except NotSupported as refused:
        return refused
    return None


def _analyse_stored(
    obj: CatalogObject,
    catalog: Catalog,
    relations: Mapping[str, Relation],
    views: Mapping[str, Node],
    functions: Functions,
) -> AnalysedObject:
    stored = declaration(obj, functions, relations, views)
    refused = _refusal(obj)
    check_external(obj, stored.declared)
    feeders = catalog.feeders(obj.key)
    return AnalysedObject(
        obj,
        stored.relation,
        declared=stored.declared,
        feeders=tuple(o.key for o in feeders),
        owners=owners_of(feeders, stored.relation.primary_key),
        refused=refused,
        split=stored.split,
    )


def plain_views(objects: Iterable[AnalysedObject]) -> dict[str, Node]:
    """Return the plans that stand for the names of plain views."""
    return {o.key: o.plan.root for o in objects if o.kind is ObjectKind.VIEW and o.plan is not None}


def _view(
    obj: CatalogObject,
    done: Mapping[str, AnalysedObject],
    relations: Mapping[str, Relation],
    views: Mapping[str, Node],
    functions: Functions,
) -> AnalysedObject:
    statement = obj.statement
    assert isinstance(statement, s.CreateMaterializedView | s.CreateView)
    check_options(obj)
    stored = done.get(obj.name + STORED) if obj.part is not None else None
    if stored is not None and stored.split is not None:
        node = stored.split.rest(stored.relation)
    else:
        node = build_query(
            statement.query, relations, statement.span, views=views, functions=functions
        )
    if statement.columns:
        node = rename_columns(node, statement.columns, statement.name.span)
    again, stored_rows = refreshes(obj), isinstance(statement, s.CreateMaterializedView)
    if again and getattr(statement, "emit_on_window_close", False):
        refuse_on_close(statement)
    use = Use.REFRESHED if again else Use.STORED if stored_rows else Use.VIEW
    return _object_of_draft(plan_of(node, use, obj))


def _sink(
    obj: CatalogObject,
    feeders: Collection[CatalogObject],
    done: Mapping[str, AnalysedObject],
    relations: Mapping[str, Relation],
    views: Mapping[str, Node],
    functions: Functions,
) -> AnalysedObject:
    statement = obj.statement
    assert isinstance(statement, s.CreateSink)
    node = build_query(statement.query, relations, statement.span, views=views, functions=functions)
    use = Use.OUTSIDE if obj.target is None else Use.INTO_TABLE
    return _object_of_draft(plan_of(node, use, obj, done, feeders))


def _object_of_draft(draft: Draft) -> AnalysedObject:
    """Return the object that a planned draft defines."""
    return AnalysedObject(
        draft.object,
        _relation_of(draft.object, draft.plan),
        plan=draft.plan,
        reads=reads(draft.plan),
        notes=draft.notes,
        refused=draft.refused,
        writes=draft.writes,
        external_sink=draft.external_sink,
    )


def _hide_unknown(relation: Relation, names: tuple[str, ...] | None) -> Relation:
    """Return a relation without the columns that a definition does not know of.

    One with another key is another relation: all of it is seen.
    """
    if names is None or any(c not in names and not is_hidden(c) for c in relation.stream_key):
        return relation
    columns = (f for f in relation.columns if is_hidden(f.name) or f.name in names)
    return replace(relation, columns=tuple(columns))


def _relation_of(obj: CatalogObject, plan: StreamPlan) -> Relation:
    """Return the relation that queries see of a plan's rows."""
    top = plan.top
    return Relation(
        name=obj.key,
        kind=obj.kind,
        columns=plan.root.schema,
        stream_key=top.stream_key,
        mode=top.mode,
        watermarks=tuple((w.column, w.group) for w in top.watermarks),
    )
