"""Watermarks that go by the clock: `watermark.max_ahead`, `.advance` and `.idle_after`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from floodmark.catalog.option_table import OptionPlace, nearest, specs_of
from floodmark.catalog.option_values import Duration, UnfitError, Value
from floodmark.errors import BindError, Span
from floodmark.plan.declaration import (
    ADVANCE,
    IDLE_AFTER,
    MAX_AHEAD,
    NO_CLOCK,
    OPTIONS,
    PREFIX,
    TIMES,
    ClockOptions,
    Term,
)
from floodmark.scalar.types import SqlType
from floodmark.sql.statements import Option

_SPECS = specs_of(OptionPlace.TABLE)
_TERM = re.compile(r"""(now|max) \s* \( \s* ("?)(\w*)\2 \s* \) \s* (?: - \s* (.+))?""", re.X | re.I)


def clock_options(
    options: Sequence[Option],
    marked: Mapping[str, SqlType],
    *,
    connected: bool,
    shared: bool,
    span: Span | None,
) -> ClockOptions:
    """Return what the options say; `marked` are the columns with a watermark.

    Options that are `shared` with other outputs of a source may concern those alone. E0248 for a
    text that says nothing, E0249 for an option that has nothing to go by.
    """
    if shared and not marked:
        return NO_CLOCK
    given = {o.name.lower(): o for o in options if o.name.lower().startswith(PREFIX)}
    for name, option in given.items():
        _check(name, option, marked, connected=connected, span=span)
    ahead, idle, advance = (given.get(name) for name in (MAX_AHEAD, IDLE_AFTER, ADVANCE))
    return ClockOptions(
        None if ahead is None else _length(ahead),
        () if advance is None else tuple(_terms(advance, marked)),
        None if idle is None else _length(idle),
    )


def _check(
    name: str,
    option: Option,
    marked: Mapping[str, SqlType],
    *,
    connected: bool,
    span: Span | None,
) -> None:
    where = option.span or span
    if name not in OPTIONS:
        hint = nearest(name, OPTIONS)
        raise BindError("E0248", f"unknown option {name}", span=where, hint=hint)
    if not marked:
        raise BindError(
            "E0249",
            f"{name} needs a watermark, and none is defined",
            span=where,
            hint="add WATERMARK FOR column AS column - INTERVAL '5 seconds' to the columns",
        )
    if name != IDLE_AFTER and not any(type_.kind in TIMES for type_ in marked.values()):
        raise BindError(
            "E0249",
            f"{name} needs a watermark on a time: it compares with the clock",
            span=where,
            hint=f"{', '.join(marked)} is of another type; leave the option out",
        )
    if name != MAX_AHEAD and not connected:
        raise BindError(
            "E0249",
            f"{name} needs a connector: it has no effect on rows of statements and sinks",
            span=where,
            hint="leave the option out",
        )


def _terms(option: Option, marked: Mapping[str, SqlType]) -> Iterable[Term]:
    for text in option.value.split(","):
        match = _TERM.fullmatch(text.strip())
        if match is None:
            raise _wrong(option, f"{text.strip()!r} is neither max(column) nor now(), less a time")
        function, _, column, delay = match.groups()
        if (function.lower() == "now") == bool(column):
            raise _wrong(option, f"{text.strip()!r} is neither max(column) nor now(), less a time")
        name = _column(option, column, marked) if column else None
        yield Term(name, timedelta() if delay is None else _length(option, Duration(), delay))


def _column(option: Option, column: str, marked: Mapping[str, SqlType]) -> str:
    times = {name for name, type_ in marked.items() if type_.kind in TIMES}
    name = next((n for n in (column, column.lower()) if n in times), None)
    if name is None:
        known = f"max({') or max('.join(sorted(times))})"
        raise _wrong(option, f"max({column}) is of no time with a watermark", known)
    return name


def _length(option: Option, value: Value | None = None, text: str | None = None) -> timedelta:
    """Return the length of time that an option is, or that a part of its text is."""
    value = value or _SPECS[option.name.lower()].parse
    try:
        length: timedelta = value.parse(option.value if text is None else text)
    except UnfitError as why:
        raise _wrong(option, str(why)) from None
    return length


def _wrong(option: Option, why: str, known: str = "") -> BindError:
    name = option.name.lower()
    hint = f"there is {known}" if known else f"write {name} = '{_SPECS[name].parse.example}'"
    return BindError("E0248", f"{name}: {why}", span=option.span, hint=hint)
