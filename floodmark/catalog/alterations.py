"""ALTER statements: each results in a new CREATE statement of the object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from floodmark.catalog.catalog import RENAMED, Catalog, reparse, unknown_object
from floodmark.catalog.column_changes import with_column, with_renamed_column, without_column
from floodmark.catalog.objects import (
    CatalogObject,
    ObjectKind,
    Relation,
    catalog_name,
    key_of,
    kind_of_word,
)
from floodmark.catalog.readers import hide_from_readers, pin_columns, with_former_name
from floodmark.catalog.refused import refusal_of_object
from floodmark.errors import BindError, NotSupported
from floodmark.sql import statements as s

_WITH_OPTIONS = (s.CreateTable, s.CreateSource, s.CreateSink, s.CreateMaterializedView)


def apply_alter(statement: s.Alter, catalog: Catalog, relations: Mapping[str, Relation]) -> Catalog:
    """Return the catalog after an ALTER; itself where there is nothing to do.

    `relations` are what queries see of the objects. Raises E0201 for an object that is not there,
    E0203 for one of another kind, E0366 for what cannot be altered.
    """
    obj = find_object(statement, catalog)
    visible = tuple(f.name for f in relations[obj.key].visible) if obj.key in relations else ()
    match statement:
        case s.AlterAddColumn():
            if statement.if_not_exists and statement.column.name in visible:
                return catalog
            definition = with_column(statement, obj)
            return with_definition(pin_columns(catalog, obj.key, visible), obj, definition)
        case s.AlterDropColumn():
            if statement.if_exists and statement.column not in visible:
                return catalog
            definition = without_column(statement, obj)
            catalog = hide_from_readers(catalog, obj.key, statement.column, visible)
            return with_definition(catalog, obj, definition)
        case s.AlterRenameColumn():
            definition = with_renamed_column(statement, obj)
            old, new = statement.column, statement.new_name
            catalog = with_former_name(catalog, obj.key, old, new, visible)
            return with_definition(catalog, obj, definition, (RENAMED, old, new))
        case _:
            if obj.kind is ObjectKind.MATERIALIZED_VIEW:
                catalog = pin_columns(catalog, obj.key, visible)
            definition = _new_definition(statement, obj)
            if isinstance(statement, s.AlterQuery):
                # What a query names is looked for where it is written.
                here = replace(definition, span=statement.span)
                catalog.alter(catalog.objects[obj.key], here)
            return with_definition(catalog, obj, definition)


def is_nothing(statement: s.Alter, catalog: Catalog) -> bool:
    """Tell whether an ALTER … IF EXISTS names an object that does not exist."""
    name = catalog_name(statement.name)
    kind = kind_of_word(statement)
    return statement.missing_ok and not catalog.is_taken(
        name if kind is None else key_of(name, kind)
    )


def with_definition(
    catalog: Catalog, obj: CatalogObject, definition: s.Definition, *past: tuple[str, ...]
) -> Catalog:
    """Return the catalog with another definition of an object."""
    return catalog.alter(catalog.objects[obj.key], reparse(definition, obj), *past)


def find_object(statement: s.Alter, catalog: Catalog) -> CatalogObject:
    """Return the object that an ALTER names; E0201 and E0203 as `apply_alter`."""
    kind = kind_of_word(statement)
    name = catalog_name(statement.name)
    key = name if kind is None else key_of(name, kind)
    if key not in catalog.objects:
        what = "relation" if kind is None else kind.value
        names = [o.name for o in catalog.objects.values() if kind in (None, o.kind)]
        raise unknown_object(name, names, statement.name.span, what)
    obj = catalog.objects[key]
    if kind is not None and obj.kind is not kind:
        raise BindError(
            "E0203",
            f'"{obj.name}" is a {obj.kind.value}',
            span=statement.name.span,
            hint=f"ALTER {obj.kind.value.upper()} {obj.name}",
        )
    if isinstance(obj.statement, s.RefusedDefinition):
        raise refusal_of_object(obj, obj.statement.refused)
    return obj


def _new_definition(statement: s.Alter, obj: CatalogObject) -> s.Definition:
    definition = obj.statement
    queried = isinstance(definition, s.CreateSink | s.CreateMaterializedView | s.CreateView)
    match statement:
        case s.AlterConflict() if isinstance(definition, s.CreateTable):
            return replace(definition, conflict=statement.conflict)
        case s.AlterWatermark() if isinstance(definition, s.CreateTable | s.CreateSource):
            mark = statement.watermark
            marks = {w.column: w for w in definition.watermarks} | {mark.column: mark}
            return replace(definition, watermarks=tuple(marks.values()))
        case s.AlterSet() if isinstance(definition, _WITH_OPTIONS):
            return replace(definition, options=_options(definition.options, statement.options))
        case s.AlterReset() if isinstance(definition, _WITH_OPTIONS):
            names = {name.lower() for name in statement.names}
            kept = tuple(o for o in definition.options if o.name.lower() not in names)
            if len(kept) + len(names) > len(definition.options):
                raise _absent_option(statement, obj, definition.options)
            return replace(definition, options=kept)
        case s.AlterQuery() if queried and obj.part is None:
            return _with_query(statement, definition)
        case _:
            raise NotSupported(
                "E0841",
                f"{statement.words} is not available for a {obj.kind.value}",
                span=statement.span,
                hint="docs/statements.md lists what can be altered",
            )


def _absent_option(
    statement: s.AlterReset, obj: CatalogObject, options: tuple[s.Option, ...]
) -> BindError:
    given = [o.name.lower() for o in options]
    name = next(n for n in statement.names if n.lower() not in given)
    return BindError(
        "E0841",
        f'"{obj.name}" has no option {name}',
        span=statement.span,
        hint=f"it has {', '.join(given)}" if given else "it has none",
    )


def _with_query(statement: s.AlterQuery, definition: s.Definition) -> s.Definition:
    """Return a view or sink with another query; options that are not written stay."""
    assert isinstance(definition, s.CreateSink | s.CreateMaterializedView | s.CreateView)
    options = _options(definition.options, statement.options)
    if isinstance(definition, s.CreateView):
        return replace(definition, query=statement.query, options=options)
    definition = replace(
        definition,
        query=statement.query,
        options=options,
        emit_on_window_close=statement.emit_on_window_close,
    )
    if isinstance(definition, s.CreateSink):
        return replace(definition, from_relation=None)
    return replace(definition, columns=())


def _options(present: tuple[s.Option, ...], given: tuple[s.Option, ...]) -> tuple[s.Option, ...]:
    names = {option.name.lower() for option in given}
    return (*(o for o in present if o.name.lower() not in names), *given)
