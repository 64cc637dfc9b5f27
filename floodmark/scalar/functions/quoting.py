"""Spark string literals."""

from __future__ import annotations


def quote(text: str) -> str:
    r"""Return a Spark string literal; backslashes, quotes and control characters are escaped.

    >>> print(quote("it's a \\ and\n"))
    'it\'s a \\ and\n'
    """
    out = []
    for c in text:
        if c in "\\'":
            out.append("\\" + c)
        elif c == "\n":
            out.append("\\n")
        elif ord(c) < 32 or ord(c) == 127:
            out.append(f"\\u{ord(c):04x}")
        else:
            out.append(c)
    return "'" + "".join(out) + "'"
