"""Value types of options: each parses a text, or reports the mistake in it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlparse

from floodmark.scalar.casts import truth_of
from floodmark.scalar.functions.model import RowError
from floodmark.scalar.interval_text import has_unit, parse_interval

LARGEST = 2**63 - 1
"""No whole number of an option is larger, unless the option says less."""
LONGEST = timedelta(days=36_525)
"""How long a length is at most: 100 years."""
_NO_MARKS = "\r\n\0"
"""What parts lines, or is no text."""


class UnfitError(ValueError):
    """A text that is no value of an option; `problem` says why, to be read after the text."""

    def __init__(self, problem: str, text: str | None = None) -> None:
        super().__init__(problem if text is None else f"{text!r} {problem}")
        self.problem = problem


class Value(Protocol):
    """A type of value: as a text it is what a person may write.

    `example` is what a hint proposes, "" where that is the option's default.
    """

    @property
    def example(self) -> str: ...

    def parse(self, text: str) -> Any:
        """Return the value of a text; raises `UnfitError`."""


@dataclass(frozen=True, slots=True)
class Boolean:
    """Yes or no, as PostgreSQL spells them."""

    example: str = ""

    def __str__(self) -> str:
        return "`true` or `false`"

    def parse(self, text: str) -> bool:
        """Return a yes or no."""
        if (value := truth_of(text)) is None:
            raise UnfitError("is neither true nor false", text)
        return value


@dataclass(frozen=True, slots=True)
class Keyword:
    """One of a few words, in whatever case; `problem` is the message for other words."""

    words: tuple[str, ...]
    problem: str = ""
    example: str = ""

    def __str__(self) -> str:
        return ", ".join(f"`{word}`" for word in self.words)

    def parse(self, text: str) -> str:
        """Return the word, in lower case."""
        if text.lower() not in self.words:
            raise UnfitError(self.problem or f"is not one of {', '.join(self.words)}", text)
        return text.lower()


@dataclass(frozen=True, slots=True)
class Count:
    """A whole number from 1 on."""

    most: int

    def __str__(self) -> str:
        return f"a whole number from 1 to {self.most:,}"

    @property
    def example(self) -> str:
        """Return a number."""
        return str(min(1000, self.most))

    def parse(self, text: str) -> int:
        """Return the number."""
        digits = text.replace("_", "")
        if not re.fullmatch("[0-9]{1,18}", digits) or not 1 <= int(digits) <= self.most:
            raise UnfitError(f"is not {self}", text)
        return int(digits)


@dataclass(frozen=True, slots=True)
class Integer:
    """A whole number, negative ones too, within bounds."""

    least: int = -LARGEST
    most: int = LARGEST

    def __str__(self) -> str:
        least = "" if self.least == -LARGEST else f" from {self.least:,}"
        return f"a whole number{least}{'' if self.most == LARGEST else f' to {self.most:,}'}"

    @property
    def example(self) -> str:
        """Return a number."""
        return str(min(max(1000, self.least), self.most))

    def parse(self, text: str) -> int:
        """Return the number."""
        digits = text.replace("_", "")
        if not re.fullmatch("[+-]?[0-9]{1,19}", digits):
            raise UnfitError("is not a whole number of at most 19 digits", text)
        if int(digits) < self.least:
            raise UnfitError(f"is not at least {self.least}", text)
        if int(digits) > self.most:
            raise UnfitError(f"is not at most {self.most}", text)
        return int(digits)


@dataclass(frozen=True, slots=True)
class Number:
    """A number within bounds."""

    least: float = -1e300
    most: float = 1e300
    example: str = ""

    def __str__(self) -> str:
        bounded = self.most < 1e300
        return f"a number from {self.least:g} to {self.most:g}" if bounded else "a number"

    def parse(self, text: str) -> float:
        """Return the number."""
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not text.isascii() or math.isnan(number):
            raise UnfitError("is not a number", text)
        if not self.least <= number <= self.most:
            raise UnfitError(f"is not between {self.least:g} and {self.most:g}", text)
        return number


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time, '7 days' or INTERVAL '7 days', without months.

    One without a unit counts seconds where a definition has it from before that was refused.
    """

    most: timedelta = LONGEST
    example: str = "7 days"

    def __str__(self) -> str:
        return f"an interval of at most {_limit_text(self.most)}, without months"

    def parse(self, text: str) -> timedelta:
        """Return the length."""
        bare = _bare(text)
        try:
            months, days, micros = parse_interval(bare)
        except RowError:
            raise UnfitError("is not an interval", bare) from None
        if months:
            raise UnfitError("months have no fixed length; count days")
        return self.fitting(timedelta(days=days, microseconds=micros), bare)

    def fitting(self, length: timedelta, text: str) -> timedelta:
        """Return a length that an option can have."""
        if not timedelta() < length <= self.most:
            raise UnfitError(f"is not between nothing and {_limit_text(self.most)}", text)
        return length


