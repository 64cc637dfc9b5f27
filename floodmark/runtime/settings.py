"""Settings of a connection: what SET changes and SHOW shows."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from floodmark.analysis.ndu import DeterminismMode, parse_mode, with_default
from floodmark.analysis.ndu import mode as determinism
from floodmark.catalog.functions.model import RowError
from floodmark.catalog.interval_text import parse_interval
from floodmark.errors import NotSupported, Span, UserError
from floodmark.runtime.due import MAX_DUE_ROWS
from floodmark.runtime.parts import PLAN_NODES
from floodmark.runtime.results import Result
from floodmark.sql import statements as s

QUERY_TIMEOUT = "query_timeout"

DEFAULTS: Mapping[str, str] = {
    "retention": "7 days",
    determinism.OPTION: DeterminismMode.STRICT.value,
    "max_due_rows": str(MAX_DUE_ROWS),
    "partitions": "day",
    "plan_nodes": str(PLAN_NODES),
    "max_clock_jump": "1 day",
    QUERY_TIMEOUT: "10 minutes",
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

GRAINS = ("hour", "day", "week", "month")
"""What `SET partitions` takes."""


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

    def __init__(self) -> None:
        self.values = dict(DEFAULTS)
        self._given: set[str] = set()

    def set(self, statement: s.SetOption) -> Result:
        """Give a setting its value, or the default again; one of other engines is told of."""
        name = statement.name.lower()
        if name in ("timezone", "rw_timezone"):
            return _utc(statement)
        if name not in DEFAULTS:
            return Result(status="SET", notices=(f"nothing follows from {statement.name} here",))
        value = DEFAULTS[name] if statement.value is None else statement.value
        check_value(name, value, statement.span)
        self.values[name] = value
        (self._given.discard if statement.value is None else self._given.add)(name)
        return Result(status="SET")

    @property
    def retention(self) -> timedelta:
        """Return how long changes and old epochs are kept."""
        return retention_of(self.values["retention"])

    @property
    def max_clock_jump(self) -> timedelta:
        """Return how far the machine's clock may be ahead."""
        return span_of_setting("max_clock_jump", self.values["max_clock_jump"])

    @property
    def timeouts(self) -> Timeouts:
        """Return how long the work on an object may take."""
        seconds = seconds_of(self.values[QUERY_TIMEOUT])
        return Timeouts(seconds, seconds if QUERY_TIMEOUT in self._given else None)

    @property
    def max_due_rows(self) -> int:
        """Return how many rows come and go in one epoch because of the time."""
        return rows_of_setting(self.values["max_due_rows"])

    @property
    def plan_nodes(self) -> int:
        """Return above how many nodes a query of an epoch is split."""
        return nodes_of_setting(self.values["plan_nodes"])

    @property
    def mode(self) -> DeterminismMode:
        """Return the determinism of what is created from now on."""
        return mode_named(self.values[determinism.OPTION])


def _utc(statement: s.SetOption) -> Result:
    """Take the one time zone that there is; E0369 for another."""
    value = "UTC" if statement.value is None else statement.value
    if value.upper() not in ("UTC", "ETC/UTC", "GMT"):
        raise UserError(
            "E0369",
            f"timezone = '{value}' is not UTC, in which every text of a timestamptz is read",
            span=statement.span,
            hint="name the zone where it matters: t AT TIME ZONE 'Europe/Berlin'",
        )
    return Result(status="SET")


