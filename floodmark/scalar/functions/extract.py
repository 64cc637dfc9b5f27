"""`extract(field FROM x)` and `date_part('field', x)`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal

from floodmark.errors import BindError
from floodmark.scalar.functions.intervals import DAY_MICROS, Interval, micros_of
from floodmark.scalar.functions.model import Function, Operand, Operands
from floodmark.scalar.types import Kind, SqlType, numeric

_FIELDS: dict[str, tuple[str, Callable[[datetime], int]]] = {
    "year": ("year({0})", lambda t: t.year),
    "quarter": ("quarter({0})", lambda t: (t.month + 2) // 3),
    "month": ("month({0})", lambda t: t.month),
    "week": ("weekofyear({0})", lambda t: t.isocalendar()[1]),
    "day": ("day({0})", lambda t: t.day),
    "dow": ("(dayofweek({0}) - 1)", lambda t: t.isoweekday() % 7),
    "isodow": ("(weekday({0}) + 1)", lambda t: t.isoweekday()),
    "doy": ("dayofyear({0})", lambda t: t.timetuple().tm_yday),
    "isoyear": ("extract(YEAROFWEEK FROM {0})", lambda t: t.isocalendar()[0]),
    "decade": ("(year({0}) DIV 10)", lambda t: t.year // 10),
    "century": ("((year({0}) + 99) DIV 100)", lambda t: (t.year + 99) // 100),
    "millennium": ("((year({0}) + 999) DIV 1000)", lambda t: (t.year + 999) // 1000),
    "julian": (
        "(unix_date(CAST({0} AS DATE)) + 2440588)",
        lambda t: t.toordinal() + 1721425,
    ),
    "hour": ("hour({0})", lambda t: t.hour),
    "minute": ("minute({0})", lambda t: t.minute),
}
_MICROS_IN_MINUTE = 60_000_000
_FRACTIONS = ("second", "milliseconds", "microseconds", "epoch")
_ALIASES = {
    "years": "year",
    "months": "month",
    "days": "day",
    "hours": "hour",
    "minutes": "minute",
    "seconds": "second",
    "weeks": "week",
    "msec": "milliseconds",
    "millisecond": "milliseconds",
    "microsecond": "microseconds",
    "usec": "microseconds",
    "min": "minute",
    "sec": "second",
    "hr": "hour",
    "mon": "month",
}


def field_of(operand: Operand) -> str:
    """Return the field's one name."""
    text = str(operand.constant).strip().lower()
    text = _ALIASES.get(text, text)
    if text not in _FIELDS and text not in _FRACTIONS:
        raise BindError(
            "E0252",
            f"there is no field {operand.constant!r} to extract",
            hint=f"one of: {', '.join([*_FIELDS, *_FRACTIONS])}",
        )
    return text


def _type(o: Operands) -> SqlType:
    match field_of(o[0]):
        case "second":
            return numeric(8, 6)
        case "milliseconds":
            return numeric(8, 3)
        case "epoch":
            return numeric(20, 6)
        case _:
            return numeric(10, 0)


def _print(o: Operands) -> str:
    field, value = field_of(o[0]), o[1]
    result = _type(o)
    name = f"DECIMAL({result.precision},{result.scale})"
    if field in _FIELDS:
        return f"CAST({_FIELDS[field][0].format(value)} AS {name})"
    micros = {
        Kind.TIMESTAMP: f"unix_micros(CAST({value} AS TIMESTAMP_LTZ))",
        Kind.TIMESTAMPTZ: f"unix_micros({value})",
        Kind.DATE: f"(CAST(unix_date({value}) AS BIGINT) * {DAY_MICROS})",
    }[value.type.kind]
    if field != "epoch":
        micros = f"pmod({micros}, {_MICROS_IN_MINUTE})"
    scale = {"microseconds": "1", "milliseconds": "1000BD"}.get(field, "1000000BD")
    return f"CAST({micros} / {scale} AS {name})" if scale != "1" else f"CAST({micros} AS {name})"


def _python(types: tuple[SqlType, ...], result: SqlType, field: str, value: date) -> Decimal:
    name = field_of(Operand("", types[0], field))
    moment = value if isinstance(value, datetime) else datetime.combine(value, time())
    if name in _FIELDS:
        return Decimal(_FIELDS[name][1](moment))
    micros = micros_of(moment) if name == "epoch" else micros_of(moment) % _MICROS_IN_MINUTE
    assert result.scale is not None
    return Decimal(micros).scaleb(-result.scale)


