"""What messages show of values: their beginning."""

from __future__ import annotations

_SHOWN = 60
"""Characters of a value that a message shows."""


def shown(text: str) -> str:
    """Return the Spark text of the beginning of a text.

    >>> shown("`v`")
    "CASE WHEN length(`v`) > 60 THEN concat(left(`v`, 60), '…') ELSE `v` END"
    """
    return f"CASE WHEN length({text}) > {_SHOWN} THEN concat(left({text}, {_SHOWN}), '…') ELSE {text} END"  # noqa: E501
