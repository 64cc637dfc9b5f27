"""Writes rows as the file of a COPY … TO: CSV, JSON lines or Parquet, put in place whole."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from floodmark.connectors.copy.file import CopyFile, out_of_reach
from floodmark.connectors.copy.text import render_lines
from floodmark.errors import DataError
from floodmark.scalar.casts import cast_value
from floodmark.scalar.types import VARCHAR, Kind, Schema, SqlType

if TYPE_CHECKING:
    import pyarrow as pa


def write_rows(file: CopyFile, schema: Schema, rows: pa.Table) -> None:
    """Write rows of a schema; an older file of that name is replaced at the end. E0424."""
    from pyarrow import parquet as pq

    part = file.path.with_name(f".{file.path.name}.{os.getpid()}.part")
    try:
        if file.format == "parquet":
            pq.write_table(rows.rename_columns([f.name for f in schema]), part)
        else:
            with part.open("w", encoding="utf-8", newline="") as out:
                out.writelines(lines(file, schema, rows))
        part.replace(file.path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise out_of_reach(file.path, error, file.span) from None


def lines(file: CopyFile, schema: Schema, rows: pa.Table) -> Iterator[str]:
    """Return rows as the lines of a CSV or JSON file, their ends included."""
    return _csv(file, schema, rows) if file.format == "csv" else _json(file, schema, rows)


def _csv(file: CopyFile, schema: Schema, rows: pa.Table) -> Iterator[str]:
    special = {file.delimiter, '"', "\n", "\r"}

    def field(value: Any, type_: SqlType) -> str:
        text = _text(value, type_)
        # A text that looks like NULL is told from it by its quotes.
        if text == file.null or special & set(text):
            text = '"' + text.replace('"', '""') + '"'
        return text

    for f in schema:
        if (f.type.element or f.type).kind in (Kind.LIST, Kind.STRUCT, Kind.MAP):
            raise DataError(
                "E0426",
                f'column "{f.name}" is {f.type}: CSV cannot hold it',
                span=file.span,
                hint="WITH (format json), or parquet",
            )
    if file.header:
        yield file.delimiter.join(field(f.name, VARCHAR) for f in schema) + "\n"
    heads = ["", *[file.delimiter] * (len(schema) - 1)]
    yield from render_lines(
        schema,
        rows,
        heads,
        "\n",
        lambda v, t: file.null if v is None else field(v, t),
        file.limits.text_piece,
    )


def _text(value: Any, type_: SqlType) -> str:
    """Return a value as PostgreSQL writes it."""
    if type_.kind is not Kind.LIST or type_.element is None:
        return str(cast_value(value, type_, VARCHAR))
    items = ("NULL" if v is None else _item(_text(v, type_.element)) for v in value)
    return "{" + ",".join(items) + "}"


def _item(text: str) -> str:
    """Return an item of an array, in quotes where it would be read as something else."""
    if text and text.upper() != "NULL" and not re.search(r'[{},"\\\s]', text):
        return text
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'


def _json(file: CopyFile, schema: Schema, rows: pa.Table) -> Iterator[str]:
    names = [json.dumps(f.name, ensure_ascii=False) for f in schema]
    heads = [f"{', ' if i else '{'}{name}: " for i, name in enumerate(names)]
    yield from render_lines(schema, rows, heads, "}\n", _json_text, file.limits.text_piece)


def _json_text(value: Any, type_: SqlType) -> str:
    match value:
        case None:
            return "null"
        case bool() | int() if type_.kind is not Kind.TIME:
            return json.dumps(value)
        case Decimal():
            return f"{value:f}"
        case str() if type_.kind is Kind.JSONB:
            return value
        case tuple() if type_.kind is Kind.LIST and type_.element is not None:
            return "[" + ", ".join(_json_text(v, type_.element) for v in value) + "]"
        case tuple() if type_.kind is Kind.STRUCT:
            fields = zip(value, type_.fields, strict=True)
            return "{" + ", ".join(f"{json.dumps(f.name)}: {_json_text(v, f.type)}"
                                   for v, f in fields) + "}"  # fmt: skip
        case float() if value == value and abs(value) != float("inf"):
            return json.dumps(value)
        case _:
            return json.dumps(cast_value(value, type_, VARCHAR), ensure_ascii=False)
