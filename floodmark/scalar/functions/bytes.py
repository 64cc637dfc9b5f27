"""Functions on BYTEA, digests, and numbers as digits of another base."""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections.abc import Callable
from typing import Any

from floodmark.errors import NotSupported
from floodmark.scalar.functions.model import Function, Operands, RowError, RowErrorCode, null_means
from floodmark.scalar.types import BIGINT, BYTEA, INT, VARCHAR, Kind

_B, _S, _I, _L = Kind.BYTEA, Kind.VARCHAR, Kind.INT, Kind.BIGINT
_ARGUMENT = null_means(RowErrorCode.INVALID_ARGUMENT)
_TEXT = null_means(RowErrorCode.INVALID_TEXT)
_LINE = 76
"""How many characters a line of base64 has."""
_BLANK = "[ \\t\\n\\r]"
_BASE64 = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"


def _format_of(o: Operands) -> str:
    word = str(o[1].constant).lower()
    if word not in ("hex", "base64"):
        raise NotSupported(
            "E0388", f"the format {o[1].constant!r} of bytes is not available", hint="hex, base64"
        )
    return word


def _print_encode(o: Operands) -> str:
    if _format_of(o) == "hex":
        return f"lower(hex({o[0]}))"
    plain = f"regexp_replace(base64({o[0]}), '[\\\\r\\\\n]', '')"
    return f"regexp_replace({plain}, '(.{{{_LINE}}})', '$1\\\\\\n')"


def _encode(value: bytes, form: str) -> str:
    if form.lower() == "hex":
        return value.hex()
    return re.sub(f"(.{{{_LINE}}})", "\\1\n", base64.b64encode(value).decode())


def _print_decode(o: Operands) -> str:
    blank = _BLANK.replace("\\", "\\\\")
    text = f"regexp_replace({o[0]}, '{blank}', '')"
    if _format_of(o) == "hex":
        # Blanks stand between bytes, not in them.
        rest = f"regexp_replace({o[0]}, '[0-9a-fA-F]{{2}}', '')"
        return f"CASE WHEN regexp_replace({rest}, '{blank}', '') = '' THEN unhex({text}) END"
    return f"CASE WHEN {text} RLIKE '{_BASE64}' THEN unbase64({text}) END"


def _decode(text: str, form: str) -> bytes:
    plain = re.sub(_BLANK, "", text)
    try:
        if form.lower() == "hex":
            if re.sub(_BLANK, "", re.sub("[0-9a-fA-F]{2}", "", text)):
                raise RowError(RowErrorCode.INVALID_TEXT)
            return bytes.fromhex(plain)
        if not re.match(_BASE64, plain):
            raise RowError(RowErrorCode.INVALID_TEXT)
        return base64.b64decode(plain, validate=True)
    except ValueError:
        raise RowError(RowErrorCode.INVALID_TEXT) from None


def _utf8_only(o: Operands) -> None:
    if str(o[1].constant).lower().replace("-", "") not in ("utf8", "unicode"):
        raise NotSupported(
            "E0389", f"the encoding {o[1].constant!r} is not available", hint="texts are in UTF8"
        )


def _print_text_of(o: Operands) -> str:
    _utf8_only(o)
    return f"try_validate_utf8(CAST({o[0]} AS STRING))"


def _print_bytes_of(o: Operands) -> str:
    _utf8_only(o)
    return f"CAST({o[0]} AS BINARY)"


def _text_of(value: bytes, _: str) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise RowError(RowErrorCode.INVALID_TEXT) from None


def _get_byte(value: bytes, at: int) -> int:
    if not 0 <= at < len(value):
        raise RowError(RowErrorCode.INVALID_ARGUMENT)
    return value[at]


def _slice(value: bytes, start: int, length: int | None = None) -> bytes:
    if length is not None and length < 0:
        raise RowError(RowErrorCode.INVALID_ARGUMENT)
    end = len(value) if length is None else max(0, start - 1 + length)
    return value[max(0, start - 1) : end]


