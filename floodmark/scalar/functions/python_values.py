"""Values as Python functions of users see them, and back.

Most are what the engine holds. Different are TIME (`datetime.time`), JSONB (parsed), LIST (`list`),
STRUCT and MAP (`dict`); INTERVAL stays `(months, days, microseconds)`, and a `timedelta` is taken.
"""

from __future__ import annotations

import json
import math
import uuid
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

from floodmark.scalar.functions.arithmetic import fit_decimal, to_real
from floodmark.scalar.functions.model import RowError, RowErrorCode
from floodmark.scalar.json_text import dump_json, parse_json
from floodmark.scalar.types import Kind, SqlType

_BITS = {Kind.SMALLINT: 15, Kind.INT: 31, Kind.BIGINT: 63}
_DAY = 86_400_000_000


class UserCodeError(Exception):
    """A user's code raised while what it gave was iterated: a generator runs then."""

    def __init__(self, problem: BaseException) -> None:
        super().__init__()
        self.problem = problem


def to_python(value: Any, type_: SqlType) -> Any:
    """Return an engine value as a user's function takes it."""
    if value is None:
        return None
    match type_.kind:
        case Kind.TIME:
            return (datetime.min + timedelta(microseconds=value)).time()
        case Kind.JSONB:
            return json.loads(value)
        case Kind.LIST:
            assert type_.element is not None
            return [to_python(v, type_.element) for v in value]
        case Kind.STRUCT:
            pairs = zip(type_.fields, value, strict=True)
            return {f.name: to_python(v, f.type) for f, v in pairs}
        case Kind.MAP:
            assert type_.key is not None and type_.element is not None
            return {to_python(k, type_.key): to_python(v, type_.element) for k, v in value}
        case _:
            return value


def from_python(value: Any, type_: SqlType) -> Any:
    """Return what a user's function gave as an engine value of the type.

    Raises `UserCodeError`, or `RowError` WRONG_RESULT for another type or a value out of range.
    """
    if value is None:
        return None
    try:
        return _convert(value, type_)
    except (RowError, TypeError, ValueError, ArithmeticError):
        raise RowError(RowErrorCode.WRONG_RESULT) from None


def _convert(value: Any, type_: SqlType) -> Any:
    match type_.kind:
        case Kind.BOOLEAN:
            return _only(value, bool)
        case Kind.SMALLINT | Kind.INT | Kind.BIGINT:
            return _integer(value, _BITS[type_.kind])
        case Kind.NUMERIC:
            if isinstance(value, bool) or not isinstance(value, (Decimal, Integral)):
                raise TypeError
            return fit_decimal(value if isinstance(value, Decimal) else Decimal(int(value)), type_)
        case Kind.REAL | Kind.DOUBLE:
            if isinstance(value, bool) or not isinstance(value, Real):
                raise TypeError
            return to_real(float(value)) if type_.kind is Kind.REAL else float(value)
        case Kind.VARCHAR:
            _only(value, str).encode()  # Half a surrogate pair is no text: ValueError.
            return value
        case Kind.UUID:
            return str(uuid.UUID(str(value)))
        case Kind.BYTEA:
            return bytes(_only(value, (bytes, bytearray)))
        case Kind.JSONB:
            return dump_json(parse_json(json.dumps(value, allow_nan=False)))
        case Kind.LIST | Kind.STRUCT | Kind.MAP:
            return _convert_nested(value, type_)
        case _:
            return _temporal(value, type_)


def _only(value: Any, wanted: type | tuple[type, ...]) -> Any:
    if not isinstance(value, wanted):
        raise TypeError
    return value


def _integer(value: Any, bits: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError
    number = int(value)
    if not -(1 << bits) <= number < 1 << bits:
        raise ValueError
    return number


def _temporal(value: Any, type_: SqlType) -> Any:
    match type_.kind:
        case Kind.DATE:
            if isinstance(value, datetime):
                raise TypeError
            return _only(value, date)
        case Kind.TIMESTAMP:
            if _only(value, datetime).tzinfo is not None:
                raise TypeError
            return datetime.combine(value.date(), value.time())
        case Kind.TIMESTAMPTZ:
            if _only(value, datetime).tzinfo is None:
                raise TypeError
            return value.astimezone(UTC)
        case Kind.TIME:
            clock = _only(value, time)
            return (
                (clock.hour * 60 + clock.minute) * 60 + clock.second
            ) * 1_000_000 + clock.microsecond
        case _:
            assert type_.kind is Kind.INTERVAL, type_
            if isinstance(value, timedelta):
                micros = value // timedelta(microseconds=1)
                days = math.trunc(micros / _DAY)
                return 0, days, micros - days * _DAY
            months, days, micros = value
            return _integer(months, 31), _integer(days, 31), _integer(micros, 63)


def _convert_nested(value: Any, type_: SqlType) -> Any:
    match type_.kind:
        case Kind.LIST:
            assert type_.element is not None
            if isinstance(value, (str, bytes, dict)):
                raise TypeError
            return tuple(_nullable(v, type_.element) for v in collect(value))
        case Kind.MAP:
            assert type_.key is not None and type_.element is not None
            items = _only(value, dict).items()
            return tuple((_convert(k, type_.key), _nullable(v, type_.element)) for k, v in items)
        case _:
            names = [f.name for f in type_.fields]
            if isinstance(value, dict):
                if not value.keys() <= set(names):
                    raise ValueError
                value = [value.get(name) for name in names]
            if isinstance(value, str):
                raise TypeError
            pairs = zip(collect(value), type_.fields, strict=True)
            return tuple(_nullable(v, f.type) for v, f in pairs)


def collect(values: Any) -> list[Any]:
    """Return what an iterable gives; TypeError where it is none, `UserCodeError` of its code."""
    iterator = iter(values)
    try:
        return list(iterator)
    except KeyboardInterrupt:
        raise
    except BaseException as problem:
        raise UserCodeError(problem) from None


def _nullable(value: Any, type_: SqlType) -> Any:
    return None if value is None else _convert(value, type_)
