"""Functions on text."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

from floodmark.scalar.functions.model import (
    Function,
    Operands,
    RowError,
    RowErrorCode,
    Var,
    null_means,
)
from floodmark.scalar.types import BOOLEAN, INT, VARCHAR, Kind, list_of

_S, _I = Kind.VARCHAR, Kind.INT
_ARGUMENT = null_means(RowErrorCode.INVALID_ARGUMENT)


def _substring(s: str, start: int, length: int | None = None) -> str:
    if length is not None and length < 0:
        raise RowError(RowErrorCode.INVALID_ARGUMENT)
    end = len(s) if length is None else max(0, start - 1 + length)
    return s[max(0, start - 1) : end]


def _print_substring(o: Operands) -> str:
    start, wide = o[1], "CAST({} AS BIGINT)"
    plain = start.is_constant and (start.constant or 0) >= 1
    first = start.sql if plain else f"greatest({start}, 1)"
    # greatest() leaves NULLs out.
    given = "" if plain else f" AND {start} IS NOT NULL"
    if len(o) == 2:
        text = f"substring({o[0]}, {first})"
        return text if plain else f"CASE WHEN {start} IS NOT NULL THEN {text} END"
    length = o[2]
    if plain and length.is_constant and (length.constant or 0) >= 0:
        return f"substring({o[0]}, {first}, {length})"
    rest = f"{wide.format(length)} + least({wide.format(start)} - 1, 0L)"
    text = f"substring({o[0]}, {first}, CAST(greatest(0L, {rest}) AS INT))"
    return f"CASE WHEN {length} >= 0{given} THEN {text} END"


def _substring_error(o: Operands, value: str) -> str | None:
    constant = o[2].constant if o[2].is_constant else None
    return None if isinstance(constant, int) and constant >= 0 else _ARGUMENT(o, value)


def _split_part(s: str, mark: str, n: int) -> str:
    if n == 0:
        raise RowError(RowErrorCode.INVALID_ARGUMENT)
    parts = s.split(mark) if mark else [s]
    index = n - 1 if n > 0 else len(parts) + n
    return parts[index] if 0 <= index < len(parts) else ""


def _pad(left: bool) -> Callable[..., str]:
    def python(s: str, n: int, fill: str = " ") -> str:
        if _check_length(n) <= len(s):
            return s[: max(0, n)]
        padding = (fill * _check_length(n))[: n - len(s)] if fill else ""
        return padding + s if left else s + padding

    return python


def _initcap(s: str) -> str:
    return re.sub(r"[^\W_]+", lambda m: m[0][0].upper() + m[0][1:].lower(), s)


# Spark's own capitalises after white space only.
_INITCAP = (
    "array_join(transform(regexp_extract_all({0}, '[\\\\p{{L}}\\\\p{{N}}]+|[^\\\\p{{L}}\\\\p{{N}}]+', 0), "  # noqa: E501
    "w -> concat(upper(substring(w, 1, 1)), lower(substring(w, 2)))), '')"
)
LONGEST = 10_000_000
"""How long a text `repeat`, `lpad` and `rpad` make; a row that asks for more is refused."""


def _too_long(o: Operands, value: str) -> str | None:
    return None if o[1].is_constant and (o[1].constant or 0) <= LONGEST else _ARGUMENT(o, value)


def _check_length(count: int) -> int:
    if count > LONGEST:
        raise RowError(RowErrorCode.INVALID_ARGUMENT)
    return max(0, count)


def _replace(s: str, old: str, new: str) -> str:
    return s.replace(old, new) if old else s


def _translate(s: str, old: str, new: str) -> str:
    table: dict[int, str | None] = {}
    for i, c in enumerate(old):
        table.setdefault(ord(c), new[i] if i < len(new) else None)
    return s.translate(table)


def _simple() -> list[Function]:
    def text(name: str, count: int, spark: str, python: Callable[..., str]) -> Function:
        return Function(name, (_S,) * count, VARCHAR, spark, python)

    return [
        text("lower", 1, "lower({0})", str.lower),
        text("upper", 1, "upper({0})", str.upper),
        text("initcap", 1, _INITCAP, _initcap),
        text("reverse", 1, "reverse({0})", lambda s: s[::-1]),
        text(
            "md5",
            1,
            "md5({0})",
            lambda s: hashlib.md5(s.encode(), usedforsecurity=False).hexdigest(),
        ),
        text("replace", 3, "replace({0}, {1}, {2})", _replace),
        text("translate", 3, "translate({0}, {1}, {2})", _translate),
        *(
            text(n, 1, f"{f}({{0}})", p)
            for n, f, p in (
                ("trim", "trim", lambda s: s.strip(" ")),
                ("btrim", "trim", lambda s: s.strip(" ")),
                ("ltrim", "ltrim", lambda s: s.lstrip(" ")),
                ("rtrim", "rtrim", lambda s: s.rstrip(" ")),
            )
        ),
        *(
            text(n, 2, f"trim({w} {{1}} FROM {{0}})", p)
            for n, w, p in (
                ("trim", "BOTH", lambda s, c: s.strip(c) if c else s),
                ("btrim", "BOTH", lambda s, c: s.strip(c) if c else s),
                ("ltrim", "LEADING", lambda s, c: s.lstrip(c) if c else s),
                ("rtrim", "TRAILING", lambda s, c: s.rstrip(c) if c else s),
            )
        ),
        *(
            Function(n, (_S,), INT, "length({0})", len)
            for n in ("length", "char_length", "character_length")
        ),
        Function("octet_length", (_S,), INT, "octet_length({0})", lambda s: len(s.encode())),
        Function("ascii", (_S,), INT, "ascii({0})", lambda s: ord(s[0]) if s else 0),
        Function("starts_with", (_S, _S), BOOLEAN, "startswith({0}, {1})", str.startswith),
        *(
            Function(n, (_S, _S), INT, "instr({0}, {1})", lambda s, t: s.find(t) + 1)
            for n in ("strpos", "position")
        ),
    ]


def _pieces() -> list[Function]:
    return [
        *(
            Function(n, (_S, _I), VARCHAR, _print_substring, _substring)
            for n in ("substr", "substring")
        ),
        *(
            Function(n, (_S, _I, _I), VARCHAR, _print_substring, _substring, error=_substring_error)
            for n in ("substr", "substring")
        ),
        Function(
            "left",
            (_S, _I),
            VARCHAR,
            "substring({0}, 1, CASE WHEN {1} < 0 THEN greatest(length({0}) + {1}, 0) ELSE {1} END)",
            lambda s, n: s[:n] if n >= 0 else s[: max(0, len(s) + n)],
        ),
        Function(
            "right",
            (_S, _I),
            VARCHAR,
            "CASE WHEN {1} < 0 THEN substring({0}, 1 - {1}) ELSE right({0}, {1}) END",
            lambda s, n: s[-n:] if n < 0 else s[max(0, len(s) - n) :],
        ),
        Function(
            "split_part",
            (_S, _S, _I),
            VARCHAR,
            "split_part({0}, {1}, nullif({2}, 0))",
            _split_part,
            error=lambda o, v: None if o[2].is_constant and o[2].constant != 0 else _ARGUMENT(o, v),
        ),
        Function(
            "string_to_array",
            (_S, _S),
            list_of(VARCHAR),
            _print_split,
            _split,
            strict=False,
            version=2,
        ),
    ]


def _paddings() -> list[Function]:
    """Return the functions that make longer texts."""

    def repeat(s: str, n: int) -> str:
        return s * n if _check_length(len(s) * n) > 0 else ""

    def pad(name: str, given: tuple[Kind, ...], fill: str) -> Function:
        spark = f"CASE WHEN {{1}} <= {LONGEST} THEN {name}({{0}}, {{1}}, {fill}) END"
        return Function(name, given, VARCHAR, spark, _pad(name == "lpad"), error=_too_long)

    return [
        *(pad(n, (_S, _I), "' '") for n in ("lpad", "rpad")),
        *(pad(n, (_S, _I, _S), "{2}") for n in ("lpad", "rpad")),
        Function(
            "repeat",
            (_S, _I),
            VARCHAR,
            "CASE WHEN CAST({1} AS BIGINT) * length({0}) <= 10000000 "
            "THEN repeat({0}, least({1}, 10000000)) END",
            repeat,
            error=lambda o, v: (
                None if o[1].is_constant and (o[1].constant or 0) < 2 else _ARGUMENT(o, v)
            ),
            version=2,
        ),
    ]


def _print_split(o: Operands) -> str:
    return (
        f"CASE WHEN {o[0]} IS NULL THEN NULL WHEN {o[0]} = '' THEN array() "
        f"WHEN {o[1]} = '' THEN array({o[0]}) WHEN {o[1]} IS NULL THEN {_characters(o[0])} "
        f"ELSE split({o[0]}, concat('\\\\Q', {o[1]}, '\\\\E'), -1) END"
    )


def _characters(text: object) -> str:
    places = f"sequence(1, char_length({text}))"
    return f"transform({places}, p -> substring({text}, p, 1))"


def _split(text: str | None, mark: str | None) -> tuple[str, ...] | None:
    if not text:
        return None if text is None else ()
    if mark is None:
        return tuple(text)
    return tuple(text.split(mark)) if mark else (text,)


def _concatenations() -> list[Function]:
    return [
        Function("||", (_S, _S), VARCHAR, "concat({0}, {1})", str.__add__),
        Function("||", (_S, Var.TEXT), VARCHAR, "concat({0}, {1})", str.__add__),
        Function("||", (Var.TEXT, _S), VARCHAR, "concat({0}, {1})", str.__add__),
        Function(
            "concat",
            (Var.OUTPUT,),
            VARCHAR,
            lambda o: f"concat({', '.join(f'coalesce({x}, {chr(39) * 2})' for x in o)})",
            lambda *a: "".join(x for x in a if x is not None),
            variadic=True,
            strict=False,
            version=2,
        ),
        Function(
            "concat_ws",
            (_S, Var.OUTPUT),
            VARCHAR,
            lambda o: f"concat_ws({', '.join(x.sql for x in o)})",
            lambda d, *a: None if d is None else d.join(x for x in a if x is not None),
            variadic=True,
            strict=False,
            version=2,
        ),
    ]


def strings() -> list[Function]:
    """Return the text family; text is compared, cut and padded by code point."""
    return [*_simple(), *_pieces(), *_paddings(), *_concatenations()]
