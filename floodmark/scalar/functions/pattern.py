"""Regular expressions on text."""

from __future__ import annotations

import re
from collections.abc import Callable

from floodmark.errors import BindError, NotSupported
from floodmark.scalar.functions.model import Function, Operand, Operands
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.types import BOOLEAN, VARCHAR, Kind

_S = Kind.VARCHAR


ATOMS = r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]"
"""Escaped characters and sets of a regular expression: what stands in them is only itself."""
_ATOMS = re.compile(ATOMS, re.DOTALL)
_MOST_GROUPS = 100
"""How many groups may stand in one another, on any stack."""
_NESTED = re.compile(r"(?<!\\)(?:\\\\)*(?:\[|&&)")
"""What Java reads as a set, or as what two sets share, and others as characters."""


def check_regex(operand: Operand) -> None:
    """Refuse a pattern that is not a regular expression both Python and Java read alike."""
    pattern = operand.constant or ""
    sets = (match[0] for match in _ATOMS.finditer(pattern) if match[0][0] == "[")
    if any(_NESTED.search(text, 1) for text in sets):
        raise NotSupported(
            "E0371",
            f"the regular expression {pattern!r} has a bracket expression inside another one",
            hint="escape [ and && between brackets; [[:alpha:]] is [A-Za-z]",
        )
    try:
        _check_depth(pattern)
        re.compile(pattern)
    except (re.error, OverflowError, ValueError) as problem:
        raise BindError(
            "E0254",
            f"the regular expression {pattern!r} is malformed: {problem}",
            hint="close all groups and brackets; escape a special character with a backslash",
        ) from None
    if "(?P" in pattern or "(?#" in pattern:
        raise NotSupported(
            "E0371",
            f"the regular expression {pattern!r} uses a group that is not portable",
            hint="use plain or non-capturing groups: (…), (?:…)",
        )


def _check_depth(pattern: str) -> None:
    """Raise ValueError for groups in groups beyond what every stack has place for."""
    depth = 0
    for mark in re.sub(_ATOMS, "", pattern):
        depth += (mark == "(") - (mark == ")")
        if depth > _MOST_GROUPS:
            raise ValueError(f"more than {_MOST_GROUPS} groups stand in one another")


def _print_match(prefix: str) -> Callable[[Operands], str]:
    def spark(o: Operands) -> str:
        check_regex(o[1])
        pattern = f"concat('{prefix}', {o[1]})" if prefix else o[1].sql
        return f"({o[0]} RLIKE {pattern})"

    return spark


def _print_replace(o: Operands) -> str:
    check_regex(o[1])
    flags = str(o[3].constant) if len(o) == 4 else ""
    if set(flags) - {"g", "i"}:
        raise NotSupported(
            "E0372", f"regexp_replace does not know the flags {flags!r}", hint="g and i"
        )
    if not o[2].is_constant:
        raise NotSupported(
            "E0373",
            "the replacement of regexp_replace must be a literal",
            hint="write it as a text in single quotes",
        )
    # Spark has no "first match only": the pattern then takes the whole text, its start kept.
    new = _without_missing_groups(o[2].constant or "", o[1].constant or "")
    replacement = re.sub(r"\$", r"\\$", new)
    replacement = re.sub(r"\\(\d)", r"$\1", replacement).replace("\\&", "$0")
    pattern = ("(?i)" if "i" in flags else "") + (o[1].constant or "")
    text = f"regexp_replace({o[0]}, {quote(pattern)}, {quote(replacement)})"
    if "g" in flags:
        return text
    first = f"regexp_substr({o[0]}, {quote(pattern)})"
    at = f"regexp_instr({o[0]}, {quote(pattern)})"
    one = f"regexp_replace({first}, {quote(pattern)}, {quote(replacement)})"
    return (
        f"CASE WHEN {o[0]} RLIKE {quote(pattern)} THEN concat(substring({o[0]}, 1, {at} - 1), {one}, "  # noqa: E501
        f"substring({o[0]}, {at} + length({first}))) ELSE {o[0]} END"
    )


def _without_missing_groups(new: str, pattern: str) -> str:
    """Return a replacement in which groups that the pattern does not have are empty."""
    groups = re.compile(pattern).groups
    return re.sub(r"\\([1-9])", lambda m: m[0] if int(m[1]) <= groups else "", new)


def _regex_replace(s: str, pattern: str, new: str, flags: str = "") -> str:
    new = _without_missing_groups(new, pattern)
    template = re.sub(r"\\(\d)", r"\\g<\1>", new).replace("\\&", r"\g<0>")
    return re.sub(
        pattern,
        template,
        s,
        count=0 if "g" in flags else 1,
        flags=re.IGNORECASE if "i" in flags else 0,
    )


def patterns() -> list[Function]:
    """Return the first regular expressions; a regular expression is a literal."""
    fixed = frozenset({1})
    return [
        Function(
            "~",
            (_S, _S),
            BOOLEAN,
            _print_match(""),
            lambda s, p: re.search(p, s) is not None,
            constant=fixed,
        ),
        Function(
            "~*",
            (_S, _S),
            BOOLEAN,
            _print_match("(?i)"),
            lambda s, p: re.search(p, s, re.IGNORECASE) is not None,
            constant=fixed,
        ),
        Function(
            "regexp_replace",
            (_S, _S, _S),
            VARCHAR,
            _print_replace,
            _regex_replace,
            constant=frozenset({1, 2}),
            version=2,
        ),
        Function(
            "regexp_replace",
            (_S, _S, _S, _S),
            VARCHAR,
            _print_replace,
            _regex_replace,
            constant=frozenset({1, 2, 3}),
            version=2,
        ),
    ]
