"""The text of CREATE statements."""

from __future__ import annotations

from floodmark.sql.printer.dialect import print_expression, quote_name, quote_string
from floodmark.sql.printer.parts import (
    column_sql,
    conflict_sql,
    format_sql,
    names_sql,
    object_sql,
    options_sql,
    tail_sql,
    watermark_sql,
)
from floodmark.sql.statements import (
    CreateAggregate,
    CreateFunction,
    CreateIndex,
    CreateMaterializedView,
    CreateSchema,
    CreateSink,
    CreateSource,
    CreateTable,
    CreateTableAs,
    CreateView,
    Definition,
    Parameter,
    RefusedDefinition,
    Transform,
)


def definition_sql(statement: Definition) -> str:
    """Return the text of a definition."""
    match statement:
        case CreateSource():
            return "\n".join([_elements(statement, "SOURCE"), *_source_clauses(statement)])
        case CreateTable():
            return "\n".join([_elements(statement, "TABLE"), *_table_clauses(statement)])
        case CreateTableAs():
            return _print_table_of_query(statement)
        case CreateMaterializedView():
            head = _head(statement, "MATERIALIZED VIEW") + names_sql(statement.columns)
            tail = tail_sql(statement.emit_on_window_close, statement.options)
            return f"{head} AS\n{print_expression(statement.query, pretty=True)}{tail}"
        case CreateView():
            head = _head(statement, "VIEW") + names_sql(statement.columns)
            tail = tail_sql(False, statement.options)
            return f"{head} AS\n{print_expression(statement.query, pretty=True)}{tail}"
        case CreateSink():
            return _sink(statement)
        case CreateFunction() | CreateAggregate():
            return _function(statement)
        case CreateIndex():
            return _index(statement)
        case CreateSchema():
            return _head(statement, "SCHEMA")
        case RefusedDefinition():
            return statement.sql
    raise AssertionError(f"no printer for {type(statement).__name__}")


def _head(statement: Definition, what: str) -> str:
    replace = "OR REPLACE " if statement.or_replace else ""
    exists = "IF NOT EXISTS " if statement.if_not_exists else ""
    return f"CREATE {replace}{what} {exists}{object_sql(statement.name)}"


def _elements(statement: CreateSource | CreateTable, what: str) -> str:
    lines = _element_lines(statement)
    head = _head(statement, what)
    return f"{head} (\n  " + ",\n  ".join(lines) + "\n)" if lines else head


def _element_lines(of: CreateSource | CreateTable | Transform) -> list[str]:
    lines = [column_sql(column) for column in of.columns]
    if of.primary_key is not None:
        lines.append(f"PRIMARY KEY{names_sql(of.primary_key.columns)}")
    return lines + [watermark_sql(watermark) for watermark in of.watermarks]


def _ingestion_clauses(statement: CreateSource | CreateTable) -> list[str]:
    lines = []
    if statement.options:
        lines.append(f"WITH {options_sql(statement.options)}")
    if statement.format is not None:
        lines.append(format_sql(statement.format))
    lines += [f"INCLUDE {i.kind} AS {quote_name(i.name)}" for i in statement.includes]
    return lines


def _source_clauses(statement: CreateSource) -> list[str]:
    lines = ["APPEND ONLY"] if statement.append_only else []
    lines += _ingestion_clauses(statement)
    if statement.for_tables:
        inner = ",\n  ".join(_transform(transform) for transform in statement.transforms)
        lines.append(f"FOR TABLES (\n  {inner}\n)")
    else:
        lines += [_transform(transform) for transform in statement.transforms]
    return lines


def _transform(transform: Transform) -> str:
    parts = [quote_name(transform.table)] if transform.table is not None else []
    if lines := _element_lines(transform):
        parts.append(f"({', '.join(lines)})")
    if transform.query is not None:
        parts.append(f"TRANSFORM USING ({print_expression(transform.query)})")
    if transform.options:
        parts.append(f"WITH {options_sql(transform.options)}")
    if transform.alias is not None:
        parts.append(f"AS {quote_name(transform.alias)}")
    return " ".join(parts)


def _table_clauses(statement: CreateTable | CreateTableAs) -> list[str]:
    lines = ["APPEND ONLY"] if statement.append_only else []
    if statement.conflict is not None:
        lines.append(conflict_sql(statement.conflict))
    if isinstance(statement, CreateTable):
        return lines + _ingestion_clauses(statement)
    if statement.options:
        lines.append(f"WITH {options_sql(statement.options)}")
    return lines


def _print_table_of_query(statement: CreateTableAs) -> str:
    head = _head(statement, "TABLE") + names_sql(statement.columns)
    if statement.primary_key is not None:
        head += f" (PRIMARY KEY{names_sql(statement.primary_key.columns)})"
    clauses = " ".join(_table_clauses(statement))
    head = f"{head}\n{clauses}\nAS" if clauses else f"{head} AS"
    return f"{head}\n{print_expression(statement.query, pretty=True)}"


def _sink(statement: CreateSink) -> str:
    head = _head(statement, "SINK")
    if statement.into is not None:
        head += f" INTO {object_sql(statement.into)}{names_sql(statement.target_columns)}"
    if statement.from_relation is not None:
        head += f" FROM {object_sql(statement.from_relation)}"
    else:
        head += f" AS\n{print_expression(statement.query, pretty=True)}"
    head += tail_sql(statement.emit_on_window_close, statement.options)
    return head if statement.format is None else f"{head}\n{format_sql(statement.format)}"


def _function(statement: CreateFunction | CreateAggregate) -> str:
    what = "FUNCTION" if isinstance(statement, CreateFunction) else "AGGREGATE"
    parameters = ", ".join(_parameter(p) for p in statement.parameters)
    lines = [f"{_head(statement, what)}({parameters})"]
    if isinstance(statement, CreateFunction) and statement.returns_table:
        columns = ", ".join(_parameter(p) for p in statement.returns_table)
        lines.append(f"RETURNS TABLE ({columns})")
    else:
        assert statement.returns is not None
        lines.append(f"RETURNS {print_expression(statement.returns.type)}")
    lines.append(f"LANGUAGE {quote_name(statement.language)}")
    if statement.volatility is not None:
        lines.append(statement.volatility.value)
    if statement.options:
        lines.append(f"WITH {options_sql(statement.options)}")
    lines.append(f"AS {quote_string(statement.body)}")
    return "\n".join(lines)


def _parameter(parameter: Parameter) -> str:
    type_ = print_expression(parameter.type.type)
    return type_ if parameter.name is None else f"{quote_name(parameter.name)} {type_}"


def _index(statement: CreateIndex) -> str:
    keys = ", ".join(print_expression(key) for key in statement.keys)
    text = f"{_head(statement, 'INDEX')} ON {object_sql(statement.table)} ({keys})"
    if statement.include:
        text += f" INCLUDE{names_sql(statement.include)}"
    if statement.distributed_by:
        keys = ", ".join(print_expression(key) for key in statement.distributed_by)
        text += f" DISTRIBUTED BY ({keys})"
    return text
