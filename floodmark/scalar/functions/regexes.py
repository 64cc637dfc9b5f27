"""The rest of the regular expressions: counting, splitting, extracting, SIMILAR TO."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from floodmark.errors import NotSupported
from floodmark.scalar.functions.like import is_like, print_like
from floodmark.scalar.functions.model import Function, Operand, Operands
from floodmark.scalar.functions.pattern import check_regex
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.functions.regex_groups import every_match, first_match, group_of_first_match
from floodmark.scalar.types import BOOLEAN, INT, VARCHAR, Kind, list_of

_S = Kind.VARCHAR


def _regex(o: Operands, at: int = 1, flags_at: int = 2) -> str:
    """Return the checked pattern with its flags inside."""
    check_regex(o[at])
    pattern = str(o[at].constant or "")
    flags = str(o[flags_at].constant or "") if len(o) > flags_at else ""
    return _with_flags(pattern, flags)


def _with_flags(pattern: str, flags: str) -> str:
    if set(flags) - {"i", "c", "g"}:
        raise NotSupported(
            "E0372", f"regular expressions do not know the flags {flags!r}", hint="g and i"
        )
    return f"(?i){pattern}" if "i" in flags else pattern


def _first_match_pattern(o: Operands, name: str) -> str:
    """Return the checked pattern of what looks for one match; E0372 for the flag that wants all."""
    if len(o) > 2 and "g" in str(o[2].constant or ""):
        hint = "regexp_matches gives them all"
        raise NotSupported("E0372", f"{name} does not know the flag 'g'", hint=hint)
    return _regex(o)


def _search(s: str, pattern: str, flags: str = "") -> re.Match[str] | None:
    return re.search(_with_flags(pattern, flags), s)


def _every(regex: str, s: str) -> Iterator[re.Match[str]]:
    """Yield the matches one after another, from a character further on after an empty one.

    Python's own would also begin where an empty one was.
    """
    compiled, at = re.compile(regex), 0
    while at <= len(s) and (match := compiled.search(s, at)) is not None:
        yield match
        at = match.end() + (match.end() == match.start())


def _substring(s: str, pattern: str) -> str | None:
    match = re.search(pattern, s)
    if match is None:
        return None
    return match[1] if match.re.groups else match[0]


def _print_substring(o: Operands) -> str:
    return group_of_first_match(o[0].sql, _regex(o))


def _groups(s: str, pattern: str, flags: str = "") -> tuple[str | None, ...] | None:
    match = _search(s, pattern, flags)
    return None if match is None else match.groups() or (match[0],)


def _group(s: str, pattern: str, *flags_and_number: Any) -> str | None:
    *flags, number = flags_and_number
    found = _groups(s, pattern, *flags) or ()
    return found[number - 1] if 0 < number <= len(found) else None


def _print_group(o: Operands) -> str:
    number = o[-1].constant
    assert isinstance(number, int)
    return group_of_first_match(o[0].sql, _first_match_pattern(o[:-1], "regexp_match"), number)


def _print_groups(o: Operands) -> str:
    return first_match(o[0].sql, _first_match_pattern(o, "regexp_match"))


def python_every_match(s: str, pattern: str, flags: str = "") -> tuple[Any, ...]:
    """Return the groups of the first match, with the flag g of every match."""
    found = _every(_with_flags(pattern, flags), s)
    every = tuple(match.groups() or (match[0],) for match in found)
    return every if "g" in flags else every[:1]


def print_every_match(o: Operands) -> str:
    """Return the Spark text of the groups of the first match, with the flag g of every match."""
    matches, groups = every_match(o[0].sql, _regex(o))
    size = f"size({matches})"
    wanted = size if len(o) > 2 and "g" in str(o[2].constant) else f"least({size}, 1)"
    return f"slice(transform(sequence(0, {size}), __i -> {groups}), 1, {wanted})"


def _split(s: str, pattern: str) -> tuple[str, ...]:
    pieces, at = [], 0
    for match in re.finditer(pattern, s):
        pieces.append(s[at : match.start()])
        at = match.end()
    return (*pieces, s[at:])


def _print_split(o: Operands) -> str:
    regex = _regex(o)
    if re.search(regex, "") is not None:
        raise NotSupported(
            "E0371",
            f"the regular expression {o[1].constant!r} matches the empty text",
            hint="split by a pattern that matches at least one character",
        )
    return f"split({o[0]}, {quote(regex)}, -1)"


def similar_regex(pattern: str, escape: str = "\\") -> str:
    """Return the regular expression, for the whole text, of a SIMILAR TO pattern.

    >>> similar_regex("a(b|c)_%.")
    'a(?:b|c)..*\\\\.'
    """
    out, i, in_set = [], 0, False
    while i < len(pattern):
        c = pattern[i]
        i += 1
        if escape and c == escape:
            out.append(re.escape(pattern[i : i + 1]))
            i += 1
        elif in_set:
            in_set = c != "]"
            out.append("\\\\" if c == "\\" else c)
        elif c == "[":
            in_set = True
            out.append(c)
        else:
            known = {"%": ".*", "_": ".", "(": "(?:"}
            out.append(known.get(c) or (c if c in "|*+?{})" else re.escape(c)))
    return "".join(out)


def _print_similar(o: Operands) -> str:
    escape = str(o[2].constant) if len(o) == 3 else "\\"
    if not {*str(o[1].constant or "")} & {*_SIMILAR, escape}:
        return print_like(o[0], o[1], escape)
    regex = f"(?s)^(?:{similar_regex(str(o[1].constant), escape)})$"
    check_regex(Operand("", VARCHAR, regex))
    # `$` also stands before a last line break.
    end = f"(?s)^(?:{similar_regex(str(o[1].constant), escape)})\\z"
    return f"({o[0]} RLIKE {quote(end)})"


_SIMILAR = "|*+?{}()[]"
"""What SIMILAR TO knows beside `%` and `_`; without these a pattern is one of LIKE."""


def _similar(s: str, pattern: str, escape: str = "\\") -> bool:
    if not {*pattern} & {*_SIMILAR, escape}:
        return is_like(s, pattern, escape)
    return re.fullmatch(similar_regex(pattern, escape), s, re.DOTALL) is not None


def _print_count(o: Operands) -> str:
    check_regex(o[1])
    return f"regexp_count({o[0]}, {o[1]})"


def regexes() -> list[Function]:
    """Return the family; patterns and flags are literals."""
    two, three = (_S, _S), (_S, _S, _S)
    pattern, flags = frozenset({1}), frozenset({1, 2})

    def test(o: Operands) -> str:
        return f"({o[0]} RLIKE {quote(_first_match_pattern(o, 'regexp_like'))})"

    matches: Callable[..., bool] = lambda s, p, f="": _search(s, p, f) is not None  # noqa: E731
    return [
        Function("regexp_like", two, BOOLEAN, test, matches, constant=pattern),
        Function("regexp_like", three, BOOLEAN, test, matches, constant=flags),
        Function(
            "regexp_count", two, INT, _print_count,
            lambda s, p: sum(1 for _ in _every(p, s)), constant=pattern,
        ),
        Function(
            "regexp_substr", two, VARCHAR, lambda o: _print_whole(o),
            lambda s, p: None if (m := re.search(p, s)) is None else m[0], constant=pattern,
        ),
        Function("substring", two, VARCHAR, _print_substring, _substring, constant=pattern),
        Function("regexp_match", two, list_of(VARCHAR), _print_groups, _groups, constant=pattern),
        Function("regexp_match", three, list_of(VARCHAR), _print_groups, _groups, constant=flags),
        Function(
            "regexp_match_group", (*two, Kind.INT), VARCHAR, _print_group, _group,
            constant=frozenset({1, 2}),
        ),
        Function(
            "regexp_match_group", (*three, Kind.INT), VARCHAR, _print_group, _group,
            constant=frozenset({1, 2, 3}),
        ),
        Function(
            "regexp_split_to_array", two, list_of(VARCHAR), _print_split, _split,
            constant=pattern,
        ),
        Function("similar", two, BOOLEAN, _print_similar, _similar, constant=pattern),
        Function("similar", three, BOOLEAN, _print_similar, _similar, constant=flags),
    ]  # fmt: skip


def _print_whole(o: Operands) -> str:
    check_regex(o[1])
    return f"regexp_substr({o[0]}, {o[1]})"
