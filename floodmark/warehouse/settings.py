"""Settings of a connection: what SET changes and SHOW shows."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from floodmark.errors import NotSupported, Span, UserError
from floodmark.limits import LIMITS, Limits
from floodmark.plan.declare.option_lengths import LONGEST, counts_nothing, length_of
from floodmark.sql import statements as s
from floodmark.stream.ndu import DeterminismMode, parse_mode, with_default
from floodmark.stream.ndu import mode as determinism
from floodmark.tables.results import Result

QUERY_TIMEOUT = "query_timeout"
GRAINS = ("hour", "day", "week", "month")
"""What `SET partitions` takes."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What SET gives a value; `read` makes it of a text, or raises ValueError with the reason."""

    default: str
    read: Callable[[str], Any]


def _count(most: int) -> Callable[[str], int]:
    """Return what reads a whole number from 1 on."""

    def read(text: str) -> int:
        if not re.fullmatch("[0-9]{1,18}", text) or not 1 <= int(text) <= most:
            raise ValueError(f"{text!r} is not a whole number from 1 to {most:,}")
        return int(text)

    return read


def _length(text: str, most: timedelta = LONGEST) -> timedelta:
    if counts_nothing(text):
        raise ValueError(f"{text!r} is a number without a unit")
    return length_of(text, ValueError, most)


def _seconds(text: str) -> float | None:
    """Return the seconds of a length of at most 30 days; None for 0: as long as it takes."""
    return None if text.strip() == "0" else _length(text, timedelta(days=30)).total_seconds()


