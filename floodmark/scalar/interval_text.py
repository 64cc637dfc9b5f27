"""Every spelling of an interval: `5 minutes`, `1 day 02:03:04`, `1-2`, `P1DT2H`, `51`."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from floodmark.scalar.functions.model import RowError, RowErrorCode

_MONTHS = {
    "month": 1,
    "mon": 1,
    "quarter": 3,
    "year": 12,
    "yr": 12,
    "y": 12,
    "decade": 120,
    "century": 1200,
    "centurie": 1200,
    "millennium": 12000,
}
_DAYS = {"day": 1, "d": 1, "week": 7, "w": 7}
_MICROS = {
    "microsecond": 1,
    "u": 1,
    "usec": 1,
    "us": 1,
    "millisecond": 1000,
    "msec": 1000,
    "ms": 1000,
    "second": 10**6,
    "sec": 10**6,
    "s": 10**6,
    "minute": 60 * 10**6,
    "min": 60 * 10**6,
    "m": 60 * 10**6,
    "hour": 3600 * 10**6,
    "hr": 3600 * 10**6,
    "h": 3600 * 10**6,
}
_DAY = 86_400_000_000
_LONGEST_TEXT = 256
"""No interval has more characters, as in PostgreSQL; looking for parts takes long in long texts."""
_PART = re.compile(
    r"([+-]?[0-9]*\.?[0-9]+)\s*([a-zA-Z]+)|([+-]?)([0-9]+):([0-9]{1,2})(?::([0-9]{1,2}(?:\.[0-9]+)?))?"
)
_ISO = re.compile(r"([+-]?[0-9]*\.?[0-9]+)([YMWDHS])")


def parse_interval(text: str, unit: str | None = None) -> tuple[int, int, int]:
    """Return (months, days, microseconds); a bare number counts `unit`, seconds by default.

    What is smaller than the `unit` is left out, as in PostgreSQL. Raises `RowError` for a text that
    is not an interval.

    >>> parse_interval("1 day 02:00:00"), parse_interval("5", "minute"), parse_interval("51")
    ((0, 1, 7200000000), (0, 0, 300000000), (0, 0, 51000000))
    >>> parse_interval("1 day 02:03:04", "hour")
    (0, 1, 7200000000)
    """
    body = text.strip()
    if len(body) > _LONGEST_TEXT:
        raise RowError(RowErrorCode.INVALID_TEXT)
    months, days, micros = _value(body, unit)
    match unit:
        case "year":
            return months - _rest(months, 12), 0, 0
        case "month":
            return months, 0, 0
        case "day":
            return months, days, 0
        case "hour" | "minute":
            return months, days, micros - _rest(micros, _MICROS[unit])
    return months, days, micros


def has_unit(text: str) -> bool:
    """Tell whether an interval says what it counts: a number alone counts seconds.

    >>> [has_unit(text) for text in ("5", "5 days", "00:05", "P1D")]
    [False, True, True, True]
    """
    return re.search("[a-zA-Z:]", text) is not None


def _rest(number: int, unit: int) -> int:
    """Return the remainder of a division that rounds towards zero."""
    return number % unit if number >= 0 else -(-number % unit)


def _value(body: str, unit: str | None) -> tuple[int, int, int]:
    if re.fullmatch(r"[+-]?[0-9]*\.?[0-9]+", body):
        return _fit(_parts(Decimal(body), unit or "second"))
    if re.fullmatch(r"[+-]?[0-9]+-[0-9]{1,2}", body):
        sign, (years, months) = -1 if body[0] == "-" else 1, body.lstrip("+-").split("-")
        return _fit((sign * (int(years) * 12 + int(months)), 0, 0))
    if body[:1] in "Pp" and body:
        return _fit(_iso(body[1:].upper()))
    return _fit(_words(body))


def _words(body: str) -> tuple[int, int, int]:
    backwards = body.lower().endswith(" ago")
    rest = body[:-4] if backwards else body
    total, position = (0, 0, 0), 0
    for match in _PART.finditer(rest):
        if rest[position : match.start()].strip(" ,@"):
            raise RowError(RowErrorCode.INVALID_TEXT)
        position = match.end()
        total = _add(total, _part(match))
    if position == 0 or rest[position:].strip():
        raise RowError(RowErrorCode.INVALID_TEXT)
    return _add((0, 0, 0), total, -1) if backwards else total


def _part(match: re.Match[str]) -> tuple[int, int, int]:
    number, word, sign, hour, minute, second = match.groups()
    if number is not None:
        return _parts(Decimal(number), word)
    micros = (int(hour) * 60 + int(minute)) * 60 * 10**6 + _whole(Decimal(second or 0) * 10**6)
    return 0, 0, -micros if sign == "-" else micros


def _iso(body: str) -> tuple[int, int, int]:
    dates, _, times = body.partition("T")
    total = (0, 0, 0)
    for part, names in (
        (dates, {"Y": "year", "M": "month", "W": "week", "D": "day"}),
        (times, {"H": "hour", "M": "minute", "S": "second"}),
    ):
        if _ISO.sub("", part):
            raise RowError(RowErrorCode.INVALID_TEXT)
        for number, letter in _ISO.findall(part):
            if letter not in names:
                raise RowError(RowErrorCode.INVALID_TEXT)
            total = _add(total, _parts(Decimal(number), names[letter]))
    return total


def _parts(number: Decimal, word: str) -> tuple[int, int, int]:
    name = word.lower()
    name = name if name in _MICROS or name in _DAYS or name in _MONTHS else name.removesuffix("s")
    try:
        if name in _MICROS:
            return 0, 0, _whole(number * _MICROS[name])
        if name in _DAYS:
            days = number * _DAYS[name]
            return 0, int(days), _whole((days - int(days)) * _DAY)
        if name in _MONTHS:
            months = number * _MONTHS[name]
            # What is left of a month is spread over 30 days, as in PostgreSQL.
            days = (months - int(months)) * 30
            return int(months), int(days), _whole((days - int(days)) * _DAY)
    except InvalidOperation:
        raise RowError(RowErrorCode.TIME_OUT_OF_RANGE) from None
    raise RowError(RowErrorCode.INVALID_TEXT)


def _whole(micros: Decimal) -> int:
    return int(micros.to_integral_value())


def _add(a: tuple[int, int, int], b: tuple[int, int, int], sign: int = 1) -> tuple[int, int, int]:
    return a[0] + sign * b[0], a[1] + sign * b[1], a[2] + sign * b[2]


def _fit(value: tuple[int, int, int]) -> tuple[int, int, int]:
    months, days, micros = value
    if max(abs(months), abs(days)) >= 1 << 31 or abs(micros) >= 1 << 63:
        raise RowError(RowErrorCode.TIME_OUT_OF_RANGE)
    return value
