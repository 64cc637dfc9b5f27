"""`to_date` and `to_timestamp` of a text by a pattern."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from floodmark.catalog.functions.formats import tokens
from floodmark.catalog.functions.model import (
    Function,
    Operands,
    RowError,
    RowErrorCode,
    null_means,
)
from floodmark.catalog.functions.quoting import quote
from floodmark.catalog.types import DATE, TIMESTAMPTZ, Kind
from floodmark.errors import NotSupported

_TEXT = null_means(RowErrorCode.INVALID_TEXT)
_DIGITS = {
    "YYYY": 4, "MM": 2, "DD": 2, "HH24": 2, "HH12": 2, "HH": 2, "MI": 2, "SS": 2, "MS": 3, "US": 6,
}  # fmt: skip
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMED = {
    "MON": f"({'|'.join(_MONTHS)})",
    "MONTH": f"({'|'.join(_MONTHS)})[a-z]*",
    "AM": "(am|pm)",
}


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A regular expression with one group per field, in order."""

    regex: str
    fields: tuple[str, ...]


def _compiled(pattern: str, what: str) -> _Pattern:
    parts, fields = ["^(?i) *"], []
    for piece, is_field, _ in tokens(pattern, what):
        name = {"PM": "AM"}.get(piece.upper(), piece.upper())
        if not is_field:
            parts.append("." * len(piece) if piece.isalnum() else "[^0-9A-Za-z]*")
        elif name in _DIGITS:
            fields.append(name)
            parts.append(f" *([0-9]{{1,{_DIGITS[name]}}})")
        elif name in _NAMED:
            fields.append(name)
            parts.append(" *" + _NAMED[name])
        else:
            raise NotSupported(
                "E0378",
                f"{what} does not read {piece!r}",
                hint="fields: " + " ".join([*_DIGITS, "Mon Month AM PM"]),
            )
    return _Pattern("".join(parts), tuple(fields))


def _parse(text: str, pattern: str, what: str) -> datetime:
    compiled = _compiled(pattern, what)
    # Python wants the flag in front.
    found = re.match(compiled.regex.replace("^(?i)", "(?i)^"), text, re.DOTALL)
    if found is None:
        raise RowError(RowErrorCode.INVALID_TEXT)
    read: dict[str, Any] = dict(zip(compiled.fields, found.groups(), strict=True))
    hour = int(read.get("HH24") or 0)
    if "HH24" not in read and ("HH12" in read or "HH" in read):
        hour = int(read.get("HH12") or read.get("HH") or 0)
        if not 1 <= hour <= 12:
            raise RowError(RowErrorCode.INVALID_TEXT)
        if "AM" in read:
            hour = hour % 12 + (12 if read["AM"].lower() == "pm" else 0)
    micros = int((read.get("US") or "0").ljust(6, "0")) + 1000 * int(
        (read.get("MS") or "0").ljust(3, "0")
    )
    name = read.get("MON") or read.get("MONTH")
    month = _MONTHS.index(name.lower()) + 1 if name else int(read.get("MM") or 1)
    try:
        year, day = int(read.get("YYYY") or 1), int(read.get("DD") or 1)
        minute, second = int(read.get("MI") or 0), int(read.get("SS") or 0)
        return datetime(year, month, day, hour, minute, second, micros)
    except ValueError:
        raise RowError(RowErrorCode.INVALID_TEXT) from None


def _print(o: Operands, what: str) -> str:
    compiled = _compiled(str(o[1].constant), what)
    regex = quote(compiled.regex)

    def group(name: str) -> str:
        return f"regexp_extract({o[0]}, {regex}, {compiled.fields.index(name) + 1})"

    def number(name: str, default: str) -> str:
        return f"CAST({group(name)} AS INT)" if name in compiled.fields else default

    month = number("MM", "1")
    for name in ("MON", "MONTH"):
        if name in compiled.fields:
            known = f"array({', '.join(map(quote, _MONTHS))})"
            month = f"CAST(array_position({known}, lower({group(name)})) AS INT)"
    hour, fits = _print_hour(compiled, number, group)
    fraction = "0"
    if "US" in compiled.fields:
        fraction = f"CAST(rpad({group('US')}, 6, '0') AS INT)"
    if "MS" in compiled.fields:
        fraction = f"({fraction} + 1000 * CAST(rpad({group('MS')}, 3, '0') AS INT))"
    values = ", ".join([
        number("YYYY", "1"), month, number("DD", "1"), hour, number("MI", "0"), number("SS", "0"),
        fraction,
    ])  # fmt: skip
    text = f"format_string('%04d-%02d-%02d %02d:%02d:%02d.%06d', {values})"
    zone = "DATE" if what == "to_date" else "TIMESTAMP_LTZ"
    whole = f"CAST(try_cast({text} AS TIMESTAMP_NTZ) AS {zone})"
    return f"CASE WHEN {o[0]} RLIKE {regex} THEN CASE WHEN {fits} THEN {whole} END END"


def _print_hour(compiled: _Pattern, number: Any, group: Any) -> tuple[str, str]:
    """Return the hour's text, and the condition under which the text has a value at all."""
    fits = [f"{number('YYYY', '1')} > 0"]
    if "US" in compiled.fields and "MS" in compiled.fields:
        raise NotSupported("E0378", "a pattern reads MS or US, not both", hint="leave one out")
    if "HH24" in compiled.fields or not {"HH", "HH12"} & set(compiled.fields):
        hour = number("HH24", "0")
        return hour, " AND ".join([*fits, f"{hour} < 24"])
    hour = number("HH12" if "HH12" in compiled.fields else "HH", "0")
    fits.append(f"{hour} BETWEEN 1 AND 12")
    if "AM" in compiled.fields:
        hour = f"({hour} % 12 + CASE WHEN lower({group('AM')}) = 'pm' THEN 12 ELSE 0 END)"
    return hour, " AND ".join(fits)


def _to_date(text: str, pattern: str) -> date:
    return _parse(text, pattern, "to_date").date()


def _to_timestamp(text: str, pattern: str) -> datetime:
    return _parse(text, pattern, "to_timestamp").replace(tzinfo=UTC)


def time_parsing() -> list[Function]:
    """Return both functions; the pattern is a literal, separators in it stand for any."""
    params = (Kind.VARCHAR, Kind.VARCHAR)
    return [
        Function(
            "to_date", params, DATE, lambda o: _print(o, "to_date"), _to_date,
            constant=frozenset({1}), error=_TEXT,
        ),
        Function(
            "to_timestamp", params, TIMESTAMPTZ, lambda o: _print(o, "to_timestamp"),
            _to_timestamp, constant=frozenset({1}), error=_TEXT,
        ),
    ]  # fmt: skip
