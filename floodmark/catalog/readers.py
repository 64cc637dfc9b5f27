"""What reads or writes a relation when its columns change.

A definition keeps to the columns that there were when it was made: its `*` has no others, and a
column that is renamed keeps its name there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from sqlglot import exp

from floodmark.catalog.catalog import Catalog
from floodmark.catalog.column_changes import rename_in_expression
from floodmark.catalog.objects import CatalogObject, ObjectKind
from floodmark.catalog.references import forget_column, name_columns, table_name, tables_of
from floodmark.sql import statements as s


def pin_columns(catalog: Catalog, key: str, columns: Iterable[str]) -> Catalog:
    """Return the catalog in which what reads a relation keeps to the columns that it has now."""
    seen = tuple(columns)
    return catalog.replace(
        replace(o, sees=(*o.sees, (key, seen)))
        for o in _readers(catalog, key)
        if key not in dict(o.sees)
    )


def hide_from_readers(catalog: Catalog, key: str, column: str, columns: Sequence[str]) -> Catalog:
    """Return the catalog in which nothing that reads a relation knows a column.

    `columns` are the visible ones of before.
    """
    for reader in _readers(catalog, key):
        known = dict(reader.sees).get(key, tuple(columns))
        left = ((k, tuple(c for c in v if c != column or k != key)) for k, v in reader.sees)
        change = partial(forget_column, known=known, column=column)
        catalog = _rewrite_reader(catalog, replace(reader, sees=tuple(left)), key, change)
    return catalog


def with_former_name(
    catalog: Catalog, key: str, old: str, new: str, columns: Sequence[str]
) -> Catalog:
    """Return the catalog in which readers of a relation know a column by its former name.

    `columns` are the visible ones of before. Sinks into it and indexes take the new name.
    """
    for reader in _readers(catalog, key):
        known = dict(reader.sees).get(key, tuple(columns))
        if reader.kind is ObjectKind.INDEX or old not in known:
            continue
        sees = tuple((k, _swap(v, old, new) if k == key else v) for k, v in reader.sees)
        change = partial(name_columns, known=known, present=_swap(known, old, new))
        catalog = _rewrite_reader(catalog, replace(reader, sees=sees), key, change)
    for sink in catalog.feeders(key):
        written = sink.statement
        assert isinstance(written, s.CreateSink)
        names = _swap(written.target_columns, old, new)
        if names != written.target_columns:
            catalog = catalog.redefine(sink, replace(written, target_columns=names))
    for index in _readers(catalog, key):
        hint = index.statement
        if isinstance(hint, s.CreateIndex):
            hint = replace(
                hint,
                keys=tuple(rename_in_expression(k, old, new) for k in hint.keys),
                include=_swap(hint.include, old, new),
                distributed_by=tuple(
                    rename_in_expression(k, old, new) for k in hint.distributed_by
                ),
            )
            catalog = catalog.redefine(index, hint)
    return catalog


def _readers(catalog: Catalog, key: str) -> list[CatalogObject]:
    return [o for o in catalog.objects.values() if key in o.reads]


def _swap(names: Sequence[str], old: str, new: str) -> tuple[str, ...]:
    return tuple(new if name == old else name for name in names)


def _rewrite_reader(
    catalog: Catalog, reader: CatalogObject, key: str, change: Callable[[exp.Table], None]
) -> Catalog:
    """Return the catalog with a reader whose references to a relation are changed."""
    statement = reader.statement
    if not isinstance(statement, s.CreateView | s.CreateMaterializedView | s.CreateSink):
        return catalog.replace([reader])
    query: exp.Expression = statement.query.copy()
    for table in tables_of(query):
        if table_name(table) == key:
            change(table)
    if query == statement.query:
        return catalog.replace([reader])
    if isinstance(statement, s.CreateSink):
        return catalog.redefine(reader, replace(statement, query=query, from_relation=None))
    return catalog.redefine(reader, replace(statement, query=query))
