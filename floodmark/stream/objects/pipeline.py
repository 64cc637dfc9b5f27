"""A catalog to analysed objects: every definition bound, planned and given its properties."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

from floodmark.catalog.catalog import Catalog
from floodmark.catalog.objects import CatalogObject, Kind, Relation
from floodmark.catalog.splitting import STORED
from floodmark.errors import FloodmarkError, NotSupported
from floodmark.plan.build.aliases import rename_columns
from floodmark.plan.build.builder import build_query
from floodmark.plan.declare.available import check_available
from floodmark.plan.declare.definitions import check_external
from floodmark.plan.declare.functions import Functions, functions_of
from floodmark.plan.nodes import Node
from floodmark.plan.nodes.size import within_stack
from floodmark.plan.rules.first_rows import drop_orders
from floodmark.sql import statements as s
from floodmark.stream.ndu import Resolution, Root, mode_of, resolve
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.stream.objects.external_sink import (
    bind_external_sink,
    check_alone,
    check_no_circle,
    folders,
)
from floodmark.stream.objects.owners import check_owner, owners_of
from floodmark.stream.objects.rereads import check_rereads
from floodmark.stream.objects.sinks import (
    check_sole_writer,
    fit_to_target,
    target_columns,
    target_key_columns,
)
from floodmark.stream.objects.snapshot import check_snapshot
from floodmark.stream.objects.stored import declaration
from floodmark.stream.objects.supported import check_columns, check_options, check_supported
from floodmark.stream.operators.lower import StreamPlan
from floodmark.stream.passes.periods import check_periods
from floodmark.stream.passes.planning import known_of, plan_of, reads, relation_of
from floodmark.stream.passes.refresh import (
    check_repeatable,
    refresh_plan,
    refreshes,
    refuse_on_close,
)


def analyse_catalog(
    catalog: Catalog, known: Pipeline | None = None, *, runs: bool = True
) -> Pipeline:
    """Return the analysed pipeline; objects that `known` has unchanged are taken from it.

    Without `runs` what the engine cannot run yet is analysed all the same: to explain it.

    Raises `BindError` and `NotSupported` for the first definition that does not hold.
    """
    done: dict[str, AnalysedObject] = {}
    functions = functions_of(catalog.objects.values())
    for declared in definition_order(catalog):
        obj = _reuse(declared, catalog, known, done)
        if obj is None:
            with within_stack(declared.statement.name.span):
                obj = analyse_object(declared, catalog, done, functions)
        if runs and obj.refused is not None:
            raise obj.refused
        done[declared.key] = obj
    ordered = {o.key: done[o.key] for o in catalog.order() if o.key in done}
    return Pipeline(catalog, ordered)


def definition_order(catalog: Catalog) -> list[CatalogObject]:
    """Return what has rows, so that each comes after what its definition names."""
    plain = [o for o in catalog.order() if o.kind not in (Kind.INDEX, Kind.FUNCTION)]
    return sorted(plain, key=lambda o: o.kind is Kind.SINK)


def _reuse(
    declared: CatalogObject,
    catalog: Catalog,
    known: Pipeline | None,
    done: Mapping[str, AnalysedObject],
) -> AnalysedObject | None:
    before = None if known is None else known.objects.get(declared.key)
    if before is None or before.object is not declared or known is None:
        return None
    reads = {*before.reads, *declared.reads, *catalog.functions_below(declared.reads)}
    # A sink's plan has the columns of its target.
    reads |= {declared.target} if declared.target is not None else set()
    same = all(
        done.get(k) is known.objects.get(k)
        and (k in done or catalog.objects.get(k) is known.catalog.objects.get(k))
        for k in reads
    )
    feeders = catalog.feeders(declared.key)
    owners = owners_of(feeders, before.relation.primary_key)
    same = same and tuple(o.key for o in feeders) == before.feeders and owners == before.owners
    return before if same else None


def analyse_object(
    declared: CatalogObject,
    catalog: Catalog,
    done: Mapping[str, AnalysedObject],
    functions: Functions,
) -> AnalysedObject:
    """Return one object with its properties; `done` has all that its definition names."""
    known = dict(declared.sees)
    relations = {
        o.key: known_of(o.relation, known.get(o.key))
        for o in done.values()
        if o.kind is not Kind.SINK
    }
    views = plain_views(done.values())
    match declared.statement:
        case s.CreateSource() | s.CreateTable():
            return _stored(declared, catalog, relations, views, functions)
        case s.CreateSink():
            feeders = () if declared.target is None else catalog.feeders(declared.target)
            return _sink(declared, feeders, done, relations, views, functions)
        case s.CreateMaterializedView() | s.CreateView():
            return _view(declared, done, relations, views, functions)
        case _:
            raise AssertionError(declared.statement)


def _refusal(*checks: Callable[[], None]) -> NotSupported | None:
    """Return what the first check that does not pass raises."""
    try:
        for check in checks:
            check()
    except NotSupported as refused:
        return refused
    return None


def _stored(
    declared: CatalogObject,
    catalog: Catalog,
    relations: Mapping[str, Relation],
    views: Mapping[str, Node],
    functions: Functions,
) -> AnalysedObject:
    found = declaration(declared, functions, relations, views)
    refused = _refusal(lambda: check_available(declared))
    check_external(declared, found.declared)
    feeders = catalog.feeders(declared.key)
    return AnalysedObject(
        declared,
        found.relation,
        declared=found.declared,
        feeders=tuple(o.key for o in feeders),
        owners=owners_of(feeders, found.relation.primary_key),
        refused=refused,
        split=found.split,
    )


def plain_views(objects: Iterable[AnalysedObject]) -> dict[str, Node]:
    """Return the plans that stand for the names of plain views."""
    return {o.key: o.plan.root for o in objects if o.kind is Kind.VIEW and o.plan is not None}


def _resolved(
    plan: StreamPlan, root: Root, declared: CatalogObject, timed: NotSupported | None
) -> Resolution:
    """Return the plan without non-deterministic updates; `timed` says more than its own refusal."""
    try:
        return resolve(plan, root, mode_of(declared), declared.statement)
    except FloodmarkError:
        if timed is not None:
            raise timed from None
        raise


def _view(
    declared: CatalogObject,
    done: Mapping[str, AnalysedObject],
    relations: Mapping[str, Relation],
    views: Mapping[str, Node],
    functions: Functions,
) -> AnalysedObject:
    statement = declared.statement
    assert isinstance(statement, s.CreateMaterializedView | s.CreateView)
    check_options(declared)
    stored = done.get(declared.name + STORED) if declared.part is not None else None
    if stored is not None and stored.split is not None:
        node = stored.split.rest(stored.relation)
    else:
        node = build_query(
            statement.query, relations, statement.span, views=views, functions=functions
        )
    if statement.columns:
        node = rename_columns(node, statement.columns, statement.name.span)
    on_close = isinstance(statement, s.CreateMaterializedView) and statement.emit_on_window_close
    if on_close and refreshes(declared):
        refuse_on_close(statement)
    again = refreshes(declared)
    plan = plan_of(drop_orders(node), on_close=on_close, statement=statement, kept=not again)
    timed = None if again else _refusal(partial(check_periods, plan, statement))
    notes: tuple[str, ...] = ()
    if again:
        plan = refresh_plan(plan)
    elif isinstance(statement, s.CreateMaterializedView):
        root = Root(plan[plan.root].stream_key, stores=True)
        resolved = _resolved(plan, root, declared, timed)
        plan, notes = resolved.plan, resolved.notes
    refused = timed or _refusal(
        lambda: check_repeatable(plan) if again else None,
        lambda: check_snapshot(plan, declared, stores=True),
        lambda: check_supported(plan, refreshes=again),
    )
    check_rereads(plan, declared.name, refreshes=again)
    check_columns(declared, plan)
    relation = relation_of(declared, plan)
    return AnalysedObject(
        declared, relation, plan=plan, reads=reads(plan), notes=notes, refused=refused
    )


def _sink(
    declared: CatalogObject,
    feeders: Collection[CatalogObject],
    done: Mapping[str, AnalysedObject],
    relations: Mapping[str, Relation],
    views: Mapping[str, Node],
    functions: Functions,
) -> AnalysedObject:
    statement = declared.statement
    assert isinstance(statement, s.CreateSink)
    node = build_query(statement.query, relations, statement.span, views=views, functions=functions)
    source = plan_of(
        drop_orders(node), on_close=statement.emit_on_window_close, statement=statement
    )
    if declared.target is None:
        return _external(declared, source, done)
    check_options(declared)
    target = done[declared.target]
    fitted = fit_to_target(source, declared, target.relation, target.declared)
    assert target.declared is not None
    check_owner(declared, target.relation, target.declared, feeders)
    written = target_columns(source, declared, target.declared)
    tells = tuple(c for c in target.relation.primary_key if c in fitted.root.names)
    root = Root(target_key_columns(fitted, target.relation), stores=False, target=True, tells=tells)
    timed = _refusal(partial(check_periods, source, statement))
    resolved = _resolved(fitted, root, declared, timed)
    plan, notes = resolved.plan, resolved.notes
    shared = len(target.feeders) > 1 or (target.declared and target.declared.connector)
    refused = timed or _refusal(
        lambda: check_supported(plan),
        lambda: check_snapshot(plan, declared, stores=False),
        lambda: check_sole_writer(plan, statement, target.relation.name) if shared else None,
    )
    check_rereads(plan, declared.name)
    relation = relation_of(declared, plan)
    return AnalysedObject(
        declared, relation, plan=plan, reads=reads(plan), notes=notes, refused=refused,
        writes=written,
    )  # fmt: skip


def _external(
    declared: CatalogObject, source: StreamPlan, done: Mapping[str, AnalysedObject]
) -> AnalysedObject:
    """Return a sink to the outside; what it writes there must be told by its key."""
    check_columns(declared, source)
    outside = bind_external_sink(declared, source)
    check_alone(outside, declared, done.values())
    check_no_circle(outside, declared, folders(reads(source), done))
    note = outside.key or tuple(f.name for f in outside.columns)
    timed = _refusal(partial(check_periods, source, declared.statement))
    resolved = _resolved(source, Root(note, stores=False), declared, timed)
    plan = resolved.plan
    return AnalysedObject(
        declared,
        relation_of(declared, plan),
        plan=plan,
        reads=reads(plan),
        notes=resolved.notes,
        refused=timed or _refusal(lambda: check_supported(plan)),
        external_sink=outside,
    )
