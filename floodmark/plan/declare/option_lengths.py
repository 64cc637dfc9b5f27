"""Lengths of time in options and settings: at most 100 years, and no months."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

from floodmark.scalar.functions.model import RowError
from floodmark.scalar.interval_text import has_unit, parse_interval

LONGEST = timedelta(days=36_525)
"""How long a length is at most: 100 years."""


def length_of(text: str, wrong: Callable[[str], Exception], most: timedelta = LONGEST) -> timedelta:
    """Return the length that a text says, '7 days' or INTERVAL '7 days', at most `most`.

    Raises what `wrong` makes of the reason why it says none.
    """
    bare = _bare(text)
    try:
        months, days, micros = parse_interval(bare)
    except RowError:
        raise wrong(f"{bare!r} is not an interval") from None
    if months:
        raise wrong("months have no fixed length; count days")
    return fitting(timedelta(days=days, microseconds=micros), bare, wrong, most)


def counts_nothing(text: str) -> bool:
    """Tell whether a length is a number without a unit; as an interval that counts seconds.

    >>> [counts_nothing(text) for text in ("5", "INTERVAL '5'", "5 days")]
    [True, True, False]
    """
    return not has_unit(_bare(text))


def _bare(text: str) -> str:
    return re.sub(r"^interval\s*'(.*)'$", r"\1", text.strip(), flags=re.I)


def fitting(
    length: timedelta, text: str, wrong: Callable[[str], Exception], most: timedelta = LONGEST
) -> timedelta:
    """Return a length that an option can have."""
    if not timedelta() < length <= most:
        bound = "100 years" if most == LONGEST else f"{most.days} days"
        raise wrong(f"{text!r} is not between nothing and {bound}")
    return length
