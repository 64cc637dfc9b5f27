"""Values of the epoch log as JSON: datetimes, dates and decimals keep their types."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from floodmark.errors import DataError


def to_text(value: Any) -> str:
    """Return the JSON text of a record.

    >>> from_text(to_text({"now": datetime(2024, 1, 1), "n": [Decimal("1.0"), None]}))
    {'now': datetime.datetime(2024, 1, 1, 0, 0), 'n': [Decimal('1.0'), None]}
    """
    return json.dumps(value, default=_tag, ensure_ascii=False, separators=(",", ":"))


def from_text(text: str) -> Any:
    """Read the JSON text of a record."""
    return json.loads(text, object_hook=_untag)


def read_record(path: Path) -> Any:
    """Read a record, None when there is none; one that is not whole JSON is a `DataError` E0409."""
    try:
        return from_text(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise DataError(
            "E0409",
            f"the log record {path.name} in {path.parent} is damaged",
            detail=str(error),
            hint="restore the file from a backup; the engine never changes a record it has written",
        ) from error


def _tag(value: Any) -> dict[str, str]:
    match value:
        case datetime():
            return {"$timestamp": value.isoformat()}
        case date():
            return {"$date": value.isoformat()}
        case Decimal():
            return {"$decimal": str(value)}
        case _:
            raise TypeError(f"{type(value).__name__} is not a value of the epoch log")


def _untag(data: dict[str, Any]) -> Any:
    match data:
        case {"$timestamp": str(text)} if len(data) == 1:
            return datetime.fromisoformat(text)
        case {"$date": str(text)} if len(data) == 1:
            return date.fromisoformat(text)
        case {"$decimal": str(text)} if len(data) == 1:
            return Decimal(text)
        case _:
            return data
