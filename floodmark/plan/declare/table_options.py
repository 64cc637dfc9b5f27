"""WITH options of a table: those that it has itself, and the names that nobody knows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from floodmark.catalog.option_table import OptionPlace, refuse_unknown, specs_of
from floodmark.catalog.option_values import Duration, lacks_unit
from floodmark.errors import BindError, Span
from floodmark.plan import declaration
from floodmark.sql import statements as s
from floodmark.sql.statements import Option

TTL, RETENTION, COLUMN, MODE = "ttl", "retention_seconds", "ttl_column", "ttl_mode"
OPTIONS = (TTL, COLUMN, MODE, RETENTION)
"""What says how long rows stay."""
HARMLESS_OPTIONS = ("follow_symlinks", "on_missing")
"""Options of a connector that say what it refuses: what is taken in is the same without them."""


def check_names(options: Sequence[Option], span: Span | None) -> None:
    """Refuse an option that a table without a connector does not know: E0750.

    With a connector the names are asked of that.
    """
    given = {o.name.lower(): o for o in options}

    def error(name: str, hint: str) -> BindError:
        where = given[name].span or span
        hint = f"{hint}; others are those of a connector"
        return BindError("E0750", f"a table has no option {name}", span=where, hint=hint)

    if "connector" not in given:
        plain = (name for name in given if not name.startswith(declaration.PREFIX))
        refuse_unknown(plain, specs_of(OptionPlace.TABLE), error)


def check_values(statement: s.Statement) -> None:
    """Refuse a `static` that is no boolean, and a length without a unit, of what is new: E0154.

    Existing definitions keep their meaning: there a number without a unit counts seconds.
    """
    specs = specs_of(OptionPlace.TABLE)
    for option in getattr(statement, "options", ()):
        name = option.name.lower()
        if name == "static":
            specs[name].check(option, "E0154", "write static = 'true'")
        bare = next(filter(lacks_unit, _lengths(name, option.value)), None)
        if bare is not None:
            what = f"{name}: '{bare.strip()}' is a number without a unit"
            hint = f"write '{bare.strip()} seconds', or minutes, hours, days"
            raise BindError("E0154", what, span=option.span, hint=hint)


def _lengths(name: str, text: str) -> list[str]:
    """Return the lengths of time in an option's text."""
    if name == declaration.ADVANCE:
        return re.findall("-([^,]*)", text)
    spec = specs_of(OptionPlace.TABLE).get(name)
    return [text] if spec is not None and isinstance(spec.parse, Duration) else []


def without_ttl(options: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return the options, by lower-case name, that are not about the TTL of a table.

    >>> without_ttl((("path", "p"), ("ttl", "1 day")))
    (('path', 'p'),)
    """
    return tuple((name, value) for name, value in options if name not in OPTIONS)
