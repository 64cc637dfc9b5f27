"""Settings of a connection: what SET changes and SHOW shows."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from floodmark.catalog.option_table import OptionPlace, specs_of
from floodmark.catalog.option_values import UnfitError
from floodmark.errors import NotSupported, Span, UserError
from floodmark.limits import LIMITS, Limits, each_limit
from floodmark.sql import statements as s
from floodmark.stream.ndu import DeterminismMode, mode as determinism, parse_mode, with_default
from floodmark.tables.results import Result

QUERY_TIMEOUT = "query_timeout"
SETTINGS = specs_of(OptionPlace.SETTING)
"""Every setting, with its value unless SET gives another."""


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

    def __init__(self, limits: Limits) -> None:
        check_limits(limits)
        own = {name: str(getattr(limits, name)) for name in ("max_due_rows", "plan_nodes")}
        self._defaults = {name: own.get(name) or s.default or "" for name, s in SETTINGS.items()}
        self.values = {**self._defaults}
        self._given: set[str] = set()

    def set(self, statement: s.SetOption) -> Result:
        """Give a setting its value, or its default; one of another engine makes a notice."""
        value = value_of(statement)
        if value is None:
            note = () if _is_zone(statement) else (f"nothing follows from {statement.name} here",)
            return Result(status="SET", notices=note)
        name = statement.name.lower()
        self.values[name] = self._defaults[name] if statement.value is None else value
        (self._given.discard if statement.value is None else self._given.add)(name)
        return Result(status="SET")

    @property
    def retention(self) -> timedelta:
        """Return how long changes and old epochs are kept."""
        length: timedelta = self._value("retention")
        return length

    @property
    def max_clock_jump(self) -> timedelta:
        """Return how far the machine's clock may be ahead."""
        length: timedelta = self._value("max_clock_jump")
        return length

    @property
    def timeouts(self) -> Timeouts:
        """Return how long the work on an object may take."""
        length = self._value(QUERY_TIMEOUT)
        seconds = None if length is None else length.total_seconds()
        return Timeouts(seconds, seconds if QUERY_TIMEOUT in self._given else None)

    @property
    def max_due_rows(self) -> int:
        """Return how many rows come and go in one epoch because of the time."""
        return int(self._value("max_due_rows"))

    @property
    def plan_nodes(self) -> int:
        """Return above how many nodes a query of an epoch is split."""
        return int(self._value("plan_nodes"))

    @property
    def grain(self) -> str:
        """Return how long the spans of event time are that an orchestrator shows."""
        return str(self._value("partitions"))

    @property
    def mode(self) -> DeterminismMode:
        """Return the determinism mode of objects that are created from now on."""
        return DeterminismMode(self._value(determinism.OPTION))

    def _value(self, name: str) -> Any:
        return SETTINGS[name].parse.parse(self.values[name])


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
    assert value is not None
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


def check_limits(limits: Limits) -> None:
    """Raise E0369 for a number that a warehouse cannot have, or not for itself."""
    for limit in each_limit(limits):
        default: int = getattr(LIMITS, limit.name)
        hint = f"leave {limit.name} out, or take {default}, the default"
        if limit.shared and limit.value != default:
            what = f"Limits({limit.name}={limit.value}): it is the same in all warehouses"
            raise UserError("E0369", what, hint=hint)
        if limit.value < limit.least and limit.name not in SETTINGS:
            what = f"Limits({limit.name}={limit.value}): it is less than {limit.least}"
            raise UserError("E0369", what, hint=hint)
        if limit.name in SETTINGS:
            _check_value(limit.name, str(limit.value))


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
        determinism_mode(value, span)
        return
    try:
        SETTINGS[name].parse.parse(value)
    except UnfitError as problem:
        other = ", or '0' for as long as it takes" if name == QUERY_TIMEOUT else ""
        raise UserError(
            "E0369",
            f"{name}: {problem}",
            span=span,
            hint=f"SET {name} = '{SETTINGS[name].default}'{other}",
        ) from None


def determinism_mode(value: str, span: Span | None = None) -> DeterminismMode:
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
