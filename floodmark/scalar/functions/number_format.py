"""`to_char` for numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from floodmark.scalar.functions.arithmetic import EXACT, decimal_name
from floodmark.scalar.functions.model import Function, Operands
from floodmark.scalar.functions.number_template import Template, template_of
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.types import VARCHAR, Kind, numeric

_END = "\0"
"""Stands for a digit that a number does not have: the text ends with it."""
_KNOWN = {Kind.REAL: 6, Kind.DOUBLE: 15}
"""How many digits of an inexact number are printed."""


@dataclass(frozen=True, slots=True)
class _Number:
    """The digits of a number that fits a template, `scale` of them behind a point."""

    text: str
    negative: bool
    scale: int

    def fit(self, template: Template) -> _Number:
        """Return the number, or one of `#` where it has too many digits."""
        if len(self.text.partition(".")[0]) <= template.whole:
            return self
        text = "#" * template.whole + "." + "#" * self.scale
        return _Number(text, self.negative, self.scale)


def _exact(value: Decimal | int, template: Template) -> _Number:
    rounded = Decimal(value).quantize(Decimal(1).scaleb(-template.scale), ROUND_HALF_UP, EXACT)
    return _Number(f"{abs(rounded):f}", rounded < 0, template.scale)


def _inexact(value: float, template: Template, known: int) -> _Number:
    negative, size = math.copysign(1, value) < 0, abs(value)
    if not math.isfinite(value):
        word = "NaN" if math.isnan(value) else "Infinity"
        negative = negative and word != "NaN"
        return _Number(word, negative, max(0, min(template.scale, known - len(word))))
    scale = max(0, min(template.scale, known - len(f"{size:.0f}")))
    return _Number(f"{size:.{scale}f}", negative, scale)


def _lay_out(number: _Number, template: Template) -> str:
    """Return a number as the pieces of a template print it, in their order."""
    fitted = number.fit(template)
    text, sign, out, digits = fitted.text, "-" if fitted.negative else "+", "", False
    padding = template.whole - len(text.partition(".")[0])
    last = _last(text, padding, template)
    hidden = template.zeros is None and text[0] == "0" and fitted.scale > 0
    at = padding + (hidden and (last is None or text[last] != "."))
    if template.zeros is not None:
        at = min(padding, template.zeros)
    end, k = template.whole + fitted.scale + template.point - 1, 0
    for mark in template.marks:
        if mark in ("9", "0", "."):
            out += _sign_prefix(sign, template) if k == at else ""
            piece = _digit(k - padding, text, last, mark, hidden, template)
            if k < padding:
                zero = template.zeros is not None and k >= template.zeros
                piece = "0" if zero else "" if template.bare else " "
            out, digits = out + piece, piece not in ("", " ", ".")
            out += _sign_suffix(sign, template) if k == end else ""
            k += 1
        elif mark == ",":
            out += "," if digits else "" if template.bare else " "
        elif mark in ("MI", "SG"):
            out += _apart(sign, mark, template)
    return out.partition(_END)[0]


def _last(text: str, padding: int, template: Template) -> int | None:
    """Return the place in the text behind which FM leaves zeros out."""
    if not template.bare or not template.point or "." not in text:
        return None
    last = len(text.rstrip("0")) - 1
    if template.digits_to_last_zero > padding:
        last = max(last, min(len(text) - 1, template.digits_to_last_zero - padding))
    return last


def _digit(i: int, text: str, last: int | None, mark: str, hidden: bool, template: Template) -> str:
    if i < 0 or i >= len(text):
        return _END if last is None or i <= last or mark == "0" else ""
    if text[i] == ".":
        return "."
    if last is not None and i > last and mark != "0":
        return ""
    if i == 0 and hidden:
        alone = last is not None and text[last] == "."
        return " " if not template.bare else "0" if alone else ""
    return text[i]


def _sign_prefix(sign: str, template: Template) -> str:
    if template.apart or template.has_trailing_sign:
        return ""
    if "S" in template.marks:
        return sign
    if sign == "+":
        return "" if template.bare else " "
    return "<" if "PR" in template.marks else "-"


def _sign_suffix(sign: str, template: Template) -> str:
    if template.has_trailing_sign:
        return sign
    if "PR" not in template.marks:
        return ""
    return ">" if sign == "-" else "" if template.bare else " "


def _apart(sign: str, mark: str, template: Template) -> str:
    if sign == "-" or mark == "SG":
        return sign
    return "" if template.bare else " "


def _print_exact(o: Operands, template: Template) -> str:
    """Return a struct of the digits `t`, whether there is a minus `n`, and the scale `c`."""
    name = decimal_name(numeric(38, template.scale))
    rounded = f"try_cast(round({o[0]}, {template.scale}) AS {name})"
    text = f"CAST(abs({rounded}) AS STRING)"
    # One that does not fit has more digits than any template.
    text = f"coalesce({text}, repeat('#', 39))"
    return f"named_struct('t', {text}, 'n', coalesce({rounded}, {o[0]}) < 0, 'c', {template.scale})"


def _print_inexact(o: Operands, template: Template) -> str:
    """Return the same of REAL or DOUBLE: a tie of digits goes by what is behind them."""
    known = _KNOWN[o[0].type.kind]
    value = f"CAST({o[0]} AS DOUBLE)"
    scale = f"greatest(0, least({template.scale}, {known} - length({_print_whole('rint(v.a)')})))"
    ten = f"element_at(array({', '.join(f'1e{n}D' for n in range(known))}), s.c + 1)"
    high = "(134217729D * {0} - (134217729D * {0} - {0}))"
    product = f"named_struct('a', s.a, 'c', s.c, 'f', {ten}, 'p', s.a * {ten}, 'h', {high.format('s.a')}, 'g', {high.format(ten)})"  # noqa: E501
    # What the product has lost.
    rest = "((p.h * p.g - p.p) + p.h * (p.f - p.g) + (p.a - p.h) * p.g + (p.a - p.h) * (p.f - p.g))"
    tie = f"CASE WHEN {rest} > 0 THEN ceil(p.p) WHEN {rest} < 0 THEN floor(p.p) ELSE rint(p.p) END"
    digits = f"CAST(CASE WHEN abs(p.p - rint(p.p)) = 0.5D THEN {tie} ELSE rint(p.p) END AS BIGINT)"
    padded = "lpad(d, greatest(length(d), p.c + 1), '0')"
    pointed = f"concat(left({padded}, length({padded}) - p.c), '.', right({padded}, p.c))"
    text = f"transform(array(CAST({digits} AS STRING)), d -> {pointed})[0]"
    text = f"CASE WHEN p.c = 0 THEN {_print_whole('rint(p.a)')} ELSE {text} END"
    finite = (
        f"transform(transform(array(named_struct('a', v.a, 'c', {scale})), s -> {product}), "
        f"p -> named_struct('t', {text}, 'n', v.n, 'c', p.c))[0]"
    )
    word = "CASE WHEN isnan(v.a) THEN 'NaN' ELSE 'Infinity' END"
    long = f"greatest(0, least({template.scale}, {known} - length({word})))"
    other = f"named_struct('t', {word}, 'n', v.n, 'c', {long})"
    kept = f"CASE WHEN v.a < CAST('Infinity' AS DOUBLE) THEN {finite} ELSE {other} END"
    given = f"named_struct('a', abs({value}), 'n', CAST({value} AS STRING) LIKE '-%')"
    return f"transform(array({given}), v -> {kept})[0]"


def _print_whole(value: str) -> str:
    """Return the digits of a whole double of no sign; those of one that fits nowhere are 39."""
    high = f"CAST({value} / 18446744073709551616D AS BIGINT)"
    low = f"CAST(({value} - CAST({high} AS DOUBLE) * 18446744073709551616D) / 2048D AS BIGINT)"
    high, low = (f"CAST({part} AS DECIMAL(19,0))" for part in (high, low))
    long = f"{high} * 18446744073709551616 + {low} * 2048"
    return (
        f"CASE WHEN {value} < 9223372036854775808D THEN CAST(CAST({value} AS BIGINT) AS STRING) "
        f"WHEN {value} <= 1e38D THEN CAST({long} AS STRING) ELSE repeat('#', 39) END"
    )


def _print(o: Operands) -> str:
    template = template_of(str(o[1].constant))
    number = _print_inexact if o[0].type.kind in _KNOWN else _print_exact
    whole = "length(substring_index(n.t, '.', 1))"
    hashes = f"concat(repeat('#', {template.whole}), '.', repeat('#', n.c))"
    text = f"CASE WHEN {whole} > {template.whole} THEN {hashes} ELSE n.t END"
    padding = f"greatest(0, {template.whole} - {whole})"
    first = f"named_struct('t', {text}, 'n', n.n, 'c', n.c, 'p', {padding})"
    last = _print_last(template)
    second = f"named_struct('t', m.t, 'n', m.n, 'c', m.c, 'p', m.p, 'l', {last}, 'h', {_hidden(template)})"  # noqa: E501
    out = f"substring_index(concat({', '.join(_print_pieces(template))}), {quote(_END)}, 1)"
    chain = f"transform(array({number(o, template)}), n -> {first})"
    chain = f"transform(transform({chain}, m -> {second}), x -> {out})[0]"
    return f"CASE WHEN {o[0]} IS NOT NULL THEN {chain if template.marks else quote('')} END"


def _hidden(template: Template) -> str:
    """Return whether the zero before the point is left out."""
    return "left(m.t, 1) = '0' AND m.c > 0" if template.zeros is None else "false"


def _print_last(template: Template) -> str:
    if not template.bare or not template.point:
        return "CAST(NULL AS INT)"
    last = "length(trim(TRAILING '0' FROM m.t)) - 1"
    kept = f"least(length(m.t) - 1, {template.digits_to_last_zero} - m.p)"
    last = (
        f"greatest({last}, CASE WHEN {template.digits_to_last_zero} > m.p THEN {kept} ELSE 0 END)"
    )
    return f"CASE WHEN instr(m.t, '.') > 0 THEN {last} END"


def _print_pieces(template: Template) -> Iterator[str]:
    """Yield the texts of a template's pieces, of a struct `x`."""

    def print_sign(minus: str, plus: str) -> str:
        return f"CASE WHEN x.n THEN {quote(minus)} ELSE {quote(plus)} END"

    at = "x.p + CASE WHEN x.h AND NOT coalesce(substring(x.t, x.l + 1, 1) = '.', false) THEN 1 ELSE 0 END"  # noqa: E501
    if template.zeros is not None:
        at = f"least(x.p, {template.zeros})"
    front, behind = (
        print_sign(f("-", template), f("+", template)) for f in (_sign_prefix, _sign_suffix)
    )
    k, digits = 0, "false"
    yield "''"
    for mark in template.marks:
        if mark in ("9", "0", "."):
            piece = _print_digit(k, mark, template)
            yield f"CASE WHEN {at} = {k} THEN {front} ELSE '' END"
            yield piece
            yield f"CASE WHEN {template.whole + template.point - 1} + x.c = {k} THEN {behind} ELSE '' END"  # noqa: E501
            digits, k = f"{piece} NOT IN ('', ' ', '.')", k + 1
        elif mark == ",":
            yield f"CASE WHEN {digits} THEN ',' ELSE {quote('' if template.bare else ' ')} END"
        elif mark in ("MI", "SG"):
            yield print_sign(*(_apart(sign, mark, template) for sign in "-+"))