def check_setting(name: str, span: Span | None = None) -> None:
    """Raise E0381 for a setting that nothing follows from."""
    if name in DEFAULTS:
        return
    near = difflib.get_close_matches(name, DEFAULTS, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there is {', '.join(DEFAULTS)}"
    raise NotSupported("E0381", f'there is no setting "{name}"', span=span, hint=hint)


def check_value(name: str, value: str, span: Span | None = None) -> None:
    """Raise E0369 or E0324 for a value that a setting cannot have."""
    match name:
        case "retention":
            retention_of(value, span)
        case "max_clock_jump":
            span_of_setting(name, value, span)
        case determinism.OPTION:
            mode_named(value, span)
        case "max_due_rows":
            rows_of_setting(value, span)
        case "plan_nodes":
            nodes_of_setting(value, span)
        case "query_timeout":
            seconds_of(value, span)
        case "partitions":
            grain_of_setting(value, span)


def mode_named(value: str, span: Span | None = None) -> DeterminismMode:
    """Return the mode of `SET determinism`; E0324 for a value that is none."""
    return parse_mode(s.Option(determinism.OPTION, value, span))


def rows_of_setting(text: str, span: Span | None = None) -> int:
    """Return the number of rows of `SET max_due_rows`; one that is none above zero is E0369."""
    if not text.isdecimal() or int(text) == 0:
        raise UserError(
            "E0369",
            f"max_due_rows = '{text}' is not a number of rows",
            span=span,
            hint=f"SET max_due_rows = {MAX_DUE_ROWS}",
        )
    return int(text)


def nodes_of_setting(text: str, span: Span | None = None) -> int:
    """Return the number of nodes of `SET plan_nodes`; one that is none above zero is E0369."""
    if not text.isdecimal() or int(text) == 0:
        raise UserError(
            "E0369",
            f"plan_nodes = '{text}' is not a number of nodes",
            span=span,
            hint=f"SET plan_nodes = {PLAN_NODES}",
        )
    return int(text)


def grain_of_setting(text: str, span: Span | None = None) -> str:
    """Return the span of time of `SET partitions`; one that is not among `GRAINS` is E0369."""
    if text.lower() not in GRAINS:
        raise UserError(
            "E0369",
            f"partitions = '{text}' is not one of {', '.join(GRAINS)}",
            span=span,
            hint="SET partitions = 'day'",
        )
    return text.lower()


def retention_of(text: str, span: Span | None = None) -> timedelta:
    """Return the span of time of `SET retention`; one of months, or not above zero, is E0369.

    >>> retention_of("36 hours")
    datetime.timedelta(days=1, seconds=43200)
    """
    return span_of_setting("retention", text, span)


def span_of_setting(name: str, text: str, span: Span | None = None) -> timedelta:
    """Return a setting's span of time; one of months, or not above zero, is E0369."""
    try:
        months, days, micros = parse_interval(text)
        span_of_time = timedelta(days=days, microseconds=micros)
    except (RowError, OverflowError):
        months, span_of_time = 1, timedelta()
    if months or span_of_time <= timedelta():
        raise UserError(
            "E0369",
            f"{name} = '{text}' is not a span of days, hours or minutes",
            span=span,
            hint=f"SET {name} = '{DEFAULTS[name]}'",
        )
    return span_of_time


def seconds_of(text: str, span: Span | None = None) -> float | None:
    """Return the seconds of `SET query_timeout`, None for 0: as long as it takes. E0369.

    >>> seconds_of("10 minutes"), seconds_of("0")
    (600.0, None)
    """
    if text.strip() == "0":
        return None
    try:
        months, days, micros = parse_interval(text)
        seconds = timedelta(days=days, microseconds=micros).total_seconds()
    except (RowError, OverflowError):
        months, seconds = 1, 0.0
    if months or seconds <= 0:
        raise UserError(
            "E0369",
            f"query_timeout = '{text}' is not a span of days, hours, minutes or seconds",
            span=span,
            hint="SET query_timeout = '10 minutes', or '0' for as long as it takes",
        )
    return seconds


def with_mode(statement: s.Statement, mode: DeterminismMode) -> s.Statement:
    """Return a statement with a mode written into the options of what it defines, if none is."""
    match statement:
        case s.Definition():
            return with_default(statement, mode)
        case s.Explain(statement=s.Definition() as defined):
            return replace(statement, statement=with_default(defined, mode))
        case _:
            return statement
