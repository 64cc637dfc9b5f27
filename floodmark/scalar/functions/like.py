"""LIKE and ILIKE: the pieces of a pattern are looked for one after another, never again."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from floodmark.errors import BindError, Span
from floodmark.scalar.functions.model import (
    Function,
    Operand,
    Operands,
    RowError,
    RowErrorCode,
    null_means,
)
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.types import BOOLEAN, Kind

_ARGUMENT = null_means(RowErrorCode.INVALID_ARGUMENT)


def is_like(text: str, pattern: str, escape: str = "\\", *, fold: bool = False) -> bool:
    """Tell whether a text is as a LIKE pattern says, with `fold` as ILIKE does.

    Raises `RowError` for a pattern that ends in the escape character.
    """
    regex = _whole(_body(pattern, escape, fold), end=r"\Z")
    return re.match(regex, text.lower() if fold else text) is not None


def _whole(body: str, end: str) -> str:
    """Return the regular expression of a pattern's body.

    A piece between two `%` takes the first place where it fits and keeps it, as the atomic group
    `(?>.*?piece)` does. No later place leaves more text for the pieces behind it, so nothing is
    tried twice: the time is linear in the text.
    """
    if body.endswith(_REST):
        return rf"(?s)\A(?>{body.removesuffix(_REST)})"
    return rf"(?s)\A(?>{body}{end})"


_END = r"\z"
"""The end of the text, as Java writes it."""
_REST = ")(?>.*?"
"""What stands for `%`: the end of a piece and the begin of the next one."""


def _body(pattern: str, escape: str, fold: bool) -> str:
    out, i = list[str](), 0
    while i < len(pattern):
        c = pattern[i]
        if escape and c == escape:
            i += 1
            if i == len(pattern):
                raise RowError(RowErrorCode.INVALID_ARGUMENT)
            out.append(re.escape(pattern[i]))
        elif c != "%":
            out.append("." if c == "_" else re.escape(c))
        elif out[-1:] != [_REST]:
            out.append(_REST)
        i += 1
    return "".join(out).lower() if fold else "".join(out)


def check_like(pattern: str, escape: str = "\\", span: Span | None = None) -> None:
    """Raise E0253 for a pattern that ends in its escape character, or for two of these."""
    if len(escape) > 1:
        text, hint = f"the escape {escape!r} is longer than a character", "write one, or ''"
        raise BindError("E0253", text, span=span, hint=hint)
    try:
        _body(pattern, escape, fold=False)
    except RowError:
        raise BindError(
            "E0253",
            f"the LIKE pattern {pattern!r} ends in its escape character",
            span=span,
            hint=f"write {escape}{escape} for {escape}",
        ) from None


_LINEAR = re.compile(r"[^%]*%?[^%]*|%[^%_]*%", re.DOTALL)
"""Patterns for which Spark's own LIKE, which it also reads statistics for, never goes back."""


def print_like(text: Operand, pattern: Operand, escape: str, *, fold: bool = False) -> str:
    """Return the Spark text of `is_like`: NULL where the pattern ends in the escape character."""
    check_like(str(pattern.constant or "") if pattern.is_constant else "", escape)
    asked = f"lower({text})" if fold else text.sql
    if not pattern.is_constant:
        regex = f"concat('(?s)\\\\A(?>', {_print_body(pattern.sql, escape, fold)}, '\\\\z)')"
        return f"CASE WHEN {_ends_well(pattern.sql, escape)} THEN {asked} RLIKE {regex} END"
    written = str(pattern.constant or "")
    if _LINEAR.fullmatch(written) and not {"\\", escape} & {*written}:
        return f"({text} {'ILIKE' if fold else 'LIKE'} {pattern})"
    return f"({asked} RLIKE {quote(_whole(_body(written, escape, fold), end=_END))})"


def _ends_well(pattern: str, escape: str) -> str:
    if not escape:
        return f"{pattern} IS NOT NULL"
    mark = re.escape(escape)
    return f"regexp_replace({pattern}, {quote(f'(?s){mark}.')}, '') NOT RLIKE {quote(mark)}"


def _print_body(pattern: str, escape: str, fold: bool) -> str:
    """Return the Spark text of `_body`, which first gives every pattern the same escapes."""
    steps = [
        # A backslash stands before %, _ and itself only; then the rest is quoted.
        (r"(?s)\\([^%_\\])|(\\.)", "$1$2"),
        (r"[.\[\]{}()*+?^$|]", r"\\$0"),
        (r"\\\\", r"\\x{5c}"),
        (r"(?<!\\)_", "."),
        (r"(?<!\\)%+", _REST),
    ]
    if not escape:
        steps.insert(0, (r"\\", r"\\\\"))
    elif escape != "\\":
        steps.insert(0, (rf"(?s)(\\)|{re.escape(escape)}(.)", r"\\$1$2"))
    for found, new in steps:
        pattern = f"regexp_replace({pattern}, {quote(found)}, {quote(new)})"
    return f"lower({pattern})" if fold else pattern


def likes() -> list[Function]:
    """Return LIKE and ILIKE, the escape character as a third argument, which is a literal."""
    return [
        Function(
            name,
            (Kind.VARCHAR,) * count,
            BOOLEAN,
            _make_printer(fold),
            _make_evaluator(fold),
            constant=frozenset({2} if count == 3 else ()),
            error=lambda o, v: None if o[1].is_constant else _ARGUMENT(o, v),
            version=2,
        )
        for name, fold in (("like", False), ("ilike", True))
        for count in (2, 3)
    ]


def _make_printer(fold: bool) -> Callable[[Operands], str]:
    def spark(o: Operands) -> str:
        escape = str(o[2].constant) if len(o) == 3 else "\\"
        return print_like(o[0], o[1], escape, fold=fold)

    return spark


def _make_evaluator(fold: bool) -> Callable[..., Any]:
    return lambda text, pattern, escape="\\": is_like(text, pattern, escape, fold=fold)