def _print_digit(k: int, mark: str, template: Template) -> str:
    padded = quote("" if template.bare else " ")
    if template.zeros is not None and k >= template.zeros:
        padded = "'0'"
    i = f"({k} - x.p)"
    digit = f"substring(x.t, {i} + 1, 1)"
    out = "false" if mark == "0" else f"coalesce({i} > x.l, false)"
    hidden = quote(" ")
    if template.bare:
        hidden = "CASE WHEN substring(x.t, x.l + 1, 1) = '.' THEN '0' ELSE '' END"
    return (
        f"CASE WHEN {k} < x.p THEN {padded} WHEN {digit} = '.' THEN '.' WHEN {out} THEN '' "
        f"WHEN {i} >= length(x.t) THEN {quote(_END)} WHEN {i} = 0 AND x.h THEN {hidden} "
        f"ELSE {digit} END"
    )


def number_formats() -> list[Function]:
    """Return `to_char` of numbers; the pattern is a literal."""

    def exact(value: Decimal | int, pattern: str) -> str:
        template = template_of(pattern)
        return _lay_out(_exact(value, template), template) if template.marks else ""

    def to_char(kind: Kind) -> Function:
        def inexact(value: float, pattern: str) -> str:
            template = template_of(pattern)
            number = _inexact(value, template, _KNOWN[kind])
            return _lay_out(number, template) if template.marks else ""

        python = inexact if kind in _KNOWN else exact
        return Function(
            "to_char", (kind, Kind.VARCHAR), VARCHAR, _print, python,
            constant=frozenset({1}), version=3,
        )  # fmt: skip

    return [to_char(kind) for kind in (Kind.NUMERIC, Kind.DOUBLE, Kind.REAL)]