_INTERVAL_FIELDS: dict[str, tuple[str, Callable[[Interval], int]]] = {
    "millennium": ("{0}.months DIV 12000", lambda i: _whole(i[0], 12000)),
    "century": ("{0}.months DIV 1200", lambda i: _whole(i[0], 1200)),
    "decade": ("{0}.months DIV 120", lambda i: _whole(i[0], 120)),
    "year": ("{0}.months DIV 12", lambda i: _whole(i[0], 12)),
    "quarter": ("{0}.months % 12 DIV 3 + 1", lambda i: _whole(_rest(i[0], 12), 3) + 1),
    "month": ("{0}.months % 12", lambda i: _rest(i[0], 12)),
    "day": ("{0}.days", lambda i: i[1]),
    "hour": ("{0}.micros DIV 3600000000", lambda i: _whole(i[2], 3_600_000_000)),
    "minute": (
        "{0}.micros DIV 60000000 % 60",
        lambda i: _rest(_whole(i[2], _MICROS_IN_MINUTE), 60),
    ),
}


def _whole(value: int, size: int) -> int:
    """Divide as SQL does: towards zero."""
    return abs(value) // size * (1 if value >= 0 else -1)


def _rest(value: int, size: int) -> int:
    return value - _whole(value, size) * size


def _seconds_python(field: str, micros: int) -> Decimal:
    scale = {"microseconds": 0, "milliseconds": 3}.get(field, 6)
    return Decimal(_rest(micros, _MICROS_IN_MINUTE)).scaleb(-scale)


def _seconds(field: str, micros: str, name: str) -> str:
    divisor = {"microseconds": "1BD", "milliseconds": "1000BD"}.get(field, "1000000BD")
    return f"CAST(({micros}) % {_MICROS_IN_MINUTE} / {divisor} AS {name})"


def _interval(types: tuple[SqlType, ...], result: SqlType, field: str, value: Interval) -> Decimal:
    months, days, micros = value
    name = field_of(Operand("", types[0], field))
    if name in _INTERVAL_FIELDS:
        return Decimal(_INTERVAL_FIELDS[name][1](value))
    if name != "epoch":
        return _seconds_python(name, micros)
    # A year has 365.25 days here and a month 30, as in PostgreSQL.
    years = _whole(months, 12)
    total = (years * 1461 * DAY_MICROS) // 4 + (_rest(months, 12) * 30 + days) * DAY_MICROS
    return Decimal(total + micros).scaleb(-6)


def _refuse(field: str, type_: SqlType, known: list[str]) -> BindError:
    return BindError(
        "E0252",
        f"{field!r} cannot be extracted from {type_}",
        hint=f"one of: {', '.join([*known, *_FRACTIONS])}",
    )


def _print_interval(o: Operands) -> str:
    field, value = field_of(o[0]), o[1]
    result = _type(o)
    name = f"DECIMAL({result.precision},{result.scale})"
    if field == "epoch":
        wide = "CAST({} AS DECIMAL(20,0))"
        years, rest = wide.format(f"{value}.months DIV 12"), wide.format(f"{value}.months % 12")
        days = wide.format(f"{value}.days")
        total = f"{years} * {1461 * DAY_MICROS // 4} + ({rest} * 30 + {days}) * {DAY_MICROS} + {value}.micros"  # noqa: E501
        return f"CAST(CAST({total} AS DECIMAL(20,0)) / 1000000BD AS DECIMAL(20,6))"
    if field in _INTERVAL_FIELDS:
        return f"CAST({_INTERVAL_FIELDS[field][0].format(value)} AS {name})"
    if field in _FRACTIONS:
        return _seconds(field, f"{value}.micros", name)
    raise _refuse(field, o[1].type, list(_INTERVAL_FIELDS))


_TIME_FIELDS = {"hour": (3_600_000_000, 24), "minute": (_MICROS_IN_MINUTE, 60)}


def _time(types: tuple[SqlType, ...], result: SqlType, field: str, value: int) -> Decimal:
    name = field_of(Operand("", types[0], field))
    if name in _TIME_FIELDS:
        size, count = _TIME_FIELDS[name]
        return Decimal(value // size % count)
    return Decimal(value).scaleb(-6) if name == "epoch" else _seconds_python(name, value)


def _print_time(o: Operands) -> str:
    field, result = field_of(o[0]), _type(o)
    name = f"DECIMAL({result.precision},{result.scale})"
    if field in _TIME_FIELDS:
        size, count = _TIME_FIELDS[field]
        return f"CAST({o[1]} DIV {size} % {count} AS {name})"
    if field == "epoch":
        return f"CAST({o[1]} / 1000000BD AS {name})"
    if field in _FRACTIONS:
        return _seconds(field, o[1].sql, name)
    raise _refuse(field, o[1].type, list(_TIME_FIELDS))


def extract() -> list[Function]:
    """Return the overloads; the field is a constant."""
    fixed = frozenset({0})
    forms: dict[Kind, tuple[Callable[[Operands], str], Callable[..., Decimal]]] = {}
    forms |= {Kind.INTERVAL: (_print_interval, _interval), Kind.TIME: (_print_time, _time)}
    times = dict.fromkeys((Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.DATE), (_print, _python))
    return [
        Function("extract", (Kind.VARCHAR, kind), _type, spark, python, typed=True, constant=fixed)
        for kind, (spark, python) in {**times, **forms}.items()
    ]
