"""WITH options of a connector: read once, checked, with nearest names in the errors."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import unquote, urlparse

from floodmark.errors import UserError
from floodmark.limits import LIMITS
from floodmark.sql.parts import truth_of

LARGEST = 2**63 - 1
"""No whole number of an option is larger, unless the option says less."""
COMMON = frozenset(
    {
        "connector",
        "format",
        "encode",
        "on_error",
        "static",
        "max_rows_per_epoch",
        "watermark.idle_after",
        "watermark.advance",
        "watermark.max_ahead",
    }
)
"""Options that every source takes and that the runtime reads."""
_CODING = {"format", "encode"}
"""Those of connectors that read files."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint that names what may have been meant.

    >>> nearest("pth", ["path", "seed"])
    'did you mean path? known: path, seed'
    """
    names = sorted(known)
    close = get_close_matches(name, names, n=2, cutoff=0.5)
    meant = f"did you mean {' or '.join(close)}? " if close else ""
    return f"{meant}known: {', '.join(names)}"


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one source, with typed readers; `asked` are those that something has read."""

    source: str
    values: Mapping[str, str]
    asked: set[str] = field(default_factory=set, compare=False, repr=False)

    def check_names(self, known: Iterable[str]) -> None:
        """Refuse an option that the connector does not know."""
        allowed = COMMON.union(known)
        for name in self.values:
            if name not in allowed:
                raise UserError(
                    "E0471",
                    f"source {self.source}: unknown option {name!r}",
                    hint=nearest(name, allowed),
                )

    def check_asked(self) -> None:
        """Refuse an option of the connector that says nothing beside the others."""
        for name in self.values:
            if name not in self.asked | (COMMON - _CODING):
                raise UserError(
                    "E0471",
                    f"source {self.source}: nothing follows from option {name!r} here",
                    hint="leave it out: it is for another format, store or kind of column",
                )

    def text(self, name: str, default: str | None = None) -> str:
        """Return an option's text; without a default it must be there."""
        self.asked.add(name)
        value = self.values.get(name, default)
        if value is None:
            raise UserError(
                "E0472",
                f"source {self.source}: option {name!r} is missing",
                hint=f"add {name} = '…' to WITH (…)",
            )
        return value

    def folder(self, name: str, example: str) -> Path:
        """Return an option that is a local folder, or the file:// URL of one."""
        text = self.nonempty_text(name, example)
        url = urlparse(text)
        if url.scheme not in ("", "file"):
            raise self.wrong(name, "a local folder or a file:// URL", example)
        return Path(unquote(url.path) if url.scheme else text).expanduser().absolute()

    def nonempty_text(self, name: str, example: str, default: str | None = None) -> str:
        """Return an option that is a text and not empty."""
        if not (text := self.text(name, default)).strip():
            raise self.wrong(name, "allowed to be empty", example)
        return text

    def choice(self, name: str, choices: Iterable[str], default: str | None = None) -> str:
        """Return an option that is one of a few words, in lower case."""
        value = self.text(name, default).lower()
        if value not in (allowed := sorted(choices)):
            raise self.wrong(name, f"one of {', '.join(allowed)}", default or allowed[0])
        return value

    def flag(self, name: str, default: bool) -> bool:
        """Return a true/false option."""
        if (found := truth_of(self.text(name, str(default)))) is None:
            raise self.wrong(name, "true or false", str(default).lower())
        return found

    def integer(
        self,
        name: str,
        default: int | None = None,
        *,
        least: int = -LARGEST,
        most: int = LARGEST,
    ) -> int:
        """Return a whole-number option."""
        value = self.text(name, None if default is None else str(default)).replace("_", "")
        example = str(min(max(1000, least), most))
        if not re.fullmatch("[+-]?[0-9]{1,19}", value):
            raise self.wrong(name, "a whole number of at most 19 digits", example)
        if int(value) < least:
            raise self.wrong(name, f"at least {least}", example)
        if int(value) > most:
            raise self.wrong(name, f"at most {most}", example)
        return int(value)

    def number(
        self, name: str, default: float, *, least: float = -1e300, most: float = 1e300
    ) -> float:
        """Return a number option."""
        text = self.text(name, str(default))
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not text.isascii() or math.isnan(number):
            raise self.wrong(name, "a number", str(default))
        if not least <= number <= most:
            raise self.wrong(name, f"between {least:g} and {most:g}", str(default))
        return number

    def rows_per_epoch(self) -> int:
        """Return the most rows that an epoch takes from the source."""
        return self.integer("max_rows_per_epoch", LIMITS.source_rows, least=1, most=10**12)

    def wrong(self, name: str, expected: str, example: str) -> UserError:
        """Make the error for a value that an option does not take, with one that it does."""
        return UserError(
            "E0473",
            f"source {self.source}: option {name} = {self.values.get(name)!r} is not {expected}",
            hint=f"write {name} = '{example}'",
        )
