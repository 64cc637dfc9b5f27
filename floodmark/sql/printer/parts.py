"""The text of what several statements have in common."""

from __future__ import annotations

from collections.abc import Iterable

from floodmark.sql.printer.dialect import print_expression, quote_name, quote_string
from floodmark.sql.statements import (
    Assignment,
    ColumnDef,
    ConflictAction,
    ConflictClause,
    FormatEncode,
    KindWord,
    ObjectName,
    Option,
    WatermarkDef,
)


def object_sql(name: ObjectName) -> str:
    """Return a name with its schema."""
    plain = quote_name(name.name)
    return plain if name.schema is None else f"{quote_name(name.schema)}.{plain}"


def kind_sql(kind: KindWord | None) -> str:
    """Return a kind of object with a blank behind it, nothing for none."""
    return "" if kind is None else f"{kind.value} "


def names_sql(names: tuple[str, ...]) -> str:
    """Return ` (a, b)`, or nothing for no names."""
    return f" ({', '.join(quote_name(name) for name in names)})" if names else ""


def options_sql(options: Iterable[Option]) -> str:
    """Return `(a = '1', b = '2')`, by name, as their order means nothing."""
    ordered = sorted(options, key=lambda option: option.name)
    return "(" + ", ".join(map(option_sql, ordered)) + ")"


def option_sql(option: Option) -> str:
    """Return `a = '1'`."""
    return f"{option_name_sql(option.name)} = {quote_string(option.value)}"


def option_name_sql(name: str) -> str:
    """Return the name of an option or a setting, in quotes when it is not plain."""
    parts = name.split(".")
    plain = all(part and part == quote_name(part) for part in parts)
    return name if plain else quote_string(name)


def column_sql(column: ColumnDef) -> str:
    """Return a column's definition; its PRIMARY KEY stands on the table."""
    parts = [quote_name(column.name)]
    if column.type is not None:
        parts.append(print_expression(column.type.type))
    if column.not_null:
        parts.append("NOT NULL")
    if column.default is not None:
        parts.append(f"DEFAULT {print_expression(column.default)}")
    if column.generated is not None:
        parts.append(f"AS {print_expression(column.generated)}")
    if column.metadata_from is not None:
        parts.append(f"METADATA FROM {quote_string(column.metadata_from)}")
    return " ".join(parts)


def watermark_sql(watermark: WatermarkDef) -> str:
    """Return a watermark's definition."""
    ttl = " WITH TTL" if watermark.with_ttl else ""
    value = print_expression(watermark.expression)
    return f"WATERMARK FOR {quote_name(watermark.column)} AS {value}{ttl}"


def conflict_sql(conflict: ConflictClause) -> str:
    """Return a conflict behaviour with its version columns."""
    text = f"ON CONFLICT {conflict.action.value}"
    if conflict.action is ConflictAction.UPDATE_SET:
        text += f" {assignments_sql(conflict.assignments)}"
    if conflict.where is not None:
        text += f" WHERE {print_expression(conflict.where)}"
    if conflict.version_columns:
        text += f" WITH VERSION COLUMN{names_sql(conflict.version_columns)}"
    return text


def assignments_sql(assignments: Iterable[Assignment]) -> str:
    """Return `a = 1, (b, c) = (2, 3)`."""
    return ", ".join(_assignment(assignment) for assignment in assignments)


def _assignment(assignment: Assignment) -> str:
    names = [quote_name(column) for column in assignment.columns]
    target = f"({', '.join(names)})" if assignment.is_tuple else names[0]
    return f"{target} = {print_expression(assignment.value)}"


def format_sql(format_: FormatEncode) -> str:
    """Return `FORMAT f ENCODE e`."""
    text = f"FORMAT {format_.format}"
    if format_.encode is not None:
        text += f" ENCODE {format_.encode}"
    return f"{text} {options_sql(format_.options)}" if format_.options else text


def tail_sql(emit_on_window_close: bool, options: tuple[Option, ...]) -> str:
    """Return the clauses behind a query, each on its line."""
    text = "\nEMIT ON WINDOW CLOSE" if emit_on_window_close else ""
    return f"{text}\nWITH {options_sql(options)}" if options else text
