"""`to_number`: a text is read along the pieces of a pattern."""

from __future__ import annotations

import re
from decimal import Decimal

from floodmark.scalar.functions.arithmetic import decimal_name, fit_decimal
from floodmark.scalar.functions.model import Function, Operands, RowError, RowErrorCode, null_means
from floodmark.scalar.functions.number_template import Template, template_of
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.types import Kind, SqlType, numeric

_DATA = "0123456789.,+-"
_CHARACTER = "(?s)^([\\xc2-\\xf4][\\x80-\\xbf]*|.)"
"""One character, of one byte or several."""
_NO_SIGN = " "
_READS = frozenset({"9", "0", ".", ",", "MI", "SG"})


def _to_number(
    types: tuple[SqlType, ...], result: SqlType, text: str, pattern: str
) -> Decimal | None:
    if not pattern:
        return None
    template = template_of(pattern)
    # One character a byte, as PostgreSQL goes on.
    rest, sign, digits = text.encode().decode("latin-1"), _NO_SIGN, ""
    for mark in template.marks:
        if not rest:
            break
        match mark:
            case "9" | "0" | ".":
                rest, sign, digits = _read_place(rest, sign, digits, mark, template)
            case ",":
                passed = not template.bare and rest[0] == ","
                rest = rest[passed:]
            case "MI" | "SG":
                if rest[0] == "-" or (rest[0] == "+" and mark == "SG"):
                    sign, rest = rest[0], rest[1:]
                elif rest[0] not in _DATA:
                    rest = re.sub(_CHARACTER, "", rest)
    digits = digits.removesuffix(".")
    if not digits or len(digits.partition(".")[0].lstrip("0")) > template.whole:
        raise RowError(RowErrorCode.INVALID_TEXT)
    return fit_decimal(Decimal(sign.strip() + digits), result)


def _read_place(
    rest: str, sign: str, digits: str, mark: str, template: Template
) -> tuple[str, str, str]:
    rest = rest.removeprefix(" ")
    if sign == _NO_SIGN and digits in ("", ".") and mark != ".":
        minus = "-<" if "PR" in template.marks else "-"
        if rest[:1] and rest[0] in minus + "+":
            sign, rest = "+" if rest[0] == "+" else "-", rest[1:]
    if not rest:
        return rest, sign, digits
    taken = ""
    if rest[0].isascii() and rest[0].isdigit():
        if "." in digits and len(digits) - digits.index(".") - 1 == template.scale:
            return rest[1:], sign, digits
        taken = rest[0]
    elif rest[0] == "." and template.point and "." not in digits:
        taken = "."
    digits += taken
    if sign == _NO_SIGN and digits not in ("", "."):
        if "S" in template.marks and taken:
            if rest[1:2] and rest[1] in "+-":
                sign, rest = rest[1], rest[1:]
        elif template.apart and not taken and rest[0] in "+-":
            sign = rest[0]
    return rest[1:], sign, digits


def _print(o: Operands) -> str:
    template = template_of(str(o[1].constant))
    marks = [m for m in template.marks if m in _READS]
    if not marks:
        return f"CAST(NULL AS {decimal_name(_type(o))})"
    start = f"named_struct('r', decode(CAST({o[0]} AS BINARY), 'ISO-8859-1'), 's', ' ', 'd', '')"
    steps = (
        f"CASE WHEN __a.r = '' THEN __a {_print_steps(template)} ELSE {_print_place(template)} END"
    )
    read = f"aggregate(array({', '.join(map(quote, marks))}), {start}, (__a, __m) -> {steps})"
    digits = "regexp_replace(n.d, '[.]$', '')"
    whole = "length(trim(LEADING '0' FROM substring_index(n.d, '.', 1)))"
    name = decimal_name(_type(o))
    number = f"try_cast(concat(trim(n.s), {digits}) AS {name})"
    sound = f"{digits} <> '' AND {whole} <= {template.whole}"
    return f"transform(array({read}), n -> CASE WHEN {sound} THEN {number} END)[0]"


def _state(rest: str, sign: str, digits: str) -> str:
    return f"named_struct('r', {rest}, 's', {sign}, 'd', {digits})"


