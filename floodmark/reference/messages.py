"""Messages of FORMAT DEBEZIUM and FORMAT UPSERT to the changes that they deliver, line by line."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from types import MappingProxyType
from typing import Any

from floodmark.changelog import RowKind
from floodmark.errors import IntakeCode
from floodmark.reference.changes import Change
from floodmark.reference.rows import Row
from floodmark.scalar.types import Kind, Schema, SqlType

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DATE = date(1970, 1, 1)
_DAY = 86_400 * 10**9
_UNITS = {"Date": _DAY, "Timestamp": 10**6, "MicroTimestamp": 1000, "NanoTimestamp": 1}
"""Nanoseconds in the unit of a logical type, by the last part of its name."""


@dataclass(frozen=True, slots=True)
class RefusedMessage:
    """A message that cannot be applied, by the code of its dead letter."""

    code: IntakeCode


MessageResult = tuple[Change, ...] | RefusedMessage
"""What a message changes, in order; nothing where it is ignored."""


def parse_message(text: str, format_: str, schema: Schema, key: tuple[str, ...]) -> MessageResult:
    """Return what one line says about rows of the schema."""
    try:
        line = json.loads(text, parse_constant=_refuse)
        if line is None:
            return ()
        if not isinstance(line, dict):
            return RefusedMessage(IntakeCode.CORRUPT)
        reads = _debezium if format_ == "DEBEZIUM" else _upsert
        return reads(line, schema, key)
    except (ValueError, InvalidOperation, OverflowError, KeyError):
        return RefusedMessage(IntakeCode.CORRUPT)


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _debezium(line: Mapping[str, Any], schema: Schema, key: tuple[str, ...]) -> MessageResult:
    payload = line.get("payload")
    if "payload" in line and payload is None and line.get("op") is None:
        return ()
    envelope = line if payload is None else payload
    if not isinstance(envelope, dict):
        return RefusedMessage(IntakeCode.CORRUPT)
    before, after = envelope.get("before"), envelope.get("after")
    for row in (before, after):
        if row is not None and not isinstance(row, dict):
            return RefusedMessage(IntakeCode.CORRUPT)
    note = {} if payload is None else _logical_types(line.get("schema"))
    match envelope.get("op"):
        case "t":
            return RefusedMessage(IntakeCode.TRUNCATE)
        case "d":
            if before is None:
                return RefusedMessage(IntakeCode.NO_ROW)
            return ((RowKind.DELETE, _row(before, schema, key, note)),)
        case "c" | "r" if after is not None:
            return ((RowKind.INSERT, _row(after, schema, note=note)),)
        case "u" if after is not None:
            new = _row(after, schema, note=note)
            old = {} if before is None else _row(before, schema, key, note)
            if any(old.get(name) is None for name in key):
                return ((RowKind.UPDATE_AFTER, new),)
            return ((RowKind.UPDATE_BEFORE, old), (RowKind.UPDATE_AFTER, new))
        case _:
            return RefusedMessage(IntakeCode.NO_CHANGE)


def _upsert(line: Mapping[str, Any], schema: Schema, key: tuple[str, ...]) -> MessageResult:
    of_key, value = line.get("key"), line.get("value")
    forms = isinstance(of_key, dict) and (value is None or isinstance(value, dict))
    both = {"key", "value"}
    odd = any(part is not None and not isinstance(part, dict) for part in (of_key, value))
    if set(line) == both and odd and not both & {column.name.lower() for column in schema}:
        return RefusedMessage(IntakeCode.CORRUPT)
    if set(line) != both or not forms:
        return ((RowKind.INSERT, _row(line, schema)),)
    assert isinstance(of_key, dict)
    if value is None:
        return ((RowKind.DELETE, _row(of_key, schema, key)),)
    note = {name: of_key[name] for name in key if of_key.get(name) is not None}
    return ((RowKind.INSERT, _row({**value, **note}, schema)),)


def _logical_types(schema: Any) -> dict[str, str]:
    """Return the logical types of columns that an envelope's schema names."""
    rows = schema.get("fields", ()) if isinstance(schema, dict) else ()
    found = [row["fields"] for row in rows if row.get("field") in ("before", "after")]
    return {f["field"]: f["name"] for fields in found for f in fields if "name" in f}


def _row(
    cells: Mapping[str, Any],
    schema: Schema,
    only: tuple[str, ...] | None = None,
    note: Mapping[str, str] = MappingProxyType({}),
) -> Row:
    """Return the columns; of a row that is known by its key, the others are as good as unknown."""
    return {
        column.name: _value(cells.get(column.name), column.type, note.get(column.name, ""))
        if only is None or column.name in only
        else None
        for column in schema
    }


def _value(cell: Any, type_: SqlType, logical: str) -> Any:
    """Return a cell as a value of a logical type, if one is told; ValueError where it is none."""
    if cell is None:
        return None
    text = json.dumps(cell) if isinstance(cell, dict | list | bool) else str(cell)
    number = int(text) if re.fullmatch(r"-?[0-9]{1,19}", text) else None
    unit = _UNITS.get(logical.rpartition(".")[2])
    match type_.kind:
        case Kind.VARCHAR:
            return text
        case Kind.BOOLEAN:
            return {"true": True, "false": False}[text.lower()]
        case Kind.SMALLINT | Kind.INT | Kind.BIGINT:
            return int(text)
        case Kind.NUMERIC:
            assert type_.scale is not None
            return Decimal(text).quantize(Decimal(1).scaleb(-type_.scale))
        case Kind.DOUBLE:
            return float(text)
        case Kind.DATE:
            if number is None:
                return date.fromisoformat(text)
            if unit not in (None, _DAY):
                raise ValueError(logical)
            return _DATE + timedelta(days=number)
        case Kind.TIMESTAMP | Kind.TIMESTAMPTZ:
            moment = datetime.fromisoformat(text) if number is None else _moment(number, unit)
            moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
            zoned = type_.kind is Kind.TIMESTAMPTZ
            return moment if zoned else moment.astimezone(UTC).replace(tzinfo=None)
        case _:
            raise ValueError(f"messages of {type_} are not read by the reference")


def _moment(number: int, unit: int | None) -> datetime:
    """Return the moment so many units (nanoseconds in one) after 1970; without, by the size."""
    if unit is None:
        sizes = ((11, 10**9), (14, 10**6), (17, 1000))
        unit = next((unit for digits, unit in sizes if abs(number) < 10**digits), 1)
    micros = abs(number) * unit // 1000
    return _EPOCH + timedelta(microseconds=micros if number >= 0 else -micros)
