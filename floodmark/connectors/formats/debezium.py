"""FORMAT DEBEZIUM: the messages of a change data capture, one JSON object a line.

`op` is c (create), r (read by a snapshot), u (update) or d (delete), with the row in `before` and
`after`. The envelope may lie within `{"schema": …, "payload": …}`; the schema then tells the units
of times. A line `null`, or one with a payload of null, is a tombstone: it repeats the delete before
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from floodmark.connectors.formats.logical_types import logical_types
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
    logical_type,
    print_parse,
)
from floodmark.errors import IntakeCode
from floodmark.scalar.types import TIMESTAMPTZ, VARCHAR
from floodmark.spark.json_numbers import unmark_numbers

_ENVELOPE = "__envelope"
_SOURCE = "struct<ts_ms: STRING, db: STRING, schema: STRING, table: STRING>"
_FIELDS = ("before", "after", "op", "source")


def _steps(lines: Lines) -> Sequence[JsonPath]:
    names, places = (
        f"before struct<{row}>, after struct<{row}>, op STRING, source {_SOURCE}"
        for row in (lines.json_ddl, lines.place_ddl)
    )
    schema = "schema STRING"
    whole = print_parse(
        f"payload struct<{names}>, {schema}, {names}",
        f"payload: struct<{places}>, {schema}, {places}",
    )
    logical = logical_types(
        f"{PARSED}.schema", [lines.schema[i].name for i in lines.logical_places]
    )
    bare = ", ".join(f"'{name}', {PARSED}.{name}" for name in _FIELDS)
    payload = f"{PARSED}.payload"
    envelope = f"CASE WHEN {payload} IS NULL THEN named_struct({bare}) ELSE {payload} END"
    broken = f"{PARSED} IS NULL OR {PARSED}.{UNPARSED} IS NOT NULL"
    hollow = (
        f"NOT ({broken}) AND {payload} IS NULL AND {PARSED}.op IS NULL "
        "AND array_contains(json_object_keys(value), 'payload')"
    )
    return (
        ("value", f"{whole} AS {PARSED}", "trim(value) = 'null' AS __nothing"),
        (
            "value",
            f"__nothing OR coalesce({hollow}, FALSE) AS __tombstone",
            f"{envelope} AS {_ENVELOPE}",
            f"{broken} AS __broken",
            *(
                f"{text} AS {logical_type(i)}"
                for i, text in zip(lines.logical_places, logical, strict=True)
            ),
        ),
        (
            "value",
            kind("__tombstone", f"{_ENVELOPE}.op = 'd'"),
            f"CASE WHEN {_ENVELOPE}.op = 'd' THEN {_ENVELOPE}.before ELSE {_ENVELOPE}.after END "
            f"AS {NEW}",
            f"CASE WHEN {_ENVELOPE}.op IN ('u', 'd') THEN {_ENVELOPE}.before END AS {OLD}",
            f"{_why(_ENVELOPE)} AS {WHY}",
            f"{_ENVELOPE}.op AS __op",
            f"{_ENVELOPE}.source AS __source",
            *(logical_type(i) for i in lines.logical_places),
        ),
    )


def _why(envelope: str) -> str:
    """Return the text of the error code of a message, NULL where it is right."""
    return (
        f"CASE WHEN __tombstone THEN NULL WHEN __broken THEN {IntakeCode.CORRUPT} "
        f"WHEN {envelope}.op = 't' THEN {IntakeCode.TRUNCATE} "
        f"WHEN {envelope}.op = 'd' AND {envelope}.before IS NULL THEN {IntakeCode.NO_ROW} "
        f"WHEN {envelope}.op = 'd' THEN NULL "
        f"WHEN {envelope}.op IN ('c', 'r', 'u') AND {envelope}.after IS NOT NULL THEN NULL "
        f"ELSE {IntakeCode.NO_CHANGE} END"
    )


def _rows(line: Mapping[str, Any]) -> Sequence[Any]:
    payload = line.get("payload")
    envelope = payload if isinstance(payload, dict) else line
    return (envelope.get("before"), envelope.get("after"))


DEBEZIUM = MessageForm(
    steps=_steps,
    rows=_rows,
    row="coalesce(get_json_object(value, '$.payload.after'), get_json_object(value, '$.after'))",
    tells=True,
    metadata={
        "op": (VARCHAR, "__op"),
        "ts": (TIMESTAMPTZ, "timestamp_millis(try_cast(__source.ts_ms AS BIGINT))"),
        "db": (VARCHAR, unmark_numbers("__source.db", "value")),
        "schema": (VARCHAR, unmark_numbers("__source.schema", "value")),
        "table": (VARCHAR, unmark_numbers("__source.table", "value")),
    },
)
"""Messages as Debezium's connectors write them."""
