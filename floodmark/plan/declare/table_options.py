"""WITH options of a table: those that it has itself, and the names that nobody knows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

from floodmark.errors import BindError, Span
from floodmark.plan import declared
from floodmark.plan.declare.option_lengths import counts_nothing
from floodmark.sql import statements as s
from floodmark.sql.statements import Option

TTL, RETENTION, COLUMN, MODE = "ttl", "retention_seconds", "ttl_column", "ttl_mode"
OPTIONS = (TTL, COLUMN, MODE, RETENTION)
"""What says how long rows stay."""
TELLING = ("follow_symlinks", "on_missing")
"""Options of a connector that say what it refuses: what is taken in is the same without them."""
_LENGTHS = (TTL, declared.IDLE_AFTER, declared.MAX_AHEAD)
_ALONE = ("connector", "on_error", "static", *declared.OPTIONS, *OPTIONS)
"""All options of a table without a connector; a connector knows its own."""


def check_names(options: Sequence[Option], span: Span | None) -> None:
    """Refuse an option that a table without a connector does not know: E0750.

    With a connector the names are asked of that.
    """
    names = [o.name.lower() for o in options]
    if "connector" in names:
        return
    for name, option in zip(names, options, strict=True):
        if name in _ALONE or name.startswith(declared.PREFIX):
            continue
        close = get_close_matches(name, _ALONE, n=2, cutoff=0.5)
        meant = f"did you mean {' or '.join(close)}? " if close else ""
        raise BindError(
            "E0750",
            f"a table has no option {name}",
            span=option.span or span,
            hint=f"{meant}known: {', '.join(sorted(_ALONE))}; others are those of a connector",
        )


def check_values(statement: s.Statement) -> None:
    """Refuse what a new source or table says no yes or no by, or a length without a unit: E0154.

    What is there already keeps the meaning that it had: such a number counts seconds.
    """
    for option in getattr(statement, "options", ()):
        name = option.name.lower()
        if name == "static" and s.truth_of(option.value) is None:
            what = f"static = '{option.value}' is neither true nor false"
            raise BindError("E0154", what, span=option.span, hint="write static = 'true'")
        bare = next(filter(counts_nothing, _lengths(name, option.value)), None)
        if bare is not None:
            what = f"{name}: '{bare.strip()}' is a number without a unit"
            hint = f"write '{bare.strip()} seconds', or minutes, hours, days"
            raise BindError("E0154", what, span=option.span, hint=hint)


def _lengths(name: str, text: str) -> list[str]:
    """Return the lengths of time in an option's text."""
    if name == declared.ADVANCE:
        return re.findall("-([^,]*)", text)
    return [text] if name in _LENGTHS else []


def without_ttl(options: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return the options, by lower-case name, that are not about the TTL of a table.

    >>> without_ttl((("path", "p"), ("ttl", "1 day")))
    (('path', 'p'),)
    """
    return tuple((name, value) for name, value in options if name not in OPTIONS)
