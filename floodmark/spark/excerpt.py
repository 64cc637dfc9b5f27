"""What messages show of values: their beginning."""

from __future__ import annotations

_SHOWN = 60
"""Characters of a value that a message shows."""


def excerpt(text: str) -> str:
    """Return the Spark text of the beginning of a text.

    >>> excerpt("`v`")
    "CASE WHEN length(`v`) > 60 THEN concat(left(`v`, 60), '…') ELSE `v` END"
    """
    cut = f"concat(left({text}, {_SHOWN}), '…')"
    return f"CASE WHEN length({text}) > {_SHOWN} THEN {cut} ELSE {text} END"
