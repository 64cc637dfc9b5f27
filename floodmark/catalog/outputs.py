"""The objects that one CREATE SOURCE makes: an output for each table that it lists.

An output that is split is a source and a materialized view over it. Each object is declared by a
statement of its own, with the places of what the user wrote.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from sqlglot import exp

from floodmark.catalog.objects import CatalogObject, Origin, SourcePart, catalog_name
from floodmark.catalog.references import relations_of, rename, table_name, tables_of
from floodmark.catalog.splitting import is_split, parts_of
from floodmark.errors import BindError
from floodmark.sql import statements as s
from floodmark.sql.spans import span_of

TABLE = "{table}"
"""In an option of a source FOR TABLES: the name of the table."""


def objects_of(
    source: s.CreateSource, origin: Origin, sets: Collection[str]
) -> tuple[CatalogObject, ...]:
    """Return the objects of a source: itself or its outputs, and of one that is split, a view.

    `sets` are functions of users that take or give several rows. Raises E0234 for two outputs of
    one name, E0236 for one that reads another, E0239 for options of a TRANSFORM USING,
    E0142 for the key of an output that lists no columns.
    """
    outputs = tuple(_outputs(source)) if source.for_tables else (source,)
    parts_of_output = [(o, parts_of(o, sets)) for o in outputs]
    several = source.for_tables or len(parts_of_output[0][1]) > 1
    group = catalog_name(source.name)
    return tuple(
        CatalogObject(
            catalog_name(made.name),
            made,
            origin,
            _reads(made),
            sql=source.sql,
            part=SourcePart(group, output) if several else None,
        )
        for output, parts in parts_of_output
        for made in parts
    )


def _reads(made: s.CreateSource | s.CreateMaterializedView) -> tuple[str, ...]:
    """Return the other relations that a definition names, as far as it may."""
    if isinstance(made, s.CreateMaterializedView):
        return relations_of(made.query)
    queries = (t.query for t in made.transforms if is_split(t))
    names = (name for query in queries if query is not None for name in relations_of(query))
    return tuple(name for name in names if name != catalog_name(made.name))


def _outputs(source: s.CreateSource) -> Iterator[s.CreateSource]:
    """Return the sources of a FOR TABLES list, each as if it had been written alone."""
    tables: dict[str, str] = {}
    names = {source.name.name}
    for listed in source.transforms:
        table = listed.table or ""
        name = listed.alias or table
        if table in tables or name in names:
            twice = f'the table "{table}" is listed' if table in tables else f'"{name}" is named'
            raise BindError(
                "E0234",
                f"{twice} twice",
                span=listed.span if table in tables else listed.name_span,
                hint="list each table once; AS gives it a name that nothing else has",
            )
        tables[table] = name
        names.add(name)
    for listed in source.transforms:
        yield _output(source, listed, tables)


def _output(
    source: s.CreateSource, listed: s.Transform, tables: Mapping[str, str]
) -> s.CreateSource:
    table = listed.table or ""
    name = s.ObjectName(listed.alias or table, source.name.schema, listed.name_span)
    beside = listed.primary_key or next(iter(listed.watermarks), None)
    if beside is not None and not listed.columns:
        raise BindError(
            "E0142",
            f'"{table}" has a key or a watermark, and no columns of its own',
            span=beside.span,
            hint="list its columns, too; or declare it on the source, for all tables",
        )
    own = listed if listed.columns else source
    transforms: tuple[s.Transform, ...] = ()
    if listed.query is not None:
        same = {table, catalog_name(name), catalog_name(source.name), source.name.name}
        query = _rename_relations(listed.query, name, same, tables, source)
        transforms = (s.Transform(query, options=listed.options, span=listed.span),)
    format_ = source.format
    if format_ is not None:
        format_ = replace(format_, options=_options(format_.options, table))
    return replace(
        source,
        name=name,
        columns=own.columns,
        primary_key=own.primary_key,
        watermarks=own.watermarks,
        options=_options(source.options, table),
        format=format_,
        transforms=transforms,
        for_tables=False,
    )


def _options(options: tuple[s.Option, ...], table: str) -> tuple[s.Option, ...]:
    return tuple(replace(o, value=o.value.replace(TABLE, table)) for o in options)


def _rename_relations(
    query: exp.Expression,
    name: s.ObjectName,
    same: set[str],
    tables: Mapping[str, str],
    source: s.CreateSource,
) -> exp.Expression:
    """Return a query that reads an output by its name where it says the table or the source."""
    others = {*tables, *tables.values()} - same
    query = query.copy()
    for table in tables_of(query):
        if table_name(table) in same:
            rename(table, name)
        elif table_name(table) in others:
            raise BindError(
                "E0236",
                f'the output "{name.name}" reads another one, "{table.name}"',
                span=span_of(table, source.span),
                hint=f"read only its own rows: FROM {source.name.name}; join in a view over both "
                "outputs",
            )
    return query
