"""`to_date` and `to_timestamp` of a text by a pattern."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import pairwise

from floodmark.errors import NotSupported
from floodmark.scalar.functions.formats import tokens
from floodmark.scalar.functions.model import Function, Operands, RowError, RowErrorCode, null_means
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.types import DATE, TIMESTAMPTZ, Kind

_TEXT = null_means(RowErrorCode.INVALID_TEXT)
_NUMBERS: Mapping[str, tuple[str, int]] = {
    "YYYY": ("year", 4), "MM": ("month", 2), "DD": ("day", 2), "HH24": ("hour", 2),
    "HH12": ("hour", 2), "HH": ("hour", 2), "MI": ("minute", 2), "SS": ("second", 2),
    "MS": ("milli", 3), "US": ("micro", 6),
}  # fmt: skip
"""What a field is of, and how many digits it has where others follow it."""
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_WORDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "MON": ("month", tuple(name[:3] for name in _MONTHS)),
    "MONTH": ("month", _MONTHS),
    "AM": ("half", ("am", "pm")),
}
_TWELVE = frozenset({"HH12", "HH", "AM"})
"""Fields that make the hour one of 1 to 12."""
_BLANK = "[ \\t-\\r]"
_SEPARATOR = "[ \\t-\\r!-/:-@\\[-`{-~]?+"
_WHOLE = "[+-]?(?:0*+[1-9][0-9]{0,8}+|0++)(?![0-9])"
"""A number of any length; one that no field can be is none."""


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A regular expression with one group per field, in order: None from where the text ends."""

    regex: str
    fields: tuple[str, ...]


def _compile(pattern: str, what: str) -> _Pattern:
    pieces = [
        (_name(piece) if is_field else piece, is_field, bare)
        for piece, is_field, bare in tokens(pattern, what)
    ]
    parts, fields = list[str](), list[str]()
    for i, (piece, is_field, bare) in enumerate(pieces):
        following = pieces[i + 1] if i + 1 < len(pieces) else None
        blanks = "" if following and _is_text(following) else f"{_BLANK}*+"
        if is_field:
            fields.append(piece)
            parts.append(f"{_BLANK}*+({_field(piece, bare, following, what)}){blanks}")
        elif _is_text((piece, is_field, bare)):
            parts.append(_skip_pattern(len(piece), i == 0 or pieces[i - 1][1]))
        else:
            parts.append(_SEPARATOR)
    # What stands behind the end of the text is not asked for.
    whole = "".join(f"(?:(?!.)|{part}" for part in parts) + ")" * len(parts)
    first = "" if pieces and _is_text(pieces[0]) else f"{_BLANK}*+"
    return _Pattern(f"(?is)^{first}{whole}", tuple(fields))


def _name(piece: str) -> str:
    return {"PM": "AM"}.get(piece.upper(), piece.upper())


def _is_text(piece: tuple[str, bool, bool]) -> bool:
    """Tell whether a piece stands for as many characters, and not for a separator."""
    return not piece[1] and (len(piece[0]) > 1 or piece[0].isalnum() or not piece[0].isascii())


def _field(name: str, bare: bool, following: tuple[str, bool, bool] | None, what: str) -> str:
    if name in _WORDS:
        return "|".join(_WORDS[name][1])
    if name not in _NUMBERS:
        raise NotSupported(
            "E0378",
            f"{what} does not read {name!r}",
            hint="fields: " + " ".join([*_NUMBERS, "Mon Month AM PM"]),
        )
    digits = following is not None and (
        following[0] not in _WORDS if following[1] else following[0][0].isdigit()
    )
    if bare or not digits:
        return _WHOLE
    size = _NUMBERS[name][1]
    return f"[0-9]{{{size}}}|[+-][0-9]{{{size - 1}}}"


def _skip_pattern(count: int, after_field: bool) -> str:
    """Return what passes characters; blanks that a field has behind it count as such."""
    if not after_field:
        return f".{{0,{count}}}+"
    some = [f"{_BLANK}{{{n}}}(?!{_BLANK}).{{0,{count - n}}}+" for n in range(count)]
    return f"(?>{_BLANK}{{{count},}}+|{'|'.join(some)})"


