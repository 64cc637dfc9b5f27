"""Log records as text: an envelope with format, number, id and checksum around a body.

`{"format": 1, "number": n, "id": "…", "crc32c": "…", "body": …}` is one line of ASCII JSON. The
checksum is CRC-32C over the JSON of `[name of the file, number, id, body]` without spaces. A record
without an envelope is of format 0. Former formats stay readable: see `upgrades`.

Datetimes, dates and decimals of a body keep their types.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NoReturn

import google_crc32c

from floodmark.errors import DataError
from floodmark.storage.objects.contract import Objects
from floodmark.storage.records.bodies import UnknownField, parse_body
from floodmark.storage.records.upgrades import FORMAT

DAMAGED = frozenset({"E0409", "E0432"})
"""The errors of a record that is not what was written; nothing is told by them of other records."""
NEWER = "E0430"
"""The error of what a newer version wrote."""
_NEWER_HINT = "use the version of Floodmark that wrote it; nothing has been changed"
_FIELDS = frozenset({"format", "number", "id", "crc32c", "body"})
_NUMBERS = re.compile(r"(\d+)?\.?(?:[a-z]+)?(?:-(\d+))?\.json")


@dataclass(frozen=True, slots=True)
class Record:
    """What a file of a log says, and the format it has there; one of format 0 has no id."""

    body: Any
    number: int
    id: str | None = None
    format: int = FORMAT


@contextmanager
def unless_newer() -> Iterator[None]:
    """Pass over data that cannot be read, but raise E0430: what a newer version wrote stays."""
    try:
        yield
    except DataError as error:
        if error.code == NEWER:
            raise


def new_id() -> str:
    """Return a random id for a record: no other record of any warehouse has it."""
    return secrets.token_hex(8)


def number_in(name: str) -> int | None:
    """Return the number of a record as the name of its file says it; None where there is none.

    >>> number_in("7.open.json"), number_in("7.event-000002.json"), number_in("kept.json")
    (7, 2, None)
    """
    match = _NUMBERS.fullmatch(name)
    text = match and (match[2] or match[1])
    return int(text) if text else None


def record_text(name: str, record: Record) -> str:
    """Return the text of a record's file."""
    body = to_text(record.body)
    crc = _checksum(name, record.number, record.id, body)
    head = {"format": record.format, "number": record.number, "id": record.id, "crc32c": crc}
    return f'{_compact(head)[:-1]},"body":{body}}}\n'


def read_record(objects: Objects, key: str, kind: Any = Any) -> Record | None:
    """Read a record, None when there is none; raises what `parse_record` does."""
    found = objects.get(key)
    return None if found is None else parse_record(found[0], objects.spark_url(key), kind)


def parse_record(data: bytes, place: str, kind: Any = Any) -> Record:
    """Read the bytes of a record, which lies at a place; raises what `parse_text` does."""
    return parse_text(data.decode("utf-8", "replace"), place, kind)


def parse_text(text: str, place: str, kind: Any = Any) -> Record:
    """Read the text of a record's file, and check it; its body becomes of the `kind` that it has.

    Raises `DataError` E0409 for one that is not whole or of another kind, E0432 for one with the
    number of another place, E0430 for one of a newer format or with a field that is not known.
    """
    record = _parse_envelope(text, place)
    if not record.format and not record.body and kind is not Any:
        _raise_damaged(place, "it says nothing")
    try:
        return replace(record, body=parse_body(kind, record.body, record.format))
    except UnknownField as error:
        if record.format:
            refuse_newer_field(_called(place), str(error))
        _raise_damaged(place, str(error))
    except ValueError as error:
        _raise_damaged(place, str(error))


def _parse_envelope(text: str, place: str) -> Record:
    """Return a record with its body as JSON has it."""
    name = place.rpartition("/")[2]
    number = number_in(name)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        _raise_damaged(place, str(error))
    if not isinstance(data, dict):
        _raise_damaged(place, "it is no object")
    if not (isinstance(data.get("format"), int) or data.keys() >= _FIELDS):
        return Record(_parse_values(text, data, place), number or 0, None, 0)
    if type(data["format"]) is not int or data["format"] < 0:
        _raise_damaged(place, f"its format is {json.dumps(data['format'])}")
    if data["format"] > FORMAT:
        refuse_newer_format(_called(place), data["format"])
    if missing := _FIELDS - data.keys():
        _raise_damaged(place, f"{', '.join(sorted(missing))} is missing")
    if unknown := data.keys() - _FIELDS:
        # Before the checksum: it is not known what a newer one is of.
        refuse_newer_field(_called(place), f"{', '.join(sorted(unknown))} is not known")
    body = _compact(data["body"])
    checksum = _checksum(name, data["number"], data["id"], body)
    if number is not None and number != data["number"]:
        raise DataError(
            "E0432",
            f"{_called(place)} says that it has the number {data['number']}",
            hint="records were renamed or copied over each other: restore _floodmark from a backup",
        )
    if checksum != data["crc32c"]:
        _raise_damaged(place, f"its checksum is {checksum}, and it says {data['crc32c']}")
    return Record(
        _parse_values(body, data["body"], place), data["number"], data["id"], data["format"]
    )


def to_text(value: Any) -> str:
    """Return a value as JSON, in ASCII and without spaces.

    >>> from_text(to_text({"now": datetime(2024, 1, 1), "n": [Decimal("1.0"), None]}))
    {'now': datetime.datetime(2024, 1, 1, 0, 0), 'n': [Decimal('1.0'), None]}
    """
    return json.dumps(value, default=_tag, separators=(",", ":"))


def from_text(text: str) -> Any:
    """Read a value that was written as JSON."""
    return json.loads(text, object_hook=_untag)


def refuse_newer_format(what: str, format: int, known: int | None = None) -> NoReturn:
    """Raise E0430 for something of a newer format than those that are `known`, as of records."""
    newest = FORMAT if known is None else known
    raise DataError(
        NEWER,
        f"{what} has format {format}; this version of Floodmark knows formats up to {newest}",
        hint=_NEWER_HINT,
    )


def refuse_newer_field(what: str, why: str) -> NoReturn:
    """Raise E0430 for something that is whole and has a field that is not known."""
    raise DataError(
        NEWER,
        f"{what} says what this version of Floodmark does not know",
        detail=why,
        hint=_NEWER_HINT,
    )


def _compact(plain: Any) -> str:
    return json.dumps(plain, separators=(",", ":"))


def _checksum(name: str, number: int, id: str | None, body: str) -> str:
    covered = f"{_compact([name, number, id])[:-1]},{body}]"
    return f"{google_crc32c.value(covered.encode('ascii')):08x}"


def _parse_values(text: str, plain: Any, place: str) -> Any:
    """Return a value with its types, of which the text and what is plain in it are known."""
    try:
        return from_text(text) if '"$' in text else plain
    except (ValueError, ArithmeticError) as error:
        _raise_damaged(place, str(error))


def _called(place: str) -> str:
    folder, _, name = place.rpartition("/")
    return f"the log record {name} in {folder}"


def _raise_damaged(place: str, why: str) -> NoReturn:
    raise DataError(
        "E0409",
        f"{_called(place)} is damaged",
        detail=why,
        hint="restore the file from a backup",
    )


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
