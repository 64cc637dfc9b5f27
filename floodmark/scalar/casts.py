"""What a cast does to a value; the binder folds literals with it, the reference evaluates."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from floodmark.digits import whole
from floodmark.scalar.functions.arithmetic import fit_decimal, fit_integer, to_real
from floodmark.scalar.functions.intervals import DAY_MICROS, micros_of
from floodmark.scalar.functions.model import RowError, RowErrorCode
from floodmark.scalar.interval_text import parse_interval
from floodmark.scalar.json_text import dump_json, is_lost, parse_json
from floodmark.scalar.rendering import value_text
from floodmark.scalar.types import REAL, Kind, SqlType, is_bare

INTEGER_TEXT = r"^[ \t\n\r\f]*[+-]?[0-9]+[ \t\n\r\f]*$"
NUMBER_TEXT = r"^[ \t\n\r\f]*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t\n\r\f]*$"
FLOAT_WORDS = r"^[ \t\n\r\f]*(?i:nan|[+-]?inf(inity)?)[ \t\n\r\f]*$"
MOST_DECIMALS, POWERS = 16383, 1073741823
"""Of a NUMERIC: the digits that it may have behind the point, and what its exponent is below."""
DATE_TEXT = r"(?!0000)([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
CLOCK_TEXT = r"([0-9]{1,2}):([0-9]{2})(:([0-9]{2})([.][0-9]{1,9})?)?"
ZONE_TEXT = r" ?(Z|z|UTC|[+-][0-9]{2}(:?[0-9]{2})?)"
# A date would go on with the `-` of a zone.
DAY_ZONE_TEXT = r" ?(Z|z|UTC|[+][0-9]{2}(:?[0-9]{2})?)| (-[0-9]{2}(:?[0-9]{2})?)"
TIMESTAMP_TEXT = f"^ *{DATE_TEXT}([ T]+{CLOCK_TEXT}({ZONE_TEXT})?|{DAY_ZONE_TEXT})? *$"
TIME_TEXT = f"^ *{CLOCK_TEXT} *$"
MORE_DECIMALS = "[.][0-9]{7,}"
UUID_TEXT = r"^[{]?([0-9a-fA-F]{8})-?([0-9a-fA-F]{4})-?([0-9a-fA-F]{4})-?([0-9a-fA-F]{4})-?([0-9a-fA-F]{12})[}]?$"  # noqa: E501
TRUE_TEXTS = ("t", "tr", "tru", "true", "y", "ye", "yes", "on", "1")
FALSE_TEXTS = ("f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0")
"""How PostgreSQL spells yes and no, in whatever case."""
BITS = {Kind.SMALLINT: 15, Kind.INT: 31, Kind.BIGINT: 63}
_TEXT = RowErrorCode.INVALID_TEXT
_VERSIONS: Mapping[tuple[Kind, Kind], int] = {
    **{(Kind.VARCHAR, kind): 2 for kind in (Kind.REAL, Kind.DOUBLE, Kind.JSONB)},
    (Kind.VARCHAR, Kind.BYTEA): 2,
    (Kind.VARCHAR, Kind.INTERVAL): 2,
    **{
        (Kind.VARCHAR, kind): 2 for kind in (Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMPTZ)
    },
    (Kind.NUMERIC, Kind.VARCHAR): 2,
    **{(kind, Kind.NUMERIC): 2 for kind in (Kind.NUMERIC, Kind.REAL, Kind.DOUBLE)},
    (Kind.VARCHAR, Kind.NUMERIC): 3,
}
"""Of casts whose meaning has changed since the first release, by kinds: a number that grows."""


def cast_version(source: SqlType, target: SqlType) -> int:
    """Return the version of a cast's meaning, as `Function.version` is that of a function's."""
    return _VERSIONS.get((source.kind, target.kind), 1)


def cast_value(value: Any, source: SqlType, target: SqlType) -> Any:
    """Return a value brought to another type; NULL stays NULL.

    Raises `RowError` when the value has no form in the target type.
    """
    if value is None or source == target:
        return value
    if source.kind in (Kind.VARCHAR, Kind.UNKNOWN):
        return from_text(value, target)
    match target.kind:
        case Kind.VARCHAR:
            return value_text(value, source)
        case Kind.SMALLINT | Kind.INT | Kind.BIGINT:
            return fit_integer(_whole(value), BITS[target.kind])
        case Kind.NUMERIC:
            return _numeric(value, source, target)
        case Kind.DOUBLE:
            return float(value)
        case Kind.REAL:
            return _real(value)
        case Kind.BOOLEAN:
            return value != 0
        case Kind.LIST:
            assert source.element is not None and target.element is not None
            return tuple(cast_value(v, source.element, target.element) for v in value)
        case Kind.STRUCT:
            pairs = zip(value, source.fields, target.fields, strict=True)
            return tuple(cast_value(v, f.type, g.type) for v, f, g in pairs)
        case _:
            return _temporal(value, target)


def _whole(value: Any) -> int:
    match value:
        case bool() | int():
            return int(value)
        case Decimal():
            return int(value.to_integral_value(ROUND_HALF_UP))
        case _:
            if not math.isfinite(value):
                raise RowError(RowErrorCode.NUMBER_OUT_OF_RANGE)
            nearest: int = round(value)
            return nearest


def _numeric(value: Any, source: SqlType, target: SqlType) -> Decimal:
    """Return a number as NUMERIC; one that is inexact is rounded, but not away."""
    if not isinstance(value, float):
        return _exactly(Decimal(value), target)
    if not math.isfinite(value):
        raise RowError(RowErrorCode.NUMBER_OUT_OF_RANGE)
    # Of REAL the six digits that can be relied upon are taken, as in PostgreSQL.
    known = Context(6 if source == REAL else 17, ROUND_HALF_UP)
    fitted = fit_decimal(known.plus(Decimal(repr(value))), target)
    if is_bare(target) and not fitted and value:
        raise RowError(RowErrorCode.NUMBER_OUT_OF_RANGE)
    return fitted


def _exactly(value: Decimal, target: SqlType) -> Decimal:
    """Return an exact number rounded to the type; a bare NUMERIC drops no digit."""
    fitted = fit_decimal(value, target)
    if is_bare(target) and fitted != value:
        raise RowError(RowErrorCode.NUMBER_OUT_OF_RANGE)
    return fitted


def _temporal(value: Any, target: SqlType) -> Any:
    match target.kind, value:
        case Kind.DATE, datetime():
            return value.date()
        case Kind.TIMESTAMP, datetime():
            return value.replace(tzinfo=None)
        case Kind.TIMESTAMPTZ, datetime():
            return value.replace(tzinfo=UTC)
        case ((Kind.TIMESTAMP | Kind.TIMESTAMPTZ), date()):
            return datetime.combine(value, time(), UTC if target.kind is Kind.TIMESTAMPTZ else None)
        case Kind.TIME, datetime():
            return micros_of(value) % DAY_MICROS
        case Kind.INTERVAL, int():
            return 0, 0, value
        case Kind.TIME, tuple():
            return value[2] % DAY_MICROS
        case _:
            return value


def from_text(text: str, target: SqlType) -> Any:
    """Return the value of a text; refuses a text that is not written as the type's values are."""
    match target.kind:
        case Kind.VARCHAR | Kind.UNKNOWN:
            return text
        case Kind.SMALLINT | Kind.INT | Kind.BIGINT:
            if not re.match(INTEGER_TEXT, text):
                raise RowError(_TEXT)
            return fit_integer(whole(text), BITS[target.kind])
        case Kind.NUMERIC:
            if not re.match(NUMBER_TEXT, text):
                raise RowError(_TEXT)
            return _exactly(_decimal(text), target)
        case Kind.REAL | Kind.DOUBLE:
            if not re.match(NUMBER_TEXT, text) and not re.match(FLOAT_WORDS, text):
                raise RowError(_TEXT)
            return _float(text, target)
        case Kind.BOOLEAN:
            if (value := truth_of(text)) is None:
                raise RowError(_TEXT)
            return value
        case _:
            return _other_text(text, target)