def _parse(text: str, pattern: str, what: str) -> datetime:
    compiled = _compile(pattern, what)
    match = re.match(compiled.regex, text)
    if match is None:
        raise RowError(RowErrorCode.INVALID_TEXT)
    read: dict[str, int] = {}
    reached = [(f, t) for f, t in zip(compiled.fields, match.groups(), strict=True) if t]
    for field, group in reached:
        part, value = _read_field(field, group)
        if read.get(part, value) not in (0, value):
            raise RowError(RowErrorCode.INVALID_TEXT)
        read[part] = value
    hour = read.get("hour", 0)
    if _TWELVE & {field for field, _ in reached}:
        if not 1 <= hour <= 12:
            raise RowError(RowErrorCode.INVALID_TEXT)
        hour = hour % 12 + 12 * read.get("half", 0)
    micros = 1000 * read.get("milli", 0) + read.get("micro", 0)
    try:
        year, month, day = (read.get(part, 0) for part in ("year", "month", "day"))
        minute, second = read.get("minute", 0), read.get("second", 0)
        return datetime(year, month or 1, day or 1, hour, minute, second, micros)
    except (ValueError, OverflowError):
        raise RowError(RowErrorCode.INVALID_TEXT) from None


def _read_field(field: str, text: str) -> tuple[str, int]:
    if field in _WORDS:
        part, words = _WORDS[field]
        return part, words.index(text.lower()) + (part == "month")
    part, size = _NUMBERS[field]
    digits = text.ljust(size, "0") if field in ("MS", "US") else text
    # Python reads no number of thousands of digits, not even zeros.
    amount = int(digits.lstrip("+-0") or 0)
    return part, -amount if text.startswith("-") else amount


def _print(o: Operands, what: str) -> str:
    compiled = _compile(str(o[1].constant), what)
    regex = quote(compiled.regex)
    groups = [f"regexp_extract({o[0]}, {regex}, {i + 1})" for i in range(len(compiled.fields))]
    read: dict[str, list[str]] = {}
    for field, group in zip(compiled.fields, groups, strict=True):
        part, value = _print_field(field, group)
        read.setdefault(part, []).append(value)

    def number(part: str) -> str:
        return f"coalesce({', '.join([*reversed(read.get(part, [])), '0'])})"

    hour = number("hour")
    twelve = [g for f, g in zip(compiled.fields, groups, strict=True) if f in _TWELVE]
    fits = list(_print_fits(read))
    if twelve:
        known = f"concat({', '.join(twelve)}) <> ''"
        fits.append(f"({hour} BETWEEN 1 AND 12 OR NOT {known})")
        hour = f"CASE WHEN {known} THEN {hour} % 12 + 12 * {number('half')} ELSE {hour} END"
    micros = f"(1000 * CAST({number('milli')} AS BIGINT) + {number('micro')})"
    fits.append(f"{micros} BETWEEN 0 AND 999999 AND {number('year')} BETWEEN 1 AND 9999")
    fits += [f"{number(part)} BETWEEN 0 AND 59" for part in ("minute", "second") if part in read]
    fits.append(f"{hour} BETWEEN 0 AND 23")
    dated = [f"coalesce(nullif({number(part)}, 0), 1)" for part in ("month", "day")]
    values = ", ".join([number("year"), *dated, hour, number("minute"), number("second"), micros])
    text = f"format_string('%04d-%02d-%02d %02d:%02d:%02d.%06d', {values})"
    zone = "DATE" if what == "to_date" else "TIMESTAMP_LTZ"
    whole = f"CAST(try_cast({text} AS TIMESTAMP_NTZ) AS {zone})"
    condition = " AND ".join(fits)
    return f"CASE WHEN {o[0]} RLIKE {regex} THEN CASE WHEN {condition} THEN {whole} END END"


def _print_field(field: str, group: str) -> tuple[str, str]:
    """Return what a field is of, and its value: NULL from where the text ends."""
    if field in _WORDS:
        part, words = _WORDS[field]
        known = f"array({', '.join(map(quote, words))})"
        place = f"CAST(array_position({known}, lower({group})) AS INT)"
        return part, f"nullif({place}, 0)" if part == "month" else f"nullif({place}, 0) - 1"
    part, size = _NUMBERS[field]
    if field in ("MS", "US"):
        group = f"rpad({group}, greatest({size}, length({group})), '0')"
        return part, f"try_cast(nullif({group}, repeat('0', {size})) AS INT)"
    return part, f"try_cast(nullif({group}, '') AS INT)"


def _print_fits(read: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield that fields of one part say the same, as far as the text goes."""
    for values in read.values():
        yield from (f"coalesce({a} IN (0, {b}), true)" for a, b in pairwise(values))


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
            constant=frozenset({1}), error=_TEXT, version=2,
        ),
        Function(
            "to_timestamp", params, TIMESTAMPTZ, lambda o: _print(o, "to_timestamp"),
            _to_timestamp, constant=frozenset({1}), error=_TEXT, version=2,
        ),
    ]  # fmt: skip
