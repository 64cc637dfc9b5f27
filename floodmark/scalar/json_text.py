"""JSON as it is at rest: no spaces, keys in order, numbers in one form.

Numbers without an exponent and of at most 38 digits are exact and lose zeros at their end; others
are doubles, written as Java writes them. Spark's variants do the same. A number that a double
cannot hold is refused: it would be infinite or 0.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any

_DIGITS = 38
PAIRS = r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
"""What a backslash begins that ends where it says: itself, or a pair of surrogates."""
NO_CHARACTER = r"\\u([dD][89a-fA-F][0-9a-fA-F]{2}|0000)"
"""Without those: half of a pair, or the character zero, which no text has."""

ENDLESS_OR_ZERO = "[iI]|^[^1-9eE]*([eE]|$)"
"""What infinity and 0 look like: a word, or a number that has zeros alone before its exponent."""


def parse_json(text: str) -> Any:
    """Return a JSON value: `Decimal` for exact fractions, `float` for doubles.

    Raises ValueError for what is no JSON or has what is no character, RecursionError for what is
    nested too deeply.
    """
    if "\\u" in text and re.search(NO_CHARACTER, re.sub(PAIRS, " ", text)):
        raise ValueError("no character")
    return json.loads(text, parse_float=_number, parse_int=_integer, parse_constant=_refuse)


def _number(text: str) -> Decimal | float:
    if "e" in text.lower():
        return _double(text)
    value = Decimal(text)
    if len(value.as_tuple().digits) > _DIGITS or _scale(value) > _DIGITS:
        return _double(text)
    return value


def _double(text: str) -> float:
    value = float(text)
    if is_lost(value, text):
        raise ValueError(text)
    return value


def is_lost(value: float, text: str) -> bool:
    """Tell whether a number became infinite or 0 that is not written so."""
    return (math.isinf(value) or not value) and re.search(ENDLESS_OR_ZERO, text) is None


def _scale(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return -exponent


def _integer(text: str) -> int | float:
    return int(text) if len(text.lstrip("-")) <= _DIGITS else _double(text)


def _refuse(name: str) -> None:
    raise ValueError(name)


def dump_json(value: Any) -> str:
    """Return the canonical text of a JSON value.

    >>> dump_json({"b": [1, Decimal("2.50"), 1e300], "a": None})
    '{"a":null,"b":[1,2.5,1.0E300]}'
    """
    match value:
        case dict():
            items = (f"{_string(k)}:{dump_json(value[k])}" for k in sorted(value))
            return f"{{{','.join(items)}}}"
        case list() | tuple():
            return f"[{','.join(map(dump_json, value))}]"
        case str():
            return _string(value)
        case Decimal():
            text = f"{value:f}"
            text = text.rstrip("0").rstrip(".") if "." in text else text
            return "0" if text in ("-0", "") else text
        case float():
            return java_double(value)
        case _:
            return json.dumps(value)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def java_double(value: float) -> str:
    """Return a finite double as Java writes it.

    >>> [java_double(v) for v in (1.0, 1e7, 0.00012, -0.0, 5e-324)]
    ['1.0', '1.0E7', '1.2E-4', '-0.0', '4.9E-324']
    """
    if not math.isfinite(value):
        raise ValueError(value)
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return f"{Decimal(repr(value)):f}" if "." in repr(value) else f"{value:.1f}"
    mantissa, _, power = f"{Decimal(repr(value)):e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    # Java writes two digits at least, the nearest ones.
    whole = mantissa if "." in mantissa else f"{value:.1e}".partition("e")[0]
    return f"{whole}E{int(power)}"
