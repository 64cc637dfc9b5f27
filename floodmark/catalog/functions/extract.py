"""`extract(field FROM x)` and `date_part('field', x)`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal

from floodmark.catalog.functions.intervals import DAY_MICROS, Interval, micros_of
from floodmark.catalog.functions.model import Function, Operand, Operands
from floodmark.catalog.types import INTERVAL, Kind, SqlType, numeric
from floodmark.errors import BindError

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


def _interval_epoch(
    types: tuple[SqlType, ...], result: SqlType, field: str, value: Interval
) -> Decimal:
    months, days, micros = value
    name = field_of(Operand("", types[0], field))
    years, rest = abs(months) // 12 * (1 if months >= 0 else -1), 0
    rest = months - years * 12
    match name:
        case "epoch":
            # A year has 365.25 days here and a month 30, as in PostgreSQL.
            total = (years * 1461 * DAY_MICROS) // 4 + (rest * 30 + days) * DAY_MICROS + micros
            return Decimal(total).scaleb(-6)
        case "day":
            return Decimal(days)
        case _:
            assert name == "month"
            return Decimal(rest)


def _print_interval(o: Operands) -> str:
    field, value = field_of(o[0]), o[1]
    match field:
        case "epoch":
            wide = "CAST({} AS DECIMAL(20,0))"
            years, rest = wide.format(f"{value}.months DIV 12"), wide.format(f"{value}.months % 12")
            days = wide.format(f"{value}.days")
            total = f"{years} * {1461 * DAY_MICROS // 4} + ({rest} * 30 + {days}) * {DAY_MICROS} + {value}.micros"  # noqa: E501
            return f"CAST(CAST({total} AS DECIMAL(20,0)) / 1000000BD AS DECIMAL(20,6))"
        case "day":
            return f"CAST({value}.days AS DECIMAL(10,0))"
        case "month":
            return f"CAST({value}.months % 12 AS DECIMAL(10,0))"
        case _:
            raise BindError(
                "E0252",
                f"{field!r} cannot be extracted from an {INTERVAL}",
                hint="one of: epoch, day, month",
            )


def extract() -> list[Function]:
    """Return the overloads; the field is a constant."""
    fixed = frozenset({0})
    return [
        *(
            Function(
                "extract", (Kind.VARCHAR, kind), _type, _print, _python, typed=True, constant=fixed
            )
            for kind in (Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.DATE)
        ),
        Function(
            "extract",
            (Kind.VARCHAR, Kind.INTERVAL),
            _type,
            _print_interval,
            _interval_epoch,
            typed=True,
            constant=fixed,
        ),
    ]
