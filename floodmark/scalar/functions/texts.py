"""More functions on text: overlaying, characters by number, quoting, formatting."""

from __future__ import annotations

import re
from typing import Any

from floodmark.digits import whole
from floodmark.errors import BindError
from floodmark.scalar.functions.model import (
    Function,
    Operands,
    RowError,
    RowErrorCode,
    Var,
    null_means,
)
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.functions.string import LONGEST
from floodmark.scalar.types import INT, VARCHAR, Kind
from floodmark.sql.words import RESERVED

_S, _I = Kind.VARCHAR, Kind.INT
_ARGUMENT = null_means(RowErrorCode.INVALID_ARGUMENT)
_PLAIN_NAME = "^[a-z_][a-z0-9_$]*$"
_FIELD = re.compile(r"%(?:(\d+)\$)?(-)?(\d+)?([sIL%])|(%)|([^%]+)", re.DOTALL)


def _overlay(s: str, new: str, start: int, length: int | None = None) -> str:
    if start <= 0:
        raise RowError(RowErrorCode.INVALID_ARGUMENT)
    rest = start + (len(new) if length is None else length)
    return s[: start - 1] + new + s[max(0, rest - 1) :]


def _print_overlay(o: Operands) -> str:
    length = o[3].sql if len(o) == 4 else f"length({o[1]})"
    rest = f"CAST({o[2]} AS BIGINT) + {length}"
    rest = f"CAST(least(greatest({rest}, 1L), 2147483647L) AS INT)"
    text = f"concat(substring({o[0]}, 1, {o[2]} - 1), {o[1]}, substring({o[0]}, {rest}))"
    # greatest() leaves NULLs out.
    return f"CASE WHEN {o[2]} > 0 AND {length} IS NOT NULL THEN {text} END"


def _chr(code: int) -> str:
    if not 0 < code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise RowError(RowErrorCode.INVALID_ARGUMENT)
    return chr(code)


def quote_literal(text: str) -> str:
    """Return a text as an SQL literal."""
    prefix = "E" if "\\" in text else ""
    doubled = text.replace("'", "''").replace("\\", "\\\\")
    return f"{prefix}'{doubled}'"


def quote_ident(text: str) -> str:
    """Return a text as an SQL name, in quotes where it needs them."""
    if re.match(_PLAIN_NAME, text) and not text.endswith("\n") and text not in RESERVED:
        return text
    return '"' + text.replace('"', '""') + '"'


def _print_literal(value: str) -> str:
    doubled = rf"replace(replace({value}, '\'', '\'\''), '\\', '\\\\')"
    prefix = rf"CASE WHEN instr({value}, '\\') > 0 THEN 'E\'' ELSE '\'' END"
    return rf"concat({prefix}, {doubled}, '\'')"


def _print_ident(value: str) -> str:
    words = ", ".join(map(quote, sorted(RESERVED)))
    plain = f"{value} RLIKE '{_PLAIN_NAME}' AND NOT endswith({value}, '\\n') AND {value} NOT IN ({words})"  # noqa: E501
    return f"CASE WHEN {plain} THEN {value} ELSE concat('\"', replace({value}, '\"', '\"\"'), '\"') END"  # noqa: E501


def _pieces(template: str, count: int) -> list[tuple[str, str, int, bool, int]]:
    """Return (kind, text, argument, to the left, width) of each part of a format."""
    out, position = [], 0
    for number, left, width, kind, stray, text in _FIELD.findall(template):
        if stray:
            raise BindError(
                "E0288", f"the format {template!r} ends inside a field", hint="%s %I %L %%"
            )
        if kind == "%" or text:
            out.append(("", "%" if kind else text, 0, False, 0))
            continue
        if width and whole(width) > LONGEST:
            text, hint = f"the width {width} is out of range", f"at most {LONGEST}"
            raise BindError("E0288", text, hint=hint)
        position = whole(number) if number else position + 1
        if not 1 <= position <= count:
            raise BindError(
                "E0288",
                f"the format {template!r} has a field without an argument",
                hint=f"there are {count} arguments",
            )
        out.append((kind, "", position, bool(left), int(width or 0)))
    return out


def _format(template: str | None, *values: str | None) -> str | None:
    if template is None:
        return None
    out = []
    for kind, text, position, left, width in _pieces(template, len(values)):
        value = values[position - 1] if kind else text
        if kind == "I" and value is None:
            raise RowError(RowErrorCode.INVALID_ARGUMENT)
        if kind == "L":
            value = "NULL" if value is None else quote_literal(value)
        elif kind == "I":
            value = quote_ident(str(value))
        value = value or ""
        out.append(value.ljust(width) if left else value.rjust(width))
    return "".join(out)


def _print_format(o: Operands) -> str:
    if o[0].constant is None:
        return "CAST(NULL AS STRING)"
    texts = []
    for kind, text, position, left, width in _pieces(o[0].constant, len(o) - 1):
        value = quote(text)
        if kind:
            argument = o[position].sql
            value = {
                "s": f"coalesce({argument}, '')",
                "L": f"coalesce({_print_literal(argument)}, 'NULL')",
                "I": _print_ident(argument),
            }[kind]
        if width:
            pad = "rpad" if left else "lpad"
            value = f"{pad}({value}, greatest({width}, length({value})), ' ')"
        texts.append(value)
    return f"concat({', '.join(texts)})" if texts else "''"


def _format_error(o: Operands, _: str) -> str | None:
    if o[0].constant is None:
        return None
    pieces = _pieces(o[0].constant, len(o) - 1)
    names = [o[position] for kind, _, position, _, _ in pieces if kind == "I"]
    tests = [f"{n} IS NULL" for n in names if not n.is_constant or n.constant is None]
    code = int(RowErrorCode.INVALID_ARGUMENT)
    return f"CASE WHEN {' OR '.join(tests)} THEN {code} END" if tests else None


def texts() -> list[Function]:
    """Return the family; the template of `format` is a literal."""
    template: dict[str, Any] = {
        "result": VARCHAR, "spark": _print_format, "python": _format, "strict": False,
        "constant": frozenset({0}), "error": _format_error, "version": 2,
    }  # fmt: skip
    code = "CASE WHEN {0} BETWEEN 1 AND 1114111 AND NOT {0} BETWEEN 55296 AND 57343 THEN decode(unhex(lpad(hex({0}), 8, '0')), 'UTF-32') END"  # noqa: E501
    return [
        *(
            Function(
                "overlay", params, VARCHAR, _print_overlay, _overlay, error=_ARGUMENT
            )
            for params in ((_S, _S, _I), (_S, _S, _I, _I))
        ),
        Function("chr", (_I,), VARCHAR, code, _chr, error=_ARGUMENT),
        Function("bit_length", (_S,), INT, "bit_length({0})", lambda s: 8 * len(s.encode())),
        Function(
            "quote_literal", (Var.TEXT,), VARCHAR, lambda o: _print_literal(o[0].sql),
            quote_literal,
        ),
        Function(
            "quote_nullable", (Var.TEXT,), VARCHAR,
            lambda o: f"coalesce({_print_literal(o[0].sql)}, 'NULL')",
            lambda s: "NULL" if s is None else quote_literal(s), strict=False,
        ),
        Function(
            "quote_ident", (_S,), VARCHAR, lambda o: _print_ident(o[0].sql), quote_ident
        ),
        Function("format", (_S,), **template),
        Function("format", (_S, Var.OUTPUT), variadic=True, **template),
    ]  # fmt: skip
