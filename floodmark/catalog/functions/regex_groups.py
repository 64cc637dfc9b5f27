r"""Groups of a regular expression's matches, as Spark texts: NULL for one that took no part.

Spark gives '' for it. Which of the two it was is asked of the expression that goes on with `\i`: a
reference to a group that took no part matches nothing, one to '' matches anywhere.
"""

from __future__ import annotations

import re

from floodmark.catalog.functions.quoting import quote


def first_match(text: str, regex: str) -> str:
    """Return the list of the groups of the first match, without groups of all of it; or NULL."""
    items = ", ".join(_group(text, regex, i) for i in _places(regex))
    return f"CASE WHEN {text} RLIKE {quote(regex)} THEN array({items}) END"


def first_group(text: str, regex: str) -> str:
    """Return the first group of the first match, without groups all of it; or NULL."""
    found = _group(text, regex, _places(regex)[0])
    return f"CASE WHEN {text} RLIKE {quote(regex)} THEN {found} END"


def every_match(text: str, regex: str) -> tuple[str, str]:
    """Return a list with an entry per match, and what makes its groups of its place `__i`."""
    places = _places(regex)
    every = [f"regexp_extract_all({text}, {quote(regex)}, {i})" for i in places]
    groups = [_of_each(text, regex, i, f) for i, f in zip(places, every, strict=True)]
    return every[0], f"array({', '.join(groups)})"


def _places(regex: str) -> list[int]:
    count = re.compile(regex).groups
    return list(range(1, count + 1)) if count else [0]


def _group(text: str, regex: str, i: int) -> str:
    found = f"regexp_extract({text}, {quote(regex)}, {i})"
    if not _may_stay_out(regex, i):
        return found
    start, same = (f"regexp_instr({text}, {quote(r)})" for r in (regex, _with_group(regex, i)))
    return f"CASE WHEN {found} <> '' OR {start} = {same} THEN {found} END"


def _of_each(text: str, regex: str, i: int, every: str) -> str:
    found = f"get({every}, __i)"
    if not _may_stay_out(regex, i):
        return found
    # Where the group took part, a character beside the match is another; in '' there is none.
    beside = rf"(?:(?=\{i}([\s\S]))|(?=\{i})(?<=([\s\S]))|)"
    marked, count = quote(_fixed(regex) + beside), re.compile(regex).groups
    marks = " OR ".join(
        f"get(regexp_extract_all({text}, {marked}, {count + n}), __i) <> ''" for n in (1, 2)
    )
    alone = f"{text} = '' AND {text} RLIKE {quote(_with_group(regex, i))}"
    return f"CASE WHEN {found} <> '' OR {marks} OR {alone} THEN {found} END"


def _may_stay_out(regex: str, i: int) -> bool:
    """Tell whether a group can take no part in a match: something is optional or an alternative."""
    return i > 0 and re.search(r"[|?*{]", regex) is not None


def _with_group(regex: str, i: int) -> str:
    """Return the expression with a group again behind it: where that is '', it has to take part."""
    return f"{_fixed(regex)}\\{i}"


def _fixed(regex: str) -> str:
    """Return the expression with only the first way in which it matches at a place."""
    # A comment of the free form ends with its line.
    end = "\n" if re.compile(regex).flags & re.VERBOSE else ""
    return f"(?>{regex}{end})"
