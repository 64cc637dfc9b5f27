"""JSON as it is at rest: no spaces, keys in order, numbers in one form.

Numbers without an exponent and of at most 38 digits are exact and lose zeros at their end; others
are doubles, written as Java writes them. Spark's variants do the same.
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
        return float(text)
    value = Decimal(text)
    if len(value.as_tuple().digits) > _DIGITS or _scale(value) > _DIGITS:
        return float(text)
    return value


def _scale(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return -exponent


def _integer(text: str) -> int | float:
    return int(text) if len(text.lstrip("-")) <= _DIGITS else float(text)


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

    >>> [java_double(v) for v in (1.0, 1e7, 0.00012, -0.0)]
    ['1.0', '1.0E7', '1.2E-4', '-0.0']
    """
    if not math.isfinite(value):
        raise ValueError(value)
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return f"{Decimal(repr(value)):f}" if "." in repr(value) else f"{value:.1f}"
    mantissa, _, power = f"{Decimal(repr(value)):e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    whole = mantissa if "." in mantissa else f"{mantissa}.0"
    return f"{whole}E{int(power)}"
