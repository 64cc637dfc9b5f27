"""ALTER as another definition: the CREATE statement as it would be written now."""

from __future__ import annotations

from dataclasses import replace

from floodmark.catalog.catalog import Catalog, unknown_object
from floodmark.catalog.objects import CatalogObject, Kind, key_of, qualified
from floodmark.errors import BindError, NotSupported
from floodmark.sql import statements as s
from floodmark.sql.normalise import to_sql
from floodmark.sql.parse import parse_statement

_KINDS = {kind.value.lower(): kind for kind in Kind}


def altered(statement: s.Alter, catalog: Catalog) -> Catalog:
    """Return the catalog after an ALTER.

    Raises E0201 for an object that is not there, E0203 for one of another kind, E0366 for what
    cannot be altered yet.
    """
    found = object_of(statement, catalog)
    definition = _altered(statement, found)
    text = to_sql(definition)
    span = found.span
    again = parse_statement(text, span.file, line=span.line, column=span.column)
    assert isinstance(again, s.Definition)
    return catalog.altered(found, again)


def object_of(statement: s.Alter, catalog: Catalog) -> CatalogObject:
    """Return what an ALTER names; E0201 where it is not there, E0203 of another kind."""
    kind = None if statement.kind is None else _KINDS[statement.kind.value.lower()]
    name = qualified(statement.name)
    key = name if kind is None else key_of(name, kind)
    if key not in catalog.objects:
        what = "relation" if kind is None else kind.value
        names = [o.name for o in catalog.objects.values() if kind in (None, o.kind)]
        raise unknown_object(name, names, statement.name.span, what)
    found = catalog.objects[key]
    if kind is not None and found.kind is not kind:
        raise BindError(
            "E0203",
            f'"{found.name}" is a {found.kind.value}',
            span=statement.name.span,
            hint=f"ALTER {found.kind.value.upper()} {found.name}",
        )
    return found


def _altered(statement: s.Alter, found: CatalogObject) -> s.Definition:
    definition = found.statement
    match statement:
        case s.AlterConflict() if isinstance(definition, s.CreateTable):
            return replace(definition, conflict=statement.conflict)
        case _:
            raise NotSupported(
                "E0366",
                f"{statement.words} is understood but not available yet",
                span=statement.span,
                hint="docs/sql.md lists the statements that run",
            )
