"""Values and results as text, the way psql shows them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from rich.cells import cell_len

from floodmark.scalar.rendering import (
    decimal_text,
    float_text,
    interval_text,
    time_text,
    timestamp_text,
)
from floodmark.scalar.types import numeric

_NUMBERS = ("smallint", "integer", "bigint", "numeric", "real", "double precision")


def is_number(type_: str) -> bool:
    """Tell whether columns of a SQL type's text stand at the right.

    >>> is_number("numeric(10,2)"), is_number("integer[]")
    (True, False)
    """
    return type_.startswith(_NUMBERS) and not type_.endswith("[]")


def cell(value: Any, type_: str = "") -> str:
    """Return a value as psql prints it; `type_` is the SQL type's text.

    >>> cell(None), cell(True), cell([1, None]), cell(datetime(2024, 1, 1, 1, 2, 3, 500000))
    ('NULL', 't', '{1,NULL}', '2024-01-01 01:02:03.500')
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return "t" if value else "f"
        case int() if type_.startswith("time without"):
            return time_text(value)
        case float():
            return float_text(value, single=type_ == "real")
        case Decimal():
            return decimal_text(value, numeric() if type_ == str(numeric()) else numeric(38, 0))
        case datetime():
            return _timestamp(value)
        case date():
            return value.isoformat()
        case tuple() if type_ == "interval":
            return interval_text((value[0], value[1], value[2]))
        case bytes():
            return "\\x" + value.hex()
        case list():
            return "{" + ",".join(cell(v, type_.removesuffix("[]")) for v in value) + "}"
        case dict():
            return "(" + ",".join("" if v is None else cell(v) for v in value.values()) + ")"
        case _:
            return str(value)


def _timestamp(value: datetime) -> str:
    """Fractions have three digits where they suffice, else six."""
    text = timestamp_text(value)
    if not value.microsecond:
        return text
    digits = f"{value.microsecond:06}"
    head = timestamp_text(value.replace(microsecond=0))
    zone = "+00" if value.tzinfo is not None else ""
    return f"{head.removesuffix(zone)}.{digits[:3] if digits.endswith('000') else digits}{zone}"


def json_value(value: Any, type_: str = "") -> Any:
    """Return a value for JSON: numbers, booleans, texts and null as they are, else psql's text.

    >>> json_value(Decimal("1.50")), json_value(7), json_value(float("nan"))
    ('1.50', 7, 'NaN')
    """
    match value:
        case None | bool() | str():
            return value
        case int() if not type_.startswith("time without"):
            return value
        case float() if value == value and abs(value) != float("inf"):
            return value
        case list():
            return [json_value(v, type_.removesuffix("[]")) for v in value]
        case dict():
            return {k: json_value(v) for k, v in value.items()}
        case _:
            return cell(value, type_)


def table(
    names: Sequence[str], types: Sequence[str], rows: Sequence[Sequence[Any]], *, count: bool = True
) -> str:
    """Return rows in psql's aligned form; numbers at the right, the row count below."""
    texts = [[cell(v, t).split("\n") for v, t in zip(row, types, strict=True)] for row in rows]
    widths = [
        max([cell_len(name), *(cell_len(line) for row in texts for line in row[i])])
        for i, name in enumerate(names)
    ]
    lines = ["|".join(f" {_centre(n, w)} " for n, w in zip(names, widths, strict=True))]
    lines.append("+".join("-" * (w + 2) for w in widths))
    for row in texts:
        lines += _row(row, widths, types)
    if count:
        lines.append(f"({len(rows)} row{'' if len(rows) == 1 else 's'})")
    return "\n".join(line.rstrip() for line in lines)


def _row(row: list[list[str]], widths: Sequence[int], types: Sequence[str]) -> list[str]:
    """Return the lines of a row: a value of several lines continues after a `+`."""
    height = max((len(parts) for parts in row), default=1)
    out = []
    for line in range(height):
        cells = []
        for parts, width, type_ in zip(row, widths, types, strict=True):
            text = parts[line] if line < len(parts) else ""
            more = "+" if line + 1 < len(parts) else " "
            pad = " " * (width - cell_len(text))
            cells.append(f" {pad}{text}{more}" if is_number(type_) else f" {text}{pad}{more}")
        out.append("|".join(cells))
    return out


def _centre(text: str, width: int) -> str:
    left = (width - cell_len(text)) // 2
    return " " * left + text + " " * (width - cell_len(text) - left)


def columns(
    headers: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()
) -> str:
    """Return a plain table without lines; columns whose header is in `right` stand at the right.

    >>> print(columns(["name", "rows"], [["a", "10"], ["bcdef", "2"]], right=["rows"]))
    name   rows
    a        10
    bcdef     2
    """
    widths = [
        max(cell_len(h), *(cell_len(r[i]) for r in rows)) if rows else cell_len(h)
        for i, h in enumerate(headers)
    ]
    lines = []
    for row in (headers, *rows):
        parts = []
        for text, width, header in zip(row, widths, headers, strict=True):
            pad = " " * (width - cell_len(text))
            parts.append(pad + text if header in right else text + pad)
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


def duration(span: timedelta | float) -> str:
    """Return a span of time with its two largest units.

    >>> duration(0.25), duration(75), duration(timedelta(days=2, hours=3, minutes=5))
    ('0.25 s', '1 min 15 s', '2 d 3 h')
    """
    seconds = span.total_seconds() if isinstance(span, timedelta) else span
    if seconds < 0:
        return "-" + duration(-seconds)
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"
    whole, parts = int(seconds), list[str]()
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        amount, whole = divmod(whole, size)
        if amount or parts:
            parts.append(f"{amount} {unit}" if amount else "")
    return " ".join(p for p in parts[:2] if p)


def size(count: float) -> str:
    """Return a number of bytes for people.

    >>> size(900), size(3_500_000)
    ('900 B', '3.3 MiB')
    """
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"
