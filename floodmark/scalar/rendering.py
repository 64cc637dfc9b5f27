"""Values as PostgreSQL writes them."""

from __future__ import annotations

import math
import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from floodmark.scalar.types import Kind, SqlType, is_bare


def float_text(value: float, *, single: bool = False) -> str:
    """Return the shortest text that reads back as the value.

    >>> [float_text(v) for v in (1.0, 1e15, 1e-5, 0.1)]
    ['1', '1e+15', '1e-05', '0.1']
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    digits, _, exponent = _shortest(value, single).partition("e")
    power = int(exponent)
    sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    digits = digits.replace(".", "").rstrip("0") or "0"
    if -4 <= power < (6 if single else 15):
        return sign + _plain(digits, power)
    mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{sign}{mantissa}e{'-' if power < 0 else '+'}{abs(power):02}"


def _shortest(value: float, single: bool) -> str:
    if not single:
        return f"{Decimal(repr(value)):e}"
    for precision in range(9):
        text = f"{value:.{precision}e}"
        if struct.pack("f", float(text)) == struct.pack("f", value):
            return text
    return f"{value:.8e}"


def _plain(digits: str, power: int) -> str:
    if power < 0:
        return "0." + "0" * (-power - 1) + digits
    whole, fraction = digits[: power + 1].ljust(power + 1, "0"), digits[power + 1 :]
    return f"{whole}.{fraction}" if fraction else whole


def decimal_text(value: Decimal, type_: SqlType) -> str:
    """Return a decimal with all the digits of its scale; a bare NUMERIC without zeros at its end.

    >>> from floodmark.scalar.types import numeric
    >>> decimal_text(Decimal("1.50"), numeric(10, 2)), decimal_text(Decimal("1.50"), numeric())
    ('1.50', '1.5')
    """
    text = f"{Decimal(value):f}"
    return text.rstrip("0").rstrip(".") if is_bare(type_) and "." in text else text


def time_text(micros: int) -> str:
    """Return a time of day, fraction only where there is one."""
    sign, micros = ("-", -micros) if micros < 0 else ("", micros)
    seconds, fraction = divmod(micros, 1_000_000)
    text = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return text + (f".{fraction:06}".rstrip("0") if fraction else "")


def timestamp_text(value: datetime) -> str:
    """Return a timestamp; one with a zone is in UTC and ends in `+00`."""
    zone = ""
    if value.tzinfo is not None:
        value, zone = value.astimezone(UTC).replace(tzinfo=None), "+00"
    text = f"{value.year:04}-{value:%m-%d %H:%M:%S}"
    return text + (f".{value.microsecond:06}".rstrip("0") if value.microsecond else "") + zone


def interval_text(value: tuple[int, int, int]) -> str:
    """Return an interval in PostgreSQL's style.

    >>> interval_text((14, -1, 3_000_000))
    '1 year 2 mons -1 days +00:00:03'
    """
    months, days, micros = value
    years, rest = abs(months) // 12, abs(months) % 12
    sign = -1 if months < 0 else 1
    parts: list[str] = []
    negative = False
    for amount, word in ((sign * years, "year"), (sign * rest, "mon"), (days, "day")):
        if amount:
            plus = "+" if negative and amount > 0 else ""
            parts.append(f"{plus}{amount} {word}{'' if amount == 1 else 's'}")
            negative = amount < 0
    if micros or not parts:
        parts.append(("+" if negative and micros > 0 else "") + time_text(micros))
    return " ".join(parts)


def value_text(value: Any, type_: SqlType) -> str:
    """Return a present value as `value::text` gives it."""
    match type_.kind:
        case Kind.BOOLEAN:
            return "true" if value else "false"
        case Kind.NUMERIC:
            return decimal_text(value, type_)
        case Kind.REAL | Kind.DOUBLE:
            return float_text(value, single=type_.kind is Kind.REAL)
        case Kind.DATE:
            assert isinstance(value, date)
            return value.isoformat()
        case Kind.TIMESTAMP | Kind.TIMESTAMPTZ:
            return timestamp_text(value)
        case Kind.TIME:
            return time_text(value)
        case Kind.INTERVAL:
            return interval_text(value)
        case Kind.BYTEA:
            return "\\x" + bytes(value).hex()
        case _:
            return str(value)