def _print_steps(template: Template) -> str:
    """Return the cases of pieces that read no digit."""
    first, second = "left(__a.r, 1)", "substring(__a.r, 2)"
    comma = "false" if template.bare else f"{first} = ','"
    signed = f"{first} = '-' OR ({first} = '+' AND __m = 'SG')"
    behind = f"regexp_replace(__a.r, {quote(_CHARACTER)}, '')"
    passed = f"CASE WHEN instr('{_DATA}', {first}) = 0 THEN {behind} ELSE __a.r END"
    return (
        f"WHEN __m = ',' THEN "
        f"{_state(f'CASE WHEN {comma} THEN {second} ELSE __a.r END', '__a.s', '__a.d')} "
        f"WHEN __m IN ('MI', 'SG') AND ({signed}) THEN {_state(second, first, '__a.d')} "
        f"WHEN __m IN ('MI', 'SG') THEN {_state(passed, '__a.s', '__a.d')}"
    )


def _print_place(template: Template) -> str:
    """Return what a place of a digit or the point makes of the state."""
    minus = "'-', '<'" if "PR" in template.marks else "'-'"
    empty = "__b.d IN ('', '.')"
    ahead = f"__b.s = ' ' AND {empty} AND __m <> '.' AND left(__b.r, 1) IN ('+', {minus})"
    sign = "CASE WHEN left(__b.r, 1) = '+' THEN '+' ELSE '-' END"
    signed = f"CASE WHEN {ahead} THEN {_state('substring(__b.r, 2)', sign, '__b.d')} ELSE __b END"
    full = f"instr(__c.d, '.') > 0 AND length(__c.d) - instr(__c.d, '.') = {template.scale}"
    first = "left(__c.r, 1)"
    point = f"{first} = '.' AND instr(__c.d, '.') = 0" if template.point else "false"
    taken = (
        f"CASE WHEN {first} RLIKE '[0-9]' THEN CASE WHEN {full} THEN NULL ELSE {first} END "
        f"WHEN {point} THEN '.' ELSE '' END"
    )
    one = f"named_struct('r', __c.r, 's', __c.s, 'd', __c.d, 't', {taken})"
    rest = "substring(__e.r, 2)"
    digits = "concat(__e.d, __e.t)"
    unsigned = f"__e.s = ' ' AND {digits} NOT IN ('', '.')"
    done = _state(rest, "__e.s", digits)
    if "S" in template.marks:
        next_ = "substring(__e.r, 2, 1)"
        has_sign = f"{unsigned} AND __e.t <> '' AND {next_} IN ('+', '-')"
        behind = f"WHEN {has_sign} THEN {_state('substring(__e.r, 3)', next_, digits)}"
    elif template.apart:
        now = "left(__e.r, 1)"
        has_sign = f"{unsigned} AND __e.t = '' AND {now} IN ('+', '-')"
        behind = f"WHEN {has_sign} THEN {_state(rest, now, digits)}"
    else:
        behind = ""
    result = (
        f"CASE WHEN __e.t IS NULL THEN {_state(rest, '__e.s', '__e.d')} {behind} ELSE {done} END"
    )
    trimmed = _state("regexp_replace(__a.r, '^ ', '')", "__a.s", "__a.d")
    chain = f"transform(array({trimmed}), __b -> {signed})"
    return f"transform(transform({chain}, __c -> {one}), __e -> {result})[0]"


def _type(o: Operands) -> SqlType:
    return numeric(38, template_of(str(o[1].constant)).scale)


def _error(o: Operands, value: str) -> str | None:
    # Of an empty pattern NULL is the value.
    return null_means(RowErrorCode.INVALID_TEXT)(o, value) if o[1].constant else None


def number_parsing() -> list[Function]:
    """Return `to_number`; the pattern is a literal."""
    return [
        Function(
            "to_number", (Kind.VARCHAR, Kind.VARCHAR), _type, _print, _to_number,
            typed=True, constant=frozenset({1}), error=_error,
            version=2,
        )
    ]  # fmt: skip
