"""CREATE TABLE … AS and ALTER MATERIALIZED VIEW … TO TABLE: a table, and the sink that feeds it."""

from __future__ import annotations

from sqlglot import exp

from floodmark.catalog.objects import Relation, catalog_name
from floodmark.catalog.option_table import OptionPlace, specs_of
from floodmark.changelog import ChangelogMode, is_hidden
from floodmark.errors import NotSupported, Span
from floodmark.plan.build.aliases import rename_columns
from floodmark.plan.build.builder import build_query
from floodmark.scalar.types import Schema
from floodmark.sql import statements as s
from floodmark.sql.parse import parse_statement
from floodmark.sql.printer.dialect import print_expression, quote_name
from floodmark.sql.printer.parts import conflict_sql, names_sql, object_sql, options_sql, tail_sql
from floodmark.stream.ndu.mode import OPTION
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.stream.objects.pipeline import plain_views
from floodmark.stream.objects.planning import Use, plan_of
from floodmark.stream.objects.snapshot import SNAPSHOT, check_continues

CONTINUOUS = "continuous"
"""The option of CREATE TABLE … AS that says whether the table is fed for as long as it is there."""


def is_continuous(statement: s.CreateTableAs) -> bool:
    """Tell whether a sink goes on feeding the table; E0846 for an option that says neither."""
    spec = specs_of(OptionPlace.TABLE_AS)[CONTINUOUS]
    for option in statement.options:
        if option.name.lower() == CONTINUOUS:
            hint = f"WITH ({CONTINUOUS} = false) fills the table once"
            return bool(spec.check(option, "E0846", hint))
    return True


def define_table(statement: s.CreateTableAs, pipeline: Pipeline) -> s.CreateTable:
    """Return the table of a query's columns; its key is the query's, where rows change.

    E0845 where rows change by a key that is hidden.
    """
    node = build_query(
        statement.query,
        pipeline.relations,
        statement.span,
        views=plain_views(pipeline.objects.values()),
        functions=pipeline.functions,
    )
    if statement.columns:
        node = rename_columns(node, statement.columns, statement.name.span)
    plan = plan_of(node, Use.TABLE_AS).plan
    top = plan[plan.root]
    adds = top.mode is ChangelogMode.APPEND_ONLY
    key = statement.primary_key
    declared = None if key is None else key.columns
    if declared is None and not adds:
        declared = _visible_key(top.stream_key, statement.name)
    options = tuple(o for o in statement.options if o.name.lower() != CONTINUOUS)
    shown = tuple(f for f in plan.root.schema if not is_hidden(f.name))
    return _table(statement.name, shown, declared, statement, options, statement.span)


def define_sink(statement: s.CreateTableAs) -> s.CreateSink:
    """Return the sink of a query into the table of its name."""
    query = statement.query
    return _sink(statement.name, query, statement.span)


def table_of_view(obj: AnalysedObject) -> tuple[s.CreateTable, s.CreateSink]:
    """Return the table that takes a view's place, and the sink of its query into it.

    The table has the key of the view; without a visible one it only takes rows in. E0845 where
    rows change by a key that is hidden; E0851 where the view began without a snapshot, and its
    sink could not go on with that.
    """
    statement, relation = obj.object.statement, obj.relation
    assert isinstance(statement, s.CreateMaterializedView) and obj.plan is not None
    key = _key_of(relation, statement.name)
    check_continues(obj.plan, obj.object, key)
    shown = relation.visible
    table = _table(statement.name, shown, key, None, (), statement.span)
    sink = _sink(
        statement.name,
        statement.query,
        statement.span,
        on_close=statement.emit_on_window_close,
        options=tuple(o for o in statement.options if o.name.lower() in (OPTION, SNAPSHOT)),
    )
    return table, sink


def _key_of(relation: Relation, name: s.ObjectName) -> tuple[str, ...] | None:
    if relation.stream_key and not any(map(is_hidden, relation.stream_key)):
        return relation.stream_key
    if relation.mode is ChangelogMode.APPEND_ONLY:
        return None
    return _visible_key(relation.stream_key, name)


def _visible_key(key: tuple[str, ...], name: s.ObjectName) -> tuple[str, ...]:
    if key and not any(map(is_hidden, key)):
        return key
    raise NotSupported(
        "E0845",
        f'rows of "{catalog_name(name)}" change, and the query does not select their key',
        span=name.span,
        hint="select the key columns of its inputs, or GROUP BY what is to be the key",
    )


def _table(
    name: s.ObjectName,
    columns: Schema,
    key: tuple[str, ...] | None,
    like: s.CreateTableAs | None,
    options: tuple[s.Option, ...],
    span: Span,
) -> s.CreateTable:
    lines = [f"{quote_name(f.name)} {f.type}" for f in columns]
    if key:
        lines.append(f"PRIMARY KEY{names_sql(tuple(key))}")
    parts = [f"CREATE TABLE {object_sql(name)} (\n  " + ",\n  ".join(lines) + "\n)"]
    if like.append_only if like is not None else not key:
        parts.append("APPEND ONLY")
    if like is not None and like.conflict is not None:
        parts.append(conflict_sql(like.conflict))
    if options:
        parts.append(f"WITH {options_sql(options)}")
    made = _parse("\n".join(parts), span)
    assert isinstance(made, s.CreateTable)
    return made


def _sink(
    name: s.ObjectName,
    query: exp.Expression,
    span: Span,
    *,
    on_close: bool = False,
    options: tuple[s.Option, ...] = (),
) -> s.CreateSink:
    head = f"CREATE SINK {object_sql(name)} INTO {object_sql(name)} AS\n"
    made = _parse(head + print_expression(query, pretty=True) + tail_sql(on_close, options), span)
    assert isinstance(made, s.CreateSink)
    return made


def _parse(text: str, span: Span) -> s.Statement:
    return parse_statement(text, span.file, line=span.line, column=span.column)
