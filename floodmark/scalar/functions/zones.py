"""Time zones other than UTC, by their IANA names."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from floodmark.errors import BindError
from floodmark.scalar.functions.model import Function, Operand, Operands, RowError, RowErrorCode
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.functions.years import limit_to_years
from floodmark.scalar.types import TIMESTAMP, TIMESTAMPTZ, Kind

UTC_NAMES = frozenset({"UTC", "GMT", "Z", "ETC/UTC", "+00", "+00:00"})


def is_utc(zone: object) -> bool:
    """Tell whether a zone's name is one of UTC's.

    >>> is_utc("Etc/UTC"), is_utc("Asia/Tokyo")
    (True, False)
    """
    return str(zone).upper() in UTC_NAMES


def _zone_name(operand: Operand) -> str:
    name = str(operand.constant)
    try:
        if not name[:1].isalpha():
            raise ValueError
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise BindError(
            "E0251", f"there is no time zone {name!r}", hint="such as 'Europe/Berlin' or 'UTC'"
        ) from None
    return quote(name)


def _to_local(value: datetime, zone: str) -> datetime:
    try:
        return value.astimezone(ZoneInfo(zone)).replace(tzinfo=None, fold=0)
    except OverflowError:
        raise RowError(RowErrorCode.TIME_OUT_OF_RANGE) from None


def _from_local(value: datetime, zone: str) -> datetime:
    try:
        return value.replace(tzinfo=ZoneInfo(zone), fold=0).astimezone(UTC)
    except OverflowError:
        raise RowError(RowErrorCode.TIME_OUT_OF_RANGE) from None


def _print_local(o: Operands) -> str:
    return f"CAST(from_utc_timestamp({o[0]}, {_zone_name(o[1])}) AS TIMESTAMP_NTZ)"


def _print_utc(o: Operands) -> str:
    return f"to_utc_timestamp(CAST({o[0]} AS TIMESTAMP_LTZ), {_zone_name(o[1])})"


def zones() -> list[Function]:
    """Return AT TIME ZONE with a zone that moves its clocks.

    Local time is not monotone. A local time that comes twice is the first one; one that is left
    out is taken by the offset before the gap.
    """
    second = frozenset({1})
    return [
        limit_to_years(Function(
            "at_time_zone", (Kind.TIMESTAMPTZ, Kind.VARCHAR), TIMESTAMP, _print_local, _to_local,
            constant=second,
        )),
        limit_to_years(Function(
            "at_time_zone", (Kind.TIMESTAMP, Kind.VARCHAR), TIMESTAMPTZ, _print_utc, _from_local,
            constant=second,
        )),
    ]  # fmt: skip
