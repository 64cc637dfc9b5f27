"""Regular expressions that Java and RE2, which Arrow has, understand alike.

They are of single characters, classes of them, which may be repeated, groups, alternatives and the
start of the text. What the two read in different ways is not translated: `.` and `$` (other ends of
lines), `\\s` and `\\b`, whatever looks around or back, and groups that are repeated (what a group
caught in the last round).
"""

from __future__ import annotations

import re
from itertools import count

from floodmark.spark.in_process.frame import UnsupportedQuery

_SIMPLE = r"[A-Za-z0-9 _=&/:;,<>@#%!~\"'-]|\\[][.(){}*+?^$|\\/-]"
_DIGIT = r"\\[dwDW]"
_ITEM = r"[A-Z]-[A-Z]|[a-z]-[a-z]|[0-9]-[0-9]|[A-Za-z0-9 _=/:;,<>@#%!~\"'.(){}*+?$|]|&(?!&)"
_CLASS = rf"\[\^?(?:{_ITEM}|\\[][.^\\-]|{_DIGIT})+\]"
_REPEATED = r"(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})\??(?![*+?{])"
_TOKEN = re.compile(
    rf"(?:{_SIMPLE}|{_DIGIT}|{_CLASS})(?:{_REPEATED})?|\(\?:|\((?!\?)|\)(?![*+?{{])|[|^](?![*+?{{])"
)


def translate(regex: str, *, named: bool = False) -> str:
    """Return a regular expression of Java as RE2 has it; with names of groups `g0`, `g1`, …

    `g0` is all of it. `UnsupportedQuery` for one that might be another there.
    """
    at, depth, pieces, numbers = 0, 0, [], count(1)
    while at < len(regex):
        token = _TOKEN.match(regex, at)
        depth += 0 if token is None else token[0].startswith("(") - (token[0] == ")")
        if token is None or depth < 0:
            raise UnsupportedQuery(f"the regular expression {regex}")
        at = token.end()
        pieces.append(f"(?P<g{next(numbers)}>" if named and token[0] == "(" else token[0])
    translated = "".join(pieces)
    return f"(?P<g0>{translated})" if named else translated
