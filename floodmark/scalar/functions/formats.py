"""`to_char` for timestamps."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time
from itertools import groupby

from floodmark.errors import NotSupported
from floodmark.scalar.functions.model import Function, Operands
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.types import VARCHAR, Kind

FieldFormat = tuple[str, str, Callable[[datetime], str]]
"""PostgreSQL's pattern, Spark's text of a TIMESTAMP, Python's."""
_WEEKS = "CAST((dayofyear({0}) - 1) DIV 7 + 1 AS INT)"
_SECONDS = "CAST(hour({0}) * 3600 + minute({0}) * 60 + second({0}) AS STRING)"
_NUMBERS: tuple[FieldFormat, ...] = (
    (
        "Y,YYY",
        "concat(left(date_format({0}, 'yyyy'), 1), ',', right(date_format({0}, 'yyyy'), 3))",
        lambda t: f"{t.year // 1000},{t.year % 1000:03}",
    ),
    ("YYYY", "date_format({0}, 'yyyy')", lambda t: f"{t.year:04}"),
    ("YYY", "right(date_format({0}, 'yyyy'), 3)", lambda t: f"{t.year % 1000:03}"),
    ("YY", "date_format({0}, 'yy')", lambda t: f"{t.year % 100:02}"),
    ("Y", "right(date_format({0}, 'yyyy'), 1)", lambda t: str(t.year % 10)),
    ("IYYY", "lpad(extract(YEAROFWEEK FROM {0}), 4, '0')", lambda t: f"{t.isocalendar()[0]:04}"),
    ("CC", "format_string('%02d', (year({0}) + 99) DIV 100)", lambda t: f"{(t.year + 99) // 100:02}"),  # noqa: E501
    ("HH24", "date_format({0}, 'HH')", lambda t: f"{t.hour:02}"),
    ("HH12", "date_format({0}, 'hh')", lambda t: f"{(t.hour - 1) % 12 + 1:02}"),
    ("HH", "date_format({0}, 'hh')", lambda t: f"{(t.hour - 1) % 12 + 1:02}"),
    ("MI", "date_format({0}, 'mm')", lambda t: f"{t.minute:02}"),
    ("SSSS", _SECONDS, lambda t: str(t.hour * 3600 + t.minute * 60 + t.second)),
    ("SS", "date_format({0}, 'ss')", lambda t: f"{t.second:02}"),
    ("MS", "date_format({0}, 'SSS')", lambda t: f"{t.microsecond // 1000:03}"),
    ("US", "date_format({0}, 'SSSSSS')", lambda t: f"{t.microsecond:06}"),
    ("MM", "date_format({0}, 'MM')", lambda t: f"{t.month:02}"),
    ("DDD", "date_format({0}, 'DDD')", lambda t: f"{t.timetuple().tm_yday:03}"),
    ("DD", "date_format({0}, 'dd')", lambda t: f"{t.day:02}"),
    ("D", "CAST(dayofweek({0}) AS STRING)", lambda t: str(t.isoweekday() % 7 + 1)),
    ("ID", "CAST(weekday({0}) + 1 AS STRING)", lambda t: str(t.isoweekday())),
    ("IW", "format_string('%02d', weekofyear({0}))", lambda t: f"{t.isocalendar()[1]:02}"),
    ("WW", f"format_string('%02d', {_WEEKS})", lambda t: f"{(t.timetuple().tm_yday - 1) // 7 + 1:02}"),  # noqa: E501
    ("W", "CAST((day({0}) - 1) DIV 7 + 1 AS STRING)", lambda t: str((t.day - 1) // 7 + 1)),
    ("J", "CAST(unix_date(CAST({0} AS DATE)) + 2440588 AS STRING)", lambda t: str(t.toordinal() + 1721425)),  # noqa: E501
    ("Q", "CAST(quarter({0}) AS STRING)", lambda t: str((t.month + 2) // 3)),
)  # fmt: skip
_WORDS: tuple[FieldFormat, ...] = (
    ("Month", "rpad(date_format({0}, 'MMMM'), 9, ' ')", lambda t: f"{t:%B}".ljust(9)),
    ("Mon", "date_format({0}, 'MMM')", lambda t: f"{t:%b}"),
    ("Day", "rpad(date_format({0}, 'EEEE'), 9, ' ')", lambda t: f"{t:%A}".ljust(9)),
    ("Dy", "date_format({0}, 'E')", lambda t: f"{t:%a}"),
)
_HALVES: tuple[FieldFormat, ...] = tuple(
    (word, "date_format({0}, 'a')", lambda t: "AM" if t.hour < 12 else "PM")
    for word in ("AM", "PM")
)


def _lower(field: FieldFormat) -> FieldFormat:
    name, spark, python = field
    return name.lower(), f"lower({spark})", lambda t: python(t).lower()


def _upper(field: FieldFormat) -> FieldFormat:
    name, spark, python = field
    return name.upper(), f"upper({spark})", lambda t: python(t).upper()


def _fields() -> dict[str, FieldFormat]:
    """Return the fields by name; numbers go by both cases, words in the case they print."""
    numbers = [f for n, s, p in _NUMBERS for f in ((n, s, p), (n.lower(), s, p))]
    words = [f for w in _WORDS for f in (w, _upper(w), _lower(w))]
    halves = [f for h in _HALVES for f in (h, _lower(h))]
    return {f[0]: f for f in (*numbers, *words, *halves)}


_BY_NAME = _fields()
_TOKEN = re.compile(
    '"([^"]*)"|(FM)?('
    + "|".join(sorted(_BY_NAME, key=lambda name: -len(name)))
    + ")|([A-Za-z]+)|(.)",
    re.DOTALL,
)
Piece = tuple[str, bool, bool]
"""A text, whether it is a field, and whether that is printed without padding."""


def tokens(pattern: str, what: str = "to_char") -> list[Piece]:
    """Return the pieces of a pattern; E0378 for letters that are no field."""
    pieces: list[Piece] = []
    for quoted, bare, field, unknown, other in _TOKEN.findall(pattern):
        if unknown == "T":
            pieces.append((unknown, False, False))
        elif unknown:
            raise NotSupported(
                "E0378",
                f"{what} does not know {unknown!r}",
                hint="put text in double quotes; fields: " + " ".join(f[0] for f in _NUMBERS)
                + " Month Mon Day Dy AM PM, and FM before one",
            )  # fmt: skip
        else:
            pieces.append((field or quoted or other, bool(field), bool(bare)))
    return pieces


_ALONE = re.compile(r"date_format\(\{0\}, '([A-Za-z]+)'\)")


def _print(o: Operands) -> str:
    texts, found = [], tokens(str(o[1].constant))
    if not found:
        return "CAST(NULL AS STRING)"
    for at_once, run in groupby(found, _goes_with_others):
        pieces = list(run)
        if at_once and any(is_field for _, is_field, _ in pieces):
            texts.append(f"date_format({o[0]}, {quote(''.join(map(_pattern, pieces)))})")
        else:
            texts += [_text(piece, o[0].sql) for piece in pieces]
    if len(texts) == 1 and texts[0].startswith("date_format("):
        return texts[0]
    return f"CASE WHEN {o[0]} IS NOT NULL THEN concat({', '.join(texts)}) END"


def _goes_with_others(piece: Piece) -> bool:
    """Tell whether one call of Spark's can print the piece along with those beside it."""
    text, is_field, bare = piece
    return not is_field or (not bare and _ALONE.fullmatch(_BY_NAME[text][1]) is not None)


def _pattern(piece: Piece) -> str:
    """Return the piece as part of a pattern of Spark's."""
    text, is_field, _ = piece
    alone = _ALONE.fullmatch(_BY_NAME[text][1]) if is_field else None
    if alone is not None:
        return alone[1]
    return text if re.fullmatch(r"[-/.:, ]*", text) else "'" + text.replace("'", "''") + "'"


def _text(piece: Piece, moment: str) -> str:
    text, is_field, bare = piece
    found = _BY_NAME[text][1].format(moment) if is_field else quote(text)
    return f"regexp_replace(trim({found}), '^0+(?=[0-9])', '')" if bare else found


def _format(value: date, pattern: str) -> str | None:
    if not pattern:
        return None
    moment = value if isinstance(value, datetime) else datetime.combine(value, time())
    out = []
    for piece, is_field, bare in tokens(pattern):
        text = _BY_NAME[piece][2](moment) if is_field else piece
        out.append(re.sub("^0+(?=[0-9])", "", text.strip(" ")) if bare else text)
    return "".join(out)


def formats() -> list[Function]:
    """Return `to_char`; the pattern is a literal."""
    return [
        Function(
            "to_char",
            (kind, Kind.VARCHAR),
            VARCHAR,
            _print,
            _format,
            constant=frozenset({1}),
            version=3,
        )
        for kind in (Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.DATE)
    ]
