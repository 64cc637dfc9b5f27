"""Changes of an ALTER, and the checks that refuse one before anything is written."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from sqlglot import exp

from floodmark.catalog.alterations import apply_alter, find_object, with_definition
from floodmark.catalog.catalog import AGAIN, Catalog
from floodmark.catalog.objects import CatalogObject, ObjectKind, Origin, title_of
from floodmark.catalog.refused import OTHER_STATE
from floodmark.errors import BindError, FloodmarkError, NotSupported
from floodmark.plan.declare.table_options import check_names
from floodmark.plan.expr.evaluate import evaluate
from floodmark.plan.expr.expressions import UserCall, walk
from floodmark.scalar.functions.model import RowErrorCode
from floodmark.sql import statements as s
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.stream.objects.pipeline import analyse_catalog
from floodmark.stream.objects.refusals import refuse_opaque
from floodmark.stream.objects.table_of_query import table_of_view
from floodmark.warehouse.changes import ObjectChange
from floodmark.warehouse.row_reuse import reshaping


def alter_catalog(statement: s.Alter, pipeline: Pipeline) -> Catalog:
    """Return the catalog after an ALTER; the same catalog if nothing changes."""
    catalog = pipeline.catalog
    if isinstance(statement, s.AlterToTable):
        return _as_table(statement, pipeline)
    if isinstance(statement, s.AlterColumns):
        return _one_by_one(statement, pipeline)
    if isinstance(statement, s.AlterSet):
        _check_names(statement, find_object(statement, catalog))
    after = apply_alter(statement, catalog, pipeline.relations)
    if isinstance(statement, s.AlterQuery):
        after = _replace_refused(find_object(statement, catalog), after, pipeline)
    if isinstance(statement, s.AlterDropColumn) and after is not catalog:
        obj = find_object(statement, catalog)
        return _without_users(statement, obj, after, pipeline)
    return after


def _check_names(statement: s.AlterSet, obj: CatalogObject) -> None:
    """Refuse the first option that a table does not have where it is written: E0750."""
    if isinstance(obj.statement, s.CreateTable):
        given = {option.name for option in statement.options}
        kept = (o for o in obj.statement.options if o.name not in given)
        check_names((*statement.options, *kept), statement.span)


def _one_by_one(statement: s.AlterColumns, pipeline: Pipeline) -> Catalog:
    """Return the catalog after several changes; E0844 for a column that goes and comes back."""
    gone = {a.column for a in statement.actions if isinstance(a, s.AlterDropColumn)}
    for action in statement.actions:
        if isinstance(action, s.AlterAddColumn) and action.column.name in gone:
            raise NotSupported(
                "E0844",
                f'the column "{action.column.name}" is dropped and added in one ALTER',
                span=action.span,
                hint="DROP COLUMN first, and ADD COLUMN in a statement of its own",
            )
        catalog = alter_catalog(action, pipeline)
        if catalog is not pipeline.catalog:
            pipeline = analyse_catalog(catalog, pipeline)
    return pipeline.catalog


def _replace_refused(obj: CatalogObject, catalog: Catalog, pipeline: Pipeline) -> Catalog:
    """Return the catalog in which an object that was refused, and has the same query, is another.

    Raises its refusal where the definition is refused, and not what is at rest.
    """
    before, made = pipeline[obj.key], catalog.objects[obj.key]
    if not before.opaque or made.statement != obj.statement:
        return catalog
    if before.refused is None or before.refused.code != OTHER_STATE:
        refuse_opaque(before, pipeline.objects)
    return catalog.replace([replace(made, past=(*made.past, (AGAIN,)))])


def _as_table(statement: s.AlterToTable, pipeline: Pipeline) -> Catalog:
    obj = find_object(statement, pipeline.catalog)
    refuse_opaque(pipeline[obj.key], pipeline.objects)
    if obj.part is not None:
        raise NotSupported(
            "E0849",
            f"{obj.name} is an output of a source",
            span=statement.span,
            hint="CREATE TABLE …, and a sink into it FROM the output",
        )
    if pipeline[obj.key].refreshes:
        raise NotSupported(
            "E0849",
            f"{obj.name} is recomputed, and a sink into a table is not",
            span=statement.span,
            hint=f"ALTER MATERIALIZED VIEW {obj.name} RESET (refresh) first",
        )
    table, sink = table_of_view(pipeline[obj.key])
    catalog = with_definition(pipeline.catalog, obj, table)
    # The sink knows of the columns that the view knew of.
    made = catalog.create(sink, Origin.STATEMENT)
    key = next(key for key in made.objects if key not in catalog.objects)
    fed = made.replace([replace(made.objects[key], sees=obj.sees)])
    bare = replace(fed.objects[obj.key], sees=())
    return fed.replace([bare])


def _without_users(
    statement: s.AlterDropColumn, obj: CatalogObject, catalog: Catalog, pipeline: Pipeline
) -> Catalog:
    """Return the catalog if nothing uses a column that goes, without what does under CASCADE."""
    users = _users(obj.key, statement.column, catalog, pipeline)
    if not users:
        return catalog
    if not statement.cascade:
        names = ", ".join(catalog.objects[key].name for key in users)
        raise BindError(
            "E0837",
            f'the column "{statement.column}" of "{obj.name}" is used by {names}',
            span=statement.span,
            hint="change or drop those first, or add CASCADE",
        )
    gone = {*users, *catalog.dependents(*users)}
    return Catalog({k: o for k, o in catalog.objects.items() if k not in gone})


def _users(key: str, column: str, catalog: Catalog, pipeline: Pipeline) -> list[str]:
    """Return the objects on a relation that do not hold, or show less, without a column."""
    near = (o for o in catalog.objects.values() if key in o.reads or o.target == key)
    return [
        o.key
        for o in near
        if o.kind is not ObjectKind.INDEX
        and ((o.target == key and column in pipeline[o.key].writes) or _uses(o, catalog, pipeline))
    ]


def _uses(obj: CatalogObject, catalog: Catalog, pipeline: Pipeline) -> bool:
    if pipeline[obj.key].opaque:
        return True
    needed = {obj.key, *_upstream(obj, catalog)}
    alone = Catalog({k: o for k, o in catalog.objects.items() if k in needed})
    try:
        after = analyse_catalog(alone, pipeline)[obj.key]
    except FloodmarkError:
        return True
    before = pipeline[obj.key]
    return obj.kind is not ObjectKind.SINK and before.relation.visible != after.relation.visible


def _upstream(obj: CatalogObject, catalog: Catalog) -> set[str]:
    seen: set[str] = set()
    left = [*obj.reads, *([obj.target] if obj.target else [])]
    while left:
        key = left.pop()
        if key in catalog.objects and key not in seen:
            seen.add(key)
            left += catalog.objects[key].reads
    return seen


def refuse_loss(statement: s.Alter, changes: Iterable[ObjectChange], pipeline: Pipeline) -> None:
    """Raise E0842 if an ALTER of a source or table would empty it."""
    for change in changes:
        obj = pipeline.objects.get(change.key)
        lasting = obj is not None and obj.declared is not None
        if lasting and change.action == "rebuild":
            raise NotSupported(
                "E0842",
                f"{statement.words} would empty {change.key}, and its rows cannot be recomputed",
                span=statement.span,
                hint="create another table, and a sink into it; or change its file, and "
                "`floodmark plan --apply --discard-rows`",
            )


def check_fill_value(
    before: AnalysedObject | None, after: AnalysedObject, *, calling: bool
) -> None:
    """Raise E0839 if the DEFAULT of a new column has no value for stored rows.

    Checks either the DEFAULTs that call a user's Python function or all others, because planning
    runs no such code.
    """
    how = None if before is None else reshaping(before, after)
    if how is None or after.declared is None:
        return
    needed = {c.name for c in after.declared.columns if c.not_null}
    for name, expr in how.filled.items():
        if calling is not any(isinstance(part, UserCall) for part in walk(expr)):
            continue
        value, error = evaluate(expr, {}, datetime(2000, 1, 1, tzinfo=UTC))
        if error is None and (value is not None or name not in needed):
            continue
        said = "" if error is None else RowErrorCode(error).name.lower().replace("_", " ")
        why = f"fails: {said}" if said else "is NULL"
        raise BindError(
            "E0839",
            f'the DEFAULT of the new column "{name}" {why}',
            span=after.object.statement.name.span,
            hint="stored rows take the DEFAULT, so it needs a value",
        )


def refuse_lagging(
    changes: Iterable[ObjectChange],
    behind: Mapping[str, str],
    pipeline: Pipeline,
    continuing: Collection[str] = (),
) -> None:
    """Raise E0838 if an object that keeps its rows, or one that reads such rows, is not up to date.

    `behind` has the reasons, by key. Objects in `continuing` catch up under their new definition,
    or that of the sink that writes them.
    """
    for change in changes:
        if change.action not in ("alter", "replace"):
            continue
        obj = pipeline[change.key]
        home = obj.object.target or obj.key
        readers = [
            o.key for o in pipeline.writing_objects if {home, change.key} & _reads(o.key, pipeline)
        ]
        own = () if home in continuing else (home,)
        late = [key for key in (*own, *obj.reads, *readers) if key in behind]
        if late:
            place = obj.object.statement.name.span
            first = pipeline[late[0]]
            resume = f"ALTER {first.kind.value.upper()} {first.name} RESUME"
            raise NotSupported(
                "E0838",
                f"{title_of(first.key)} {behind[first.key]}: what {title_of(change.key)} has "
                "stored so far would be read under another definition",
                span=None if place is None or place.file is None else place,
                hint=f"{resume}, or DROP it; then repeat the statement",
            )


def _reads(key: str, pipeline: Pipeline) -> set[str]:
    obj = pipeline[key]
    return {*obj.reads, *(r for sink in obj.feeders for r in pipeline[sink].reads)}


def keeping_columns(
    catalog: Catalog, deployed: Catalog, visible: Mapping[str, Collection[str]]
) -> Catalog:
    """Return the catalog of the files in which unchanged definitions keep their former columns.

    A definition with `*` or NATURAL would otherwise also take the new columns. `visible` are the
    deployed columns, by relation.
    """
    changed = {
        key
        for key, obj in catalog.objects.items()
        if key in visible and obj is not deployed.objects.get(key)
    }
    out = []
    for obj in catalog.objects.values():
        if obj is not deployed.objects.get(obj.key) or _asks_for_all(obj):
            continue
        known = dict(obj.sees)
        fresh = [(k, tuple(visible[k])) for k in obj.reads if k in changed and k not in known]
        if fresh:
            out.append(replace(obj, sees=(*obj.sees, *fresh)))
    return catalog.replace(out) if out else catalog


def _asks_for_all(obj: CatalogObject) -> bool:
    query = getattr(obj.statement, "query", None)
    if query is None:
        return False
    stars = (star for star in query.find_all(exp.Star) if not isinstance(star.parent, exp.Count))
    natural = (j for j in query.find_all(exp.Join) if j.args.get("method") == "NATURAL")
    return any(True for _ in stars) or any(True for _ in natural)
