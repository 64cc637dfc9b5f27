"""Whole numbers that a person wrote, of any length."""

from __future__ import annotations

_ENOUGH = 20


def whole(text: str) -> int:
    """Return a whole number; of one beyond 64 bits its first digits, which are beyond them, too.

    Python reads no number of thousands of digits.

    >>> whole("-007"), whole("9" * 5000) > 1 << 63
    (-7, True)
    """
    digits = text.strip().lstrip("+-").lstrip("0")[:_ENOUGH]
    value = int(digits or 0)
    return -value if text.lstrip().startswith("-") else value