def truth_of(text: str) -> bool | None:
    """Return the yes or no that a text says: of a value, an option, a variable; None for neither.

    >>> truth_of("ON"), truth_of(" 0"), truth_of("")
    (True, False, None)
    """
    word = text.strip(" \t\n\r\f").lower()
    return True if word in TRUE_TEXTS else False if word in FALSE_TEXTS else None


def _decimal(text: str) -> Decimal:
    mantissa, _, power = text.lower().partition("e")
    decimals = len(mantissa.partition(".")[2].strip())
    if not decimals - MOST_DECIMALS <= whole(power) < POWERS:
        raise RowError(RowErrorCode.NUMBER_OUT_OF_RANGE)
    return Decimal(text.strip())


def _float(text: str, target: SqlType) -> float:
    """Return the nearest number of the type; refuses one that would become 0 or infinite."""
    value = float(text)
    if target.kind is Kind.REAL and value and math.isfinite(value):
        value = _real(Decimal(text.strip()))
    if is_lost(value, text):
        raise RowError(RowErrorCode.NUMBER_OUT_OF_RANGE)
    return value


def _real(exact: float | Decimal) -> float:
    """Round a number to single precision, once; too large becomes infinite."""
    double = float(exact)
    if double != exact and struct.pack("<d", double)[0] % 2 == 0:
        # It can be a tie of two REALs. Its odd neighbour on the number's side cannot.
        double = math.nextafter(double, math.inf if exact > double else -math.inf)
    return to_real(double)


