"""What reads or writes a relation when its columns change.

A definition keeps to the columns that there were when it was made: its `*` has no others, and a
column that is renamed keeps its name there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from sqlglot import exp

from floodmark.catalog.catalog import Catalog
from floodmark.catalog.column_changes import renamed_in
from floodmark.catalog.objects import CatalogObject, Kind
from floodmark.catalog.references import forget_column, name_columns, table_name, tables_of
from floodmark.sql import statements as s


def with_seen(catalog: Catalog, key: str, columns: Iterable[str]) -> Catalog:
    """Return the catalog in which what reads a relation keeps to the columns that it has now."""
    seen = tuple(columns)
    return catalog.replace(
        replace(o, sees=(*o.sees, (key, seen)))
        for o in _readers(catalog, key)
        if key not in dict(o.sees)
    )


def without_seen(catalog: Catalog, key: str, column: str, columns: Sequence[str]) -> Catalog:
    """Return the catalog in which nothing that reads a relation knows a column.

    `columns` are the visible ones of before.
    """
    for reader in _readers(catalog, key):
        known = dict(reader.sees).get(key, tuple(columns))
        left = ((k, tuple(c for c in v if c != column or k != key)) for k, v in reader.sees)
        seen = replace(reader, sees=tuple(left))
        query = None
        if reader.kind is not Kind.INDEX:
            query = _changed(reader, key, lambda table: forget_column(table, known, column))  # noqa: B023
        catalog = catalog.replace([seen]) if query is None else catalog.redefined(seen, query)
    return catalog


def with_former_name(
    catalog: Catalog, key: str, old: str, new: str, columns: Sequence[str]
) -> Catalog:
    """Return the catalog in which readers of a relation know a column by its former name.

    `columns` are the visible ones of before. Sinks into it and indexes take the new name.
    """
    for reader in _readers(catalog, key):
        known = dict(reader.sees).get(key, tuple(columns))
        if reader.kind is Kind.INDEX or old not in known:
            continue
        sees = tuple((k, _swapped(v, old, new) if k == key else v) for k, v in reader.sees)
        present = _swapped(known, old, new)
        statement = _changed(reader, key, lambda table: name_columns(table, known, present))  # noqa: B023
        assert statement is not None
        catalog = catalog.redefined(replace(reader, sees=sees), statement)
    for sink in catalog.feeders(key):
        written = sink.statement
        assert isinstance(written, s.CreateSink)
        names = _swapped(written.target_columns, old, new)
        if names != written.target_columns:
            catalog = catalog.redefined(sink, replace(written, target_columns=names))
    for index in _readers(catalog, key):
        hint = index.statement
        if isinstance(hint, s.CreateIndex):
            keys = tuple(renamed_in(k, old, new) for k in hint.keys)
            hint = replace(hint, keys=keys, include=_swapped(hint.include, old, new))
            catalog = catalog.redefined(index, hint)
    return catalog


def _readers(catalog: Catalog, key: str) -> list[CatalogObject]:
    return [o for o in catalog.objects.values() if key in o.reads]


def _swapped(names: Sequence[str], old: str, new: str) -> tuple[str, ...]:
    return tuple(new if name == old else name for name in names)


def _changed(
    reader: CatalogObject, key: str, change: Callable[[exp.Table], None]
) -> s.Definition | None:
    """Return a definition whose references to a relation are others; None where they are not."""
    statement = reader.statement
    if not isinstance(statement, s.CreateView | s.CreateMaterializedView | s.CreateSink):
        return None
    query: exp.Expression = statement.query.copy()
    for table in tables_of(query):
        if table_name(table) == key:
            change(table)
    if query == statement.query:
        return None
    if isinstance(statement, s.CreateSink):
        return replace(statement, query=query, from_relation=None)
    return replace(statement, query=query)
