r"""Groups of a regular expression's matches, as Spark texts: NULL for one that took no part.

Spark gives '' for a group that took no part. To tell it from an empty match, the expression is
matched once more with `\i` behind it. A reference to a group that took no part matches nothing; a
reference to '' matches anywhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from floodmark.scalar.functions.pattern import ATOMS
from floodmark.scalar.functions.quoting import quote


def first_match(text: str, regex: str) -> str:
    """Return the list of the groups of the first match, without groups of all of it; or NULL."""
    items = ", ".join(_group(text, regex, i) for i in _places(regex))
    return f"CASE WHEN {text} RLIKE {quote(regex)} THEN array({items}) END"


def group_of_first_match(text: str, regex: str, number: int = 1) -> str:
    """Return a group of the first match, as the first one without groups all of it; or NULL.

    The text is searched once: of a list of no matches there is no first.
    """
    places = _places(regex)
    if not 0 < number <= len(places):
        return "CAST(NULL AS STRING)"
    every = f"regexp_extract_all({text}, {quote(regex)}, {places[number - 1]})"
    return _null_if_absent(text, regex, places[number - 1], f"get({every}, 0)")


def every_match(text: str, regex: str) -> tuple[str, str]:
    """Return a list with an entry per match, and what makes its groups of its place `__i`."""
    places = _places(regex)
    every = [f"regexp_extract_all({text}, {quote(regex)}, {i})" for i in places]
    groups = [_print_group_per_match(text, regex, i, f) for i, f in zip(places, every, strict=True)]
    return every[0], f"array({', '.join(groups)})"


def _places(regex: str) -> list[int]:
    count = re.compile(regex).groups
    return list(range(1, count + 1)) if count else [0]


def _group(text: str, regex: str, i: int) -> str:
    return _null_if_absent(text, regex, i, f"regexp_extract({text}, {quote(regex)}, {i})")


def _null_if_absent(text: str, regex: str, i: int, group: str) -> str:
    """Return what was found of a group, NULL where it took no part in the first match."""
    if not may_be_absent(regex, i):
        return group
    start, same = (f"regexp_instr({text}, {quote(r)})" for r in (regex, _with_group(regex, i)))
    return f"CASE WHEN {group} <> '' OR {start} = {same} THEN {group} END"


def _print_group_per_match(text: str, regex: str, i: int, every: str) -> str:
    group = f"get({every}, __i)"
    if not may_be_absent(regex, i):
        return group
    # Where the group took part, a character beside the match is another; in '' there is none.
    beside = rf"(?:(?=\{i}([\s\S]))|(?=\{i})(?<=([\s\S]))|)"
    marked, count = quote(_atomic_group(regex) + beside), re.compile(regex).groups
    marks = " OR ".join(
        f"get(regexp_extract_all({text}, {marked}, {count + n}), __i) <> ''" for n in (1, 2)
    )
    alone = f"{text} = '' AND {text} RLIKE {quote(_with_group(regex, i))}"
    return f"CASE WHEN {group} <> '' OR {marks} OR {alone} THEN {group} END"


def may_be_absent(regex: str, i: int) -> bool:
    """Tell whether a group can take no part in a match.

    It, or what it stands in, is optional, or part of an alternative or of a look around.

    >>> may_be_absent("(a|b)c(d*)", 1), may_be_absent("(a)|b", 1), may_be_absent("((a)b)?", 2)
    (False, True, True)
    """
    if i == 0:
        return False
    if re.compile(regex).flags & re.VERBOSE or "(?(" in regex:
        return True
    around = _enclosing_groups(regex, i)
    return any(g.optional for g in around) or any(g.alternatives for g in around[:-1])


@dataclass
class _Parenthesis:
    """A piece of a regular expression in parentheses; all of it is one, too."""

    alternatives: bool = False
    optional: bool = False


_PARTS = re.compile(rf"{ATOMS}|\((?:\?.)?|[|)]", re.DOTALL)
"""What is only itself, what opens a parenthesis, and what matters between."""


def _enclosing_groups(regex: str, i: int) -> list[_Parenthesis]:
    """Return the parentheses that a group stands in, from all of the expression to itself."""
    open_: list[_Parenthesis] = [_Parenthesis()]
    enclosing: list[_Parenthesis] = []
    groups = 0
    for part in _PARTS.finditer(regex):
        match part[0]:
            case "|":
                open_[-1].alternatives = True
            case ")":
                closed = open_.pop()
                closed.optional |= re.match(r"[?*]|\{[0,]", regex[part.end() :]) is not None
            case "(":
                groups += 1
                open_.append(_Parenthesis())
                if groups == i:
                    enclosing = list(open_)
            case opening if opening.startswith("("):
                # A look around: what was in it need not be there.
                open_.append(_Parenthesis(optional=opening[-1] in "=!<"))
    return enclosing


def _with_group(regex: str, i: int) -> str:
    """Return the expression with a group again behind it: where that is '', it has to take part."""
    return f"{_atomic_group(regex)}\\{i}"


def _atomic_group(regex: str) -> str:
    """Return the expression with only the first way in which it matches at a place."""
    # A comment of the free form ends with its line.
    end = "\n" if re.compile(regex).flags & re.VERBOSE else ""
    return f"(?>{regex}{end})"