def _word(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.lower() not in words:
            raise ValueError(f"{text!r} is not one of {', '.join(words)}")
        return text.lower()

    return read


SETTINGS: Mapping[str, Setting] = {
    "retention": Setting("7 days", _length),
    determinism.OPTION: Setting(
        DeterminismMode.STRICT.value, _word(*(mode.value for mode in DeterminismMode))
    ),
    "max_due_rows": Setting(str(LIMITS.max_due_rows), _count(1_000_000_000)),
    "partitions": Setting("day", _word(*GRAINS)),
    "plan_nodes": Setting(str(LIMITS.plan_nodes), _count(1_000_000)),
    "max_clock_jump": Setting("1 day", _length),
    QUERY_TIMEOUT: Setting("10 minutes", _seconds),
}
"""Every setting, with its value unless SET gives another.

`retention` says how long changes, late rows and old epochs are kept; `determinism` is the option of
that name of the views and sinks that are created from then on; `max_due_rows` how many rows come
and go in one epoch because of the time; `partitions` how long the spans of event time are by which
an orchestrator shows what is final; `plan_nodes` above how many nodes a query of an epoch is split;
`max_clock_jump` how far the machine's clock may be ahead of what it has counted since the last
epoch; `query_timeout` how long an object's work in one epoch may take, which holds for filling it
only where SET says it.
"""


ACCEPTED = frozenset(
    f"{prefix}{name}"
    for prefix in ("", "rw_")
    for name in (
        "implicit_flush", "streaming_parallelism", "upsert_dml", "enable_index_selection",
        "background_ddl", "query_mode", "streaming_use_arrangement_backfill", "timezone",
        "search_path", "application_name", "client_encoding", "extra_float_digits",
    )
)  # fmt: skip
"""Settings of other engines that scripts bring along; nothing follows from them."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How many seconds the work on an object may take, in an epoch and to fill it; None: any."""

    epoch: float | None = None
    fill: float | None = None


class Settings:
    """The settings of one connection, by name."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self._defaults = {name: setting.default for name, setting in SETTINGS.items()}
        self._defaults |= {
            "max_due_rows": str(limits.max_due_rows),
            "plan_nodes": str(limits.plan_nodes),
        }
        self.values = {**self._defaults}
        self._given: set[str] = set()

    def set(self, statement: s.SetOption) -> Result:
        """Give a setting its value, or the default again; one of other engines is told of."""
        value = value_of(statement)
        if value is None:
            told = () if _is_zone(statement) else (f"nothing follows from {statement.name} here",)
            return Result(status="SET", notices=told)
        name = statement.name.lower()
        self.values[name] = self._defaults[name] if statement.value is None else value
        (self._given.discard if statement.value is None else self._given.add)(name)
        return Result(status="SET")

    @property
    def retention(self) -> timedelta:
        """Return how long changes and old epochs are kept."""
        found: timedelta = self._read("retention")
        return found

    @property
    def max_clock_jump(self) -> timedelta:
        """Return how far the machine's clock may be ahead."""
        found: timedelta = self._read("max_clock_jump")
        return found

    @property
    def timeouts(self) -> Timeouts:
        """Return how long the work on an object may take."""
        seconds = self._read(QUERY_TIMEOUT)
        return Timeouts(seconds, seconds if QUERY_TIMEOUT in self._given else None)

    @property
    def max_due_rows(self) -> int:
        """Return how many rows come and go in one epoch because of the time."""
        return int(self._read("max_due_rows"))

    @property
    def plan_nodes(self) -> int:
        """Return above how many nodes a query of an epoch is split."""
        return int(self._read("plan_nodes"))

    @property
    def grain(self) -> str:
        """Return how long the spans of event time are that an orchestrator shows."""
        return str(self._read("partitions"))

    @property
    def mode(self) -> DeterminismMode:
        """Return the determinism of what is created from now on."""
        return DeterminismMode(self._read(determinism.OPTION))

    def _read(self, name: str) -> Any:
        return SETTINGS[name].read(self.values[name])


def value_of(statement: s.SetOption) -> str | None:
    """Return the text of the value that a setting gets; None where nothing follows from it.

    Raises E0369, of determinism E0324, for a value that it cannot have.
    """
    name = statement.name.lower()
    if _is_zone(statement):
        _check_zone(statement)
    if name not in SETTINGS:
        return None
    value = SETTINGS[name].default if statement.value is None else statement.value
    _check_value(name, value, statement.span)
    return value


def _is_zone(statement: s.SetOption) -> bool:
    return statement.name.lower() in ("timezone", "rw_timezone")


def _check_zone(statement: s.SetOption) -> None:
    """Refuse all time zones but one: E0369."""
    value = "UTC" if statement.value is None else statement.value
    if value.upper() not in ("UTC", "ETC/UTC", "GMT"):
        raise UserError(
            "E0369",
            f"timezone = '{value}' is not UTC, in which every text of a timestamptz is read",
            span=statement.span,
            hint="name the zone where it matters: t AT TIME ZONE 'Europe/Berlin'",
        )


def check_setting(name: str, span: Span | None = None) -> None:
    """Raise E0381 for a setting that nothing follows from."""
    if name in SETTINGS:
        return
    near = difflib.get_close_matches(name, SETTINGS, n=1)
    hint = f"there is {', '.join(SETTINGS)}; SHOW OBJECTS lists what is defined"
    hint = f"did you mean {near[0]}?" if near else hint
    raise NotSupported("E0381", f'there is no setting "{name}"', span=span, hint=hint)


def _check_value(name: str, value: str, span: Span | None = None) -> None:
    """Raise E0369 or E0324 for a value that a setting cannot have."""
    if name == determinism.OPTION:
        mode_named(value, span)
        return
    try:
        SETTINGS[name].read(value)
    except ValueError as problem:
        other = ", or '0' for as long as it takes" if name == QUERY_TIMEOUT else ""
        raise UserError(
            "E0369",
            f"{name}: {problem}",
            span=span,
            hint=f"SET {name} = '{SETTINGS[name].default}'{other}",
        ) from None


def mode_named(value: str, span: Span | None = None) -> DeterminismMode:
    """Return the mode of `SET determinism`; E0324 for a value that is none."""
    return parse_mode(s.Option(determinism.OPTION, value, span))


def with_mode(statement: s.Statement, mode: DeterminismMode) -> s.Statement:
    """Return a statement with a mode written into the options of what it defines, if none is."""
    match statement:
        case s.Definition():
            return with_default(statement, mode)
        case s.Explain(statement=s.Definition() as defined):
            return replace(statement, statement=with_default(defined, mode))
        case _:
            return statement
