"""FORMAT UPSERT: a row takes the place of the one of its key; one JSON object a line.

A line is a row, or a message `{"key": {…}, "value": {…}}` with these two members and no other. A
message with a value of null deletes the row of the key. Where key and value both have a column,
that of the key counts. A line `null` names no row and is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from floodmark.connectors.formats.messages import (
    NEW,
    OLD,
    PARSED,
    UNPARSED,
    WHY,
    JsonPath,
    Lines,
    MessageForm,
    kind,
    print_parse,
)
from floodmark.connectors.formats.text import cell_places
from floodmark.errors import IntakeCode

_MESSAGE = "__message"


def _steps(lines: Lines) -> Sequence[JsonPath]:
    named, placed = lines.json_ddl, lines.place_ddl
    message = print_parse(
        f"key struct<{named}>, value struct<{named}>",
        f"key: struct<{placed}>, value: struct<{placed}>",
    )
    shaped = "array_sort(json_object_keys(value)) = array('key', 'value')"
    of_message = f"{_MESSAGE}.key IS NOT NULL AND {_MESSAGE}.{UNPARSED} IS NULL AND {shaped}"
    broken = f"{PARSED} IS NULL OR {PARSED}.{UNPARSED} IS NOT NULL"
    if not {"key", "value"} & {column.name.lower() for column in lines.schema}:
        # A message that does not parse is no row without values.
        broken = f"{broken} OR coalesce({_MESSAGE}.{UNPARSED} IS NOT NULL AND {shaped}, FALSE)"
    corrupt = "__broken AND NOT __keyed AND NOT __nothing"
    return (
        (
            "value",
            f"{message} AS {_MESSAGE}",
            f"{print_parse(named, placed)} AS {PARSED}",
            "trim(value) = 'null' AS __nothing",
        ),
        (
            *("value", _MESSAGE, PARSED, "__nothing"),
            f"coalesce({of_message}, FALSE) AS __keyed",
            f"{broken} AS __broken",
        ),
        (
            "value",
            kind("__nothing", f"__keyed AND {_MESSAGE}.value IS NULL"),
            f"CASE WHEN __keyed THEN {_message_row(lines)} ELSE {_bare(lines)} END AS {NEW}",
            f"CAST(NULL AS struct<{placed}>) AS {OLD}",
            f"CASE WHEN {corrupt} THEN {IntakeCode.CORRUPT} END AS {WHY}",
            "__keyed",
        ),
    )


def _message_row(lines: Lines) -> str:
    """Return the text of a message's row: the key's columns from the key, the rest as its value."""
    of_key = {
        place
        for column, places in zip(
            lines.schema, cell_places(lines.schema, lines.variants), strict=True
        )
        if column.name in lines.key
        for place in places
    }
    cells = []
    for i, name in enumerate(lines.cells):
        value = f"{_MESSAGE}.value.{name}"
        found = f"coalesce({_MESSAGE}.key.{name}, {value})" if i in of_key else value
        cells.append(f"'{name}', {found}")
    return f"named_struct({', '.join(cells)})"


def _bare(lines: Lines) -> str:
    cells = [f"'{name}', {PARSED}.{name}" for name in lines.cells]
    return f"named_struct({', '.join(cells)})"


def _rows(line: Mapping[str, Any]) -> Sequence[Any]:
    return (line, line.get("key"), line.get("value"))


UPSERT = MessageForm(
    steps=_steps,
    rows=_rows,
    row="CASE WHEN __keyed THEN get_json_object(value, '$.value') ELSE value END",
)
"""Rows and messages by key."""