def _print_slice(o: Operands) -> str:
    first = f"greatest({o[1]}, 1)"
    if len(o) == 2:
        return f"CASE WHEN {o[1]} IS NOT NULL THEN substring({o[0]}, {first}) END"
    rest = f"CAST({o[2]} AS BIGINT) + least(CAST({o[1]} AS BIGINT) - 1, 0L)"
    text = f"substring({o[0]}, {first}, CAST(greatest(0L, {rest}) AS INT))"
    return f"CASE WHEN {o[2]} >= 0 AND {o[1]} IS NOT NULL THEN {text} END"


def _digits(base: str, bits: int) -> Callable[[int], str]:
    return lambda n: format(n & ((1 << bits) - 1), base)


def _bases() -> list[Function]:
    out = []
    for name, base, spark in (
        ("to_hex", "x", "lower(hex({0}))"),
        ("to_bin", "b", "bin({0})"),
        ("to_oct", "o", "conv(hex({0}), 16, 8)"),
    ):
        low = "(CAST({0} AS BIGINT) & 4294967295L)"
        out.append(Function(name, (_I,), VARCHAR, spark.format(low), _digits(base, 32)))
        out.append(Function(name, (_L,), VARCHAR, spark, _digits(base, 64)))
    return out


def _digests() -> list[Function]:
    def digest(bits: int) -> Callable[[bytes], bytes]:
        return lambda b: hashlib.new(f"sha{bits}", b).digest()

    return [
        *(
            Function(f"sha{bits}", (_B,), BYTEA, f"unhex(sha2({{0}}, {bits}))", digest(bits))
            for bits in (224, 256, 384, 512)
        ),
        Function(
            "sha1", (_B,), BYTEA, "unhex(sha1({0}))",
            lambda b: hashlib.sha1(b, usedforsecurity=False).digest(),
        ),
        Function(
            "md5", (_B,), VARCHAR, "md5({0})",
            lambda b: hashlib.md5(b, usedforsecurity=False).hexdigest(),
        ),
        Function("crc32", (_B,), BIGINT, "crc32({0})", zlib.crc32),
    ]  # fmt: skip


def byte_strings() -> list[Function]:
    """Return the BYTEA family; the names of formats and encodings are literals."""
    second = frozenset({1})
    sliced: dict[str, Any] = {"spark": _print_slice, "python": _slice}
    byte = "CASE WHEN {1} >= 0 AND {1} < octet_length({0}) THEN CAST(conv(hex(substring({0}, {1} + 1, 1)), 16, 10) AS INT) END"  # noqa: E501
    return [
        Function("encode", (_B, _S), VARCHAR, _print_encode, _encode, constant=second),
        Function(
            "decode", (_S, _S), BYTEA, _print_decode, _decode, constant=second, error=_TEXT,
            version=2,
        ),
        Function(
            "convert_from", (_B, _S), VARCHAR, _print_text_of, _text_of,
            constant=second, error=_TEXT,
        ),
        Function(
            "convert_to", (_S, _S), BYTEA, _print_bytes_of, lambda s, _: s.encode(),
            constant=second,
        ),
        *(Function(n, (_B,), INT, "octet_length({0})", len) for n in ("length", "octet_length")),
        Function("bit_length", (_B,), INT, "bit_length({0})", lambda b: 8 * len(b)),
        Function("||", (_B, _B), BYTEA, "concat({0}, {1})", bytes.__add__),
        Function("get_byte", (_B, _I), INT, byte, _get_byte, error=_ARGUMENT),
        *(Function(n, (_B, _I), BYTEA, **sliced) for n in ("substr", "substring")),
        *(
            Function(n, (_B, _I, _I), BYTEA, **sliced, error=_ARGUMENT)
            for n in ("substr", "substring")
        ),
        *_bases(),
        *_digests(),
    ]  # fmt: skip
