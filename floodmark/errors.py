"""One tree of errors for everything a person can meet.

What a user did wrong is a `UserError`, what the world did is a `TransientError`; our own bugs are
plain `AssertionError`s. Each carries a code that `docs/errors.md` explains, and renders with a
caret under the SQL it is about. The number tells the kind: E05xx are the `TransientError`s and
nothing else is; the others are `UserError`s, but for E0602 and E0609, which may be our defects.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Any


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of SQL text: offsets are 0-based and end-exclusive, `line` and `column` 1-based."""

    start: int
    end: int
    line: int
    column: int
    file: str | None = None
    source: str | None = None

    @property
    def text(self) -> str:
        """Return the piece itself, or an empty string when the source is unknown."""
        return self.source[self.start : self.end] if self.source is not None else ""

    @classmethod
    def at(cls, source: str, start: int, end: int, file: str | None = None) -> Span:
        """Make a span from offsets.

        >>> Span.at("SELECT 1\\nFROM t", 14, 15).line
        2
        """
        ends = _line_ends(source)
        above = bisect_left(ends, start)
        return cls(
            start=start,
            end=max(end, start),
            line=above + 1,
            column=start - (ends[above - 1] if above else -1),
            file=file,
            source=source,
        )


@lru_cache(maxsize=4)
def _line_ends(source: str) -> tuple[int, ...]:
    return tuple(match.start() for match in re.finditer("\n", source))


_LONG_WORD = re.compile(r"(\S{60})\S{340,}")
"""What no message needs in full: a word of a statement or file that goes on and on."""


class FloodmarkError(Exception):
    """The root of all errors that are shown to a person."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        span: Span | None = None,
        hint: str | None = None,
        detail: str | None = None,
    ) -> None:
        message = _LONG_WORD.sub(lambda match: f"{match[1]}…", message)
        super().__init__(message)
        self.code = code
        self.message = message
        self.span = span
        self.hint = hint
        self.detail = detail

    def __str__(self) -> str:
        return self.render()

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (
            type(self),
            self.code,
            self.message,
            self.span,
            self.hint,
            self.detail,
        )

    def with_span(self, span: Span | None) -> FloodmarkError:
        """Return this error with a position, unless it has one already."""
        if self.span is None:
            self.span = span
        return self

    def render(self) -> str:
        """Return the text form: headline, place with caret, detail, help."""
        lines = [f"error[{self.code}]: {self.message}"]
        if self.span is not None:
            lines += _caret_lines(self.span)
        if self.detail:
            lines += self.detail.rstrip("\n").split("\n")
        if self.hint:
            lines.append(f"help: {self.hint}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        span = self.span
        return {
            "code": self.code,
            "kind": type(self).__name__,
            "message": self.message,
            "hint": self.hint,
            "detail": self.detail,
            "span": span
            and {
                "file": span.file,
                "line": span.line,
                "column": span.column,
                "start": span.start,
                "end": span.end,
            },
        }


class UserError(FloodmarkError):
    """The SQL, an option or the data is wrong: doing the same again fails again."""


class SqlSyntaxError(UserError):
    """The text is not a statement (codes E01xx)."""


class BindError(UserError):
    """A name, type or definition does not fit the catalog (codes E01xx to E03xx, E07xx, E08xx)."""


class NotSupported(UserError):
    """The statement is understood and refused (codes E03xx, E07xx and E08xx)."""


class DataError(UserError):
    """Data at rest or from outside breaks a rule (codes E04xx, E06xx and E07xx)."""


class OutOfReach(DataError):
    """A source or sink cannot be reached now: it comes back, or its options are mended."""


class TransientError(FloodmarkError):
    """The world is in the way (codes E05xx): the same call can succeed later."""


class IntakeCode(IntEnum):
    """Why what a connector delivers cannot be taken in: the reason of its dead letter."""

    CORRUPT = 651
    NULL_VALUE = 652
    NULL_TIME = 653
    KEY_TWICE = 654
    TRUNCATE = 655
    NO_CHANGE = 656
    NO_ROW = 657
    FUTURE_TIME = 658

    @property
    def text(self) -> str:
        """Return the code as it is shown to people.

        >>> IntakeCode.CORRUPT.text
        'E0651'
        """
        return f"E{self.value:04d}"


def _rebuild(
    kind: type[FloodmarkError],
    code: str,
    message: str,
    span: Span | None,
    hint: str | None,
    detail: str | None,
) -> FloodmarkError:
    return kind(code, message, span=span, hint=hint, detail=detail)


def _caret_lines(span: Span) -> list[str]:
    place = f"{span.file or '<sql>'}:{span.line}:{span.column}"
    if span.source is None:
        return [f"  {place}"]
    source_lines = span.source.split("\n")
    line = source_lines[span.line - 1] if span.line <= len(source_lines) else ""
    gutter = len(str(span.line))
    width = max(1, min(span.end, span.start + len(line) - span.column + 1) - span.start)
    line, before, width = _window(line, span.column - 1, width)
    pad = "".join("\t" if c == "\t" else " " for c in line[:before])
    return [
        f"  {place}",
        f"{' ' * gutter} |",
        f"{span.line} | {line}",
        f"{' ' * gutter} | {pad}{'^' * width}",
    ]


_SHOWN = 1000
"""Of longer lines only what is near the place is shown."""
_BEFORE = 60


def _window(line: str, at: int, width: int) -> tuple[str, int, int]:
    """Return the part of a line that is shown, and in it the place and the width of the error.

    >>> _window("SELECT 1", 7, 1)
    ('SELECT 1', 7, 1)
    >>> shown, at, width = _window("x" * 900 + "here" + "y" * 900, 900, 4)
    >>> len(shown), shown[at : at + width]
    (122, 'here')
    """
    if len(line) <= _SHOWN:
        return line, at, width
    first = max(0, at - _BEFORE)
    last = min(len(line), first + 2 * _BEFORE)
    head, tail = "…" if first else "", "…" if last < len(line) else ""
    return f"{head}{line[first:last]}{tail}", at - first + len(head), min(width, last - at)