def _other_text(text: str, target: SqlType) -> Any:
    match target.kind:
        case Kind.DATE:
            return _moment(text).date()
        case Kind.TIMESTAMP:
            return _later(_moment(text).replace(tzinfo=None), _rounding_carry(text))
        case Kind.TIMESTAMPTZ:
            moment = _moment(text)
            in_utc = moment.replace(tzinfo=UTC) if moment.tzinfo is None else _shift_to_utc(moment)
            return _later(in_utc, _rounding_carry(text))
        case Kind.TIME:
            return _clock(text)
        case Kind.INTERVAL:
            return parse_interval(text)
        case Kind.UUID:
            match = re.match(UUID_TEXT, text)
            if match is None:
                raise RowError(_TEXT)
            return "-".join(match.groups()).lower()
        case Kind.JSONB:
            return canonical_json(text)
        case Kind.LIST:
            assert target.element is not None
            items = array_items(text)
            return tuple(None if i is None else from_text(i, target.element) for i in items)
        case Kind.BYTEA:
            return _bytes(text)
        case _:
            raise RowError(_TEXT)


BYTE_ESCAPE = r"\\(\\|[0-3][0-7]{2})"
"""A backslash, or a byte in octal digits, in the escape form of BYTEA."""


def _bytes(text: str) -> bytes:
    if text.startswith("\\x"):
        if not re.fullmatch(r"([0-9a-fA-F]{2})*", text[2:]):
            raise RowError(_TEXT)
        return bytes.fromhex(text[2:])
    if "\\" in re.sub(BYTE_ESCAPE, "", text):
        raise RowError(_TEXT)

    def byte(match: re.Match[bytes]) -> bytes:
        escaped = match[1]
        return escaped if escaped == b"\\" else bytes([int(escaped, 8)])

    return re.sub(BYTE_ESCAPE.encode(), byte, text.encode())


_ITEM = re.compile(
    r'\s*(?:"((?:[^"\\]|\\.)*)"|([^{},"\s](?:[^{},"]*[^{},"\s])?))\s*(,|$)', re.DOTALL
)


def array_items(text: str) -> list[str | None]:
    """Return the items of an array as PostgreSQL writes it; refuses any other text.

    >>> array_items('{a, "b,c", NULL}')
    ['a', 'b,c', None]
    """
    inner = text.strip()
    if not (inner.startswith("{") and inner.endswith("}")):
        raise RowError(_TEXT)
    inner, at, items = inner[1:-1], 0, list[str | None]()
    if not inner.strip():
        return []
    while True:
        match = _ITEM.match(inner, at)
        if match is None:
            raise RowError(_TEXT)
        quoted, bare, end = match.groups()
        plain = None if bare is not None and bare.upper() == "NULL" else bare
        items.append(plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted))
        at = match.end()
        if not end:
            return items


def _moment(text: str) -> datetime:
    match = re.match(TIMESTAMP_TEXT, text)
    if match is None:
        raise RowError(_TEXT)
    year, month, day, _, hour, minute, _, second, fraction, *zones = match.groups()
    zone = zones[1] or zones[3] or zones[5]
    micros = int((fraction or ".0")[1:].ljust(6, "0")[:6])
    try:
        value = datetime(
            int(year),
            int(month),
            int(day),
            int(hour or 0),
            int(minute or 0),
            int(second or 0),
            micros,
        )
        return value if zone is None else value.replace(tzinfo=_zone(zone))
    except ValueError:
        raise RowError(_TEXT) from None


def _rounding_carry(text: str) -> int:
    """Return the microseconds that more than six decimals add to the first six, as a double."""
    match = re.search(MORE_DECIMALS, text)
    return 0 if match is None else round(float(match[0]) * 1e6) - int(match[0][1:7])


def _later(moment: datetime, micros: int) -> datetime:
    try:
        return moment + timedelta(microseconds=micros)
    except OverflowError:
        raise RowError(_TEXT) from None


def _shift_to_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise RowError(_TEXT) from None


def _zone(text: str) -> timezone:
    if text[0] not in "+-":
        return UTC
    digits = text[1:].replace(":", "").ljust(4, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)


def _clock(text: str) -> int:
    match = re.match(TIME_TEXT, text)
    if match is None:
        raise RowError(_TEXT)
    hour, minute, _, second, fraction = match.groups()
    if int(hour) > 23 or int(minute) > 59 or int(second or 0) > 59:
        raise RowError(_TEXT)
    micros = int((fraction or ".0")[1:].ljust(6, "0")[:6])
    seconds = (int(hour) * 60 + int(minute)) * 60 + int(second or 0)
    clock = seconds * 1_000_000 + micros + _rounding_carry(text)
    if clock == DAY_MICROS:
        raise RowError(_TEXT)
    return clock


def canonical_json(text: str) -> str:
    """Return JSON without spaces, keys in order, numbers in one form."""
    try:
        return dump_json(parse_json(text))
    except (ValueError, RecursionError):
        raise RowError(_TEXT) from None
