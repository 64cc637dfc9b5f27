"""The objects that one CREATE SOURCE makes: an output for each table that it lists.

Each is declared by a statement of its own, with the places of what the user wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from sqlglot import exp

from floodmark.catalog.objects import CatalogObject, Origin, Part, qualified
from floodmark.catalog.references import is_cte, table_name
from floodmark.errors import BindError
from floodmark.sql import statements as s
from floodmark.sql.spans import span_of

TABLE = "{table}"
"""In an option of a source FOR TABLES: the name of the table."""


def objects_of(source: s.CreateSource, origin: Origin) -> tuple[CatalogObject, ...]:
    """Return the objects of a source: itself, or its outputs.

    Raises E0234 for two outputs of one name, E0236 for one that reads another.
    """
    if not source.for_tables:
        return (CatalogObject(qualified(source.name), source, origin, sql=source.sql),)
    group = qualified(source.name)
    return tuple(
        CatalogObject(
            qualified(output.name), output, origin, sql=source.sql, part=Part(group, output)
        )
        for output in _outputs(source)
    )


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
                hint="each table is one output; AS gives it a name that is not the source's "
                "and no other's",
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
    own = listed if listed.columns else source
    transforms: tuple[s.Transform, ...] = ()
    if listed.query is not None:
        same = {table, qualified(name), qualified(source.name), source.name.name}
        query = _of_output(listed.query, name, same, tables, source)
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


def _of_output(
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
                hint=f"it sees its own rows: FROM {source.name.name}; join in a view over both",
            )
    return query


def tables_of(query: exp.Expression) -> tuple[exp.Table, ...]:
    """Return the places where a query names relations of the catalog."""
    tables = query.find_all(exp.Table)
    return tuple(t for t in tables if isinstance(t.this, exp.Identifier) and not is_cte(t))


def rename(table: exp.Table, name: s.ObjectName) -> None:
    """Let a reference read another relation, under the name that it had."""
    if table.args.get("alias") is None and table.name != name.name:
        alias = exp.TableAlias(this=exp.Identifier(this=table.name, quoted=False))
        table.set("alias", alias)
    place = dict(table.this.meta)
    table.set("this", exp.Identifier(this=name.name, quoted=False))
    table.this.meta.update(place)
    schema = name.schema and exp.Identifier(this=name.schema, quoted=False)
    table.set("db", schema or None)
