"""Rows of a test as the messages of FORMAT DEBEZIUM and FORMAT UPSERT."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

from floodmark.changelog import RowKind
from floodmark.plan.declaration import DEBEZIUM, Declaration
from floodmark.testing.text import TextRow

_OPS = {RowKind.INSERT: "c", RowKind.UPDATE_AFTER: "u", RowKind.DELETE: "d"}


def deliver_messages(declared: Declaration, changes: Sequence[TextRow], number: int) -> None:
    """Write changes as a file of messages into the folder of a source; `number` orders files."""
    names = [f.name for f in declared.physical]
    rows = [(kind, dict(zip(names, map(_plain, row), strict=True))) for kind, row in changes]
    make = _debezium if declared.format == DEBEZIUM else _upsert
    path = Path(dict(declared.options)["path"]) / f"{number:06}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(m)}\n" for m in make(rows, declared.primary_key)))


MessageRows = Iterable[tuple[RowKind, dict[str, Any]]]


def _debezium(rows: MessageRows, key: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    before: dict[str, Any] | None = None
    for kind, row in rows:
        match kind:
            case RowKind.UPDATE_BEFORE:
                before = row
                continue
            case RowKind.DELETE:
                yield {"before": row, "after": None, "op": "d"}
            case _:
                yield {"before": before, "after": row, "op": _OPS[kind]}
        before = None


def _upsert(rows: MessageRows, key: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    before: dict[str, Any] | None = None
    for kind, row in rows:
        of_row = {name: row[name] for name in key}
        if kind is RowKind.UPDATE_BEFORE:
            before = of_row
            continue
        if before is not None and before != of_row:
            yield {"key": before, "value": None}
        before = None
        yield {"key": of_row, "value": None if kind is RowKind.DELETE else row}


def _plain(value: Any) -> Any:
    match value:
        case datetime() | date() | time():
            return value.isoformat()
        case Decimal():
            return str(value)
        case _:
            return value
