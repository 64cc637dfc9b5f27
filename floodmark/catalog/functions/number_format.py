"""`to_char` and `to_number` for numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from floodmark.catalog.functions.arithmetic import EXACT, decimal_name, fit_decimal
from floodmark.catalog.functions.model import (
    Function,
    Operands,
    RowError,
    RowErrorCode,
    null_means,
)
from floodmark.catalog.functions.quoting import quote
from floodmark.catalog.types import VARCHAR, Kind, SqlType, numeric
from floodmark.errors import NotSupported

_PIECES = re.compile("FM|MI|PR|SG|[90.,DGS]", re.IGNORECASE)
_RANGE = null_means(RowErrorCode.NUMBER_OUT_OF_RANGE)
_TEXT = null_means(RowErrorCode.INVALID_TEXT)


@dataclass(frozen=True, slots=True)
class _Template:
    """`before` and `after` are the places around the point: `9`, `0` and, before it, `,`.

    `sign` is where the sign goes: `""` right before the number if negative, `S` there always,
    `>S` behind it, `MI` in a place of its own in front, `>MI` behind, `PR` in angle brackets.
    """

    before: str
    after: str
    point: bool
    bare: bool
    sign: str

    @property
    def digits(self) -> int:
        """Return the number of digits before the point."""
        return len(self.before.replace(",", ""))

    @property
    def first_zero(self) -> int:
        """Return the place from which zeros are printed."""
        at = self.before.replace(",", "").find("0")
        return self.digits if at < 0 else at

    @property
    def kept(self) -> int:
        """Return how many digits after the point FM leaves in any case."""
        return self.after.rfind("0") + 1


def _template(pattern: str) -> _Template:
    before, after, point, bare, sign = "", "", False, False, ""
    rest = _PIECES.sub("", pattern)
    if rest:
        raise NotSupported(
            "E0378",
            f"to_char does not know {rest!r} in the pattern of a number",
            hint="9 0 . , D G S MI SG PR FM",
        )
    for piece in (p.upper() for p in _PIECES.findall(pattern)):
        match piece:
            case "FM":
                bare = True
            case "." | "D":
                point = True
            case "," | "G":
                before += "" if point else ","
            case "9" | "0" if point:
                after += piece
            case "9" | "0":
                before += piece
            case _:
                sign = piece if piece == "PR" or not before + after else ">" + piece
    if len(before.replace(",", "")) + len(after) > 38:
        raise NotSupported("E0378", "a number has at most 38 digits", hint="a shorter pattern")
    return _Template(before, after, point, bare, sign)


def _format(value: Decimal, pattern: str) -> str:
    template = _template(pattern)
    scale = len(template.after)
    rounded = abs(value).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, EXACT)
    whole, _, fraction = f"{rounded:f}".partition(".")
    blank = whole == "0" and scale > 0
    shown = min(template.digits, 0 if blank else len(whole))
    if len(whole) > template.digits and not blank:
        whole, fraction = "#" * template.digits, "#" * scale
    start = min(template.digits - shown, template.first_zero)
    body, place = "", 0
    for mark in template.before:
        if mark == ",":
            body += "," if place > start else " "
        else:
            body += (
                whole.zfill(template.digits)[-template.digits :][place] if place >= start else " "
            )
            place += 1
    if template.bare:
        kept, tail = fraction[: template.kept], fraction[template.kept :]
        fraction = kept + tail.rstrip("0")
    body += ("." if template.point else "") + fraction
    return _signed(body, value < 0 and rounded != 0, template)


def _signed(body: str, negative: bool, template: _Template) -> str:
    number = body.lstrip(" ")
    match template.sign:
        case "PR":
            text = f"<{number}>" if negative else f" {number} "
            return text.strip(" ") if template.bare else text.rjust(len(body) + 2)
        case ">S" | ">MI" | ">SG":
            plus = "+" if template.sign != ">MI" else "" if template.bare else " "
            return (number if template.bare else body) + ("-" if negative else plus)
        case "MI" | "SG":
            plus = "+" if template.sign == "SG" else "" if template.bare else " "
            return ("-" if negative else plus) + (number if template.bare else body)
        case _:
            plus = "+" if template.sign == "S" else "" if template.bare else " "
            text = ("-" if negative else plus) + number
            return text if template.bare else text.rjust(len(body) + 1)


def _print(o: Operands) -> str:
    template = _template(str(o[1].constant))
    scale, n = len(template.after), template.digits
    name = decimal_name(numeric(38, scale))
    rounded = f"try_cast(round(abs({o[0]}), {scale}) AS {name})"
    if o[0].type.kind is Kind.DOUBLE:
        rounded = f"try_cast(abs({o[0]}) AS {name})"
    parts = (
        f"named_struct('i', substring_index(CAST({rounded} AS STRING), '.', 1), "
        f"'f', right(CAST({rounded} AS STRING), {scale}), "
        f"'n', {o[0]} < 0 AND {rounded} <> 0)"
    )
    body = f"named_struct('b', {_print_body(template, n, scale)}, 'n', p.n)"
    signed = _print_signed(template)
    chain = f"transform(transform(array({parts}), p -> {body}), s -> {signed})[0]"
    return f"CASE WHEN {rounded} IS NOT NULL THEN {chain} END"


def _print_body(template: _Template, n: int, scale: int) -> str:
    blank = f"(p.i = '0' AND {scale} > 0)"
    over = f"(length(p.i) > {n} AND NOT {blank})"
    shown = f"least({n}, CASE WHEN {blank} THEN 0 ELSE length(p.i) END)"
    start = f"least({n} - {shown}, {template.first_zero})"
    digits = (
        f"CASE WHEN {over} THEN repeat('#', {n}) ELSE right(lpad(p.i, {max(n, 1)}, '0'), {n}) END"
    )
    pieces, place = [], 0
    for mark in template.before:
        if mark == ",":
            pieces.append(f"CASE WHEN {place} > {start} THEN ',' ELSE ' ' END")
        else:
            place += 1
            pieces.append(
                f"CASE WHEN {place} > {start} THEN substring({digits}, {place}, 1) ELSE ' ' END"
            )
    pieces += ["'.'"] if template.point else []
    if scale:
        fraction = f"CASE WHEN {over} THEN repeat('#', {scale}) ELSE p.f END"
        if template.bare:
            kept = f"left({fraction}, {template.kept})"
            tail = f"regexp_replace(substring({fraction}, {template.kept + 1}), '0+$', '')"
            fraction = f"concat({kept}, {tail})"
        pieces.append(fraction)
    return f"concat({', '.join(pieces)})" if pieces else "''"


def _print_signed(template: _Template) -> str:
    body = "ltrim(s.b)" if template.bare else "s.b"
    match template.sign:
        case "PR":
            if template.bare:
                return "CASE WHEN s.n THEN concat('<', ltrim(s.b), '>') ELSE ltrim(s.b) END"
            text = "CASE WHEN s.n THEN concat('<', ltrim(s.b), '>') ELSE concat(' ', ltrim(s.b), ' ') END"  # noqa: E501
            return f"lpad({text}, length(s.b) + 2, ' ')"
        case ">S" | ">MI" | ">SG":
            plus = "+" if template.sign != ">MI" else "" if template.bare else " "
            return f"concat({body}, CASE WHEN s.n THEN '-' ELSE {quote(plus)} END)"
        case "MI" | "SG":
            plus = "+" if template.sign == "SG" else "" if template.bare else " "
            return f"concat(CASE WHEN s.n THEN '-' ELSE {quote(plus)} END, {body})"
        case _:
            plus = "+" if template.sign == "S" else "" if template.bare else " "
            text = f"concat(CASE WHEN s.n THEN '-' ELSE {quote(plus)} END, ltrim(s.b))"
            return text if template.bare else f"lpad({text}, length(s.b) + 1, ' ')"


def _number_type(o: Operands) -> SqlType:
    return numeric(38, len(_template(str(o[1].constant)).after))


def _to_number(types: tuple[SqlType, ...], result: SqlType, text: str, pattern: str) -> Decimal:
    template = _template(pattern)
    whole, _, fraction = re.sub("[^0-9.]", "", text).partition(".")
    whole, fraction = whole[: template.digits], fraction.replace(".", "")[: len(template.after)]
    if not whole + fraction:
        raise RowError(RowErrorCode.INVALID_TEXT)
    size = Decimal(f"{whole or 0}.{fraction or 0}")
    return fit_decimal(EXACT.minus(size) if re.search("[-<]", text) else size, result)


def _print_number(o: Operands) -> str:
    template = _template(str(o[1].constant))
    plain = f"regexp_replace({o[0]}, '[^0-9.]', '')"
    whole = f"left(substring_index({plain}, '.', 1), {template.digits})"
    rest = f"replace(substring({plain}, length(substring_index({plain}, '.', 1)) + 2), '.', '')"
    fraction = f"left({rest}, {len(template.after)})"
    sign = f"CASE WHEN {o[0]} RLIKE '[-<]' THEN '-' ELSE '' END"
    name = decimal_name(_number_type(o))
    text = f"concat({sign}, '0', {whole}, '.0')" if not template.after else (
        f"concat({sign}, '0', {whole}, '.', {fraction}, '0')"
    )  # fmt: skip
    return f"CASE WHEN concat({whole}, {fraction}) <> '' THEN try_cast({text} AS {name}) END"


def number_formats() -> list[Function]:
    """Return both functions; the pattern is a literal."""
    second = frozenset({1})

    def of_double(value: float, pattern: str) -> str:
        scale = len(_template(pattern).after)
        if not abs(value) < 1e38:
            raise RowError(RowErrorCode.NUMBER_OUT_OF_RANGE)
        return _format(fit_decimal(Decimal(repr(value)), numeric(38, scale)), pattern)

    def of_decimal(types: Any, _: SqlType, value: Decimal, pattern: str) -> str:
        scale = len(_template(pattern).after)
        return _format(fit_decimal(value, numeric(38, scale)), pattern)

    return [
        Function(
            "to_char", (Kind.NUMERIC, Kind.VARCHAR), VARCHAR, _print, of_decimal,
            typed=True, constant=second, error=_RANGE, version=2,
        ),
        Function(
            "to_char", (Kind.DOUBLE, Kind.VARCHAR), VARCHAR, _print, of_double,
            constant=second, error=_RANGE, version=2,
        ),
        Function(
            "to_number", (Kind.VARCHAR, Kind.VARCHAR), _number_type, _print_number, _to_number,
            typed=True, constant=second, error=_TEXT,
        ),
    ]  # fmt: skip