@dataclass(frozen=True, slots=True)
class DurationWithUnit(Duration):
    """A length of time that says its unit."""

    def parse(self, text: str) -> timedelta:
        """Return the length."""
        if lacks_unit(text):
            raise UnfitError("is a number without a unit", text)
        return Duration.parse(self, text)


@dataclass(frozen=True, slots=True)
class Timeout(DurationWithUnit):
    """A length of time, or 0 for as long as it takes."""

    def __str__(self) -> str:
        return f"`0`, or {Duration.__str__(self)}"

    def parse(self, text: str) -> timedelta | None:  # type: ignore[override]
        """Return the length; None for 0."""
        return None if text.strip() == "0" else DurationWithUnit.parse(self, text)


@dataclass(frozen=True, slots=True)
class Seconds:
    """A length of time as a whole number of seconds."""

    example: str = "604800"

    def __str__(self) -> str:
        return "a whole number of seconds"

    def parse(self, text: str) -> timedelta:
        """Return the length."""
        if not re.fullmatch("[0-9]{1,12}", text.strip()):
            raise UnfitError("is not a whole number of seconds", text)
        return Duration().fitting(timedelta(seconds=int(text)), text)


@dataclass(frozen=True, slots=True)
class Text:
    """A text, which may be empty where that is said."""

    example: str = "…"
    empty: bool = False
    what: str = "a text"

    def __str__(self) -> str:
        return self.what

    def parse(self, text: str) -> str:
        """Return the text."""
        if not self.empty and not text.strip():
            raise UnfitError("is not allowed to be empty", text)
        return text


@dataclass(frozen=True, slots=True)
class Folder:
    """A local folder or file, or its file:// URL.

    What stands behind a host is the path of a definition that has it from before that was refused.
    """

    example: str

    def __str__(self) -> str:
        return "a local path or a file:// URL"

    def parse(self, text: str) -> Path:
        """Return the absolute path."""
        url = urlparse(Text().parse(text))
        if url.scheme not in ("", "file"):
            raise UnfitError("is not a local folder or a file:// URL", text)
        return Path(unquote(url.path) if url.scheme else text).expanduser().absolute()

    def check_host(self, text: str) -> None:
        """Refuse the URL of another host, in a definition that is new."""
        url = urlparse(text)
        if url.scheme == "file" and url.netloc.lower() not in ("", "localhost"):
            raise UnfitError(f"names the host {url.netloc}; a local folder is file:///…", text)


@dataclass(frozen=True, slots=True)
class Character:
    """One character, or empty for none; Spark takes 16 bits of it."""

    example: str = ""

    def __str__(self) -> str:
        return "one character, or empty for none"

    def parse(self, text: str) -> str:
        """Return the character."""
        if len(text) > 1 or text > "\uffff" or (text and text in _NO_MARKS):
            raise UnfitError(f"is not {self}", text)
        return text


@dataclass(frozen=True, slots=True)
class Delimiter:
    r"""One character, or `\t` for a tab; `quote` is what it cannot be beside a line's end."""

    example: str = ";"
    quote: str = ""

    def __str__(self) -> str:
        return f"one character, and no {'quote or ' if self.quote else ''}line break"

    def parse(self, text: str) -> str:
        """Return the character."""
        mark = text.replace("\\t", "\t")
        if len(mark) != 1 or mark in _NO_MARKS + self.quote:
            raise UnfitError(f"is not {self}", text)
        return mark


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A timestamp; without a zone it is in UTC."""

    example: str = "2015-07-15 00:00:00"

    def __str__(self) -> str:
        return "a timestamp"

    def parse(self, text: str) -> datetime:
        """Return the moment."""
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise UnfitError(f"is not {self}", text) from None
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def lacks_unit(text: str) -> bool:
    """Tell whether a length is a number without a unit; as an interval that counts seconds.

    >>> [lacks_unit(text) for text in ("5", "INTERVAL '5'", "5 days")]
    [True, True, False]
    """
    return not has_unit(_bare(text))


def _bare(text: str) -> str:
    return re.sub(r"^interval\s*'(.*)'$", r"\1", text.strip(), flags=re.I)


def _limit_text(most: timedelta) -> str:
    return "100 years" if most == LONGEST else f"{most.days} days"
