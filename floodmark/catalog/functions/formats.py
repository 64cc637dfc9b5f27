"""`to_char` for timestamps."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time

from floodmark.catalog.functions.model import Function, Operands
from floodmark.catalog.functions.quoting import quote
from floodmark.catalog.types import VARCHAR, Kind
from floodmark.errors import NotSupported

# Longest first; each is (PostgreSQL's pattern, Spark's text of a TIMESTAMP, Python's).
_PARTS: tuple[tuple[str, str, Callable[[datetime], str]], ...] = (
    ("YYYY", "date_format({0}, 'yyyy')", lambda t: f"{t.year:04}"),
    ("IYYY", "CAST(extract(YEAROFWEEK FROM {0}) AS STRING)", lambda t: str(t.isocalendar()[0])),
    ("HH24", "date_format({0}, 'HH')", lambda t: f"{t.hour:02}"),
    ("HH12", "date_format({0}, 'hh')", lambda t: f"{(t.hour - 1) % 12 + 1:02}"),
    ("DDD", "date_format({0}, 'DDD')", lambda t: f"{t.timetuple().tm_yday:03}"),
    ("Mon", "date_format({0}, 'MMM')", lambda t: f"{t:%b}"),
    ("MON", "upper(date_format({0}, 'MMM'))", lambda t: f"{t:%b}".upper()),
    ("Dy", "date_format({0}, 'E')", lambda t: f"{t:%a}"),
    ("YY", "date_format({0}, 'yy')", lambda t: f"{t.year % 100:02}"),
    ("MM", "date_format({0}, 'MM')", lambda t: f"{t.month:02}"),
    ("DD", "date_format({0}, 'dd')", lambda t: f"{t.day:02}"),
    ("HH", "date_format({0}, 'hh')", lambda t: f"{(t.hour - 1) % 12 + 1:02}"),
    ("MI", "date_format({0}, 'mm')", lambda t: f"{t.minute:02}"),
    ("SS", "date_format({0}, 'ss')", lambda t: f"{t.second:02}"),
    ("MS", "date_format({0}, 'SSS')", lambda t: f"{t.microsecond // 1000:03}"),
    ("US", "date_format({0}, 'SSSSSS')", lambda t: f"{t.microsecond:06}"),
    ("AM", "date_format({0}, 'a')", lambda t: "AM" if t.hour < 12 else "PM"),
    ("PM", "date_format({0}, 'a')", lambda t: "AM" if t.hour < 12 else "PM"),
    ("ID", "CAST(weekday({0}) + 1 AS STRING)", lambda t: str(t.isoweekday())),
    ("IW", "format_string('%02d', weekofyear({0}))", lambda t: f"{t.isocalendar()[1]:02}"),
    ("Q", "CAST(quarter({0}) AS STRING)", lambda t: str((t.month + 2) // 3)),
    ("D", "CAST(dayofweek({0}) AS STRING)", lambda t: str(t.isoweekday() % 7 + 1)),
)
_TOKEN = re.compile(
    '"([^"]*)"|(' + "|".join(p for p, _, _ in _PARTS) + ")|([A-Za-z]+)|(.)", re.DOTALL
)
_BY_NAME = {p: (s, f) for p, s, f in _PARTS}


def _tokens(pattern: str) -> list[tuple[str, bool]]:
    """Return (text, whether it is a field) pieces."""
    pieces = []
    for quoted, field, unknown, other in _TOKEN.findall(pattern):
        if unknown == "T":
            pieces.append((unknown, False))
        elif unknown:
            raise NotSupported(
                "E0378",
                f"to_char does not know {unknown!r}",
                hint="put text in double quotes; fields: " + " ".join(_BY_NAME),
            )
        else:
            pieces.append((field or quoted or other, bool(field)))
    return pieces


def _print(o: Operands) -> str:
    pieces = _tokens(str(o[1].constant))
    texts = [_BY_NAME[p][0].format(o[0]) if is_field else quote(p) for p, is_field in pieces]
    return f"CASE WHEN {o[0]} IS NOT NULL THEN concat({', '.join(texts)}) END" if texts else "''"


def _format(value: date, pattern: str) -> str:
    moment = value if isinstance(value, datetime) else datetime.combine(value, time())
    return "".join(_BY_NAME[p][1](moment) if f else p for p, f in _tokens(pattern))


def formats() -> list[Function]:
    """Return `to_char`; the pattern is a literal."""
    return [
        Function("to_char", (kind, Kind.VARCHAR), VARCHAR, _print, _format, constant=frozenset({1}))
        for kind in (Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.DATE)
    ]
