"""What a source or table is declared to be: its columns, keys, watermarks and options."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from enum import Enum
from typing import Any

from floodmark.catalog.places import PATH
from floodmark.plan.expr.expressions import Expr, plain_columns
from floodmark.scalar.types import BIGINT, Field, Kind, Schema, SqlType
from floodmark.sql.statements import ConflictAction

PLAIN, UPSERT, DEBEZIUM = "PLAIN", "UPSERT", "DEBEZIUM"


INGESTION_TIMESTAMP = "INGESTION TIMESTAMP"
"""The metadata of INCLUDE INGESTION TIMESTAMP: the time of the epoch that took the row in."""


@dataclass(frozen=True)
class ColumnInfo:
    """One declared column; `default` and `generated` are bound expressions of its type.

    `metadata` names what of a message or its file the column takes.
    """

    name: str
    type: SqlType
    not_null: bool = False
    default: Expr | None = None
    generated: Expr | None = None
    metadata: str | None = None


@dataclass(frozen=True)
class WatermarkInfo:
    """A declared watermark: the expression is over the object's own columns."""

    column: str
    expr: Expr


@dataclass(frozen=True)
class ConflictRule:
    """What a keyed table does with a row whose key is there already.

    `assignments` and `condition` belong to DO UPDATE SET; they read the stored row's columns and,
    prefixed with `EXCLUDED`, those of the incoming row. A row whose `versions` are lower than those
    of the stored one, compared in their order with NULL lowest, is ignored.
    """

    action: ConflictAction = ConflictAction.UPDATE_FULL
    versions: tuple[str, ...] = ()
    assignments: tuple[tuple[str, Expr], ...] = ()
    condition: Expr | None = None

    @property
    def replaces(self) -> bool:
        """Tell whether the last row of a key stands, whatever was there."""
        return self.action is ConflictAction.UPDATE_FULL and not self.versions

    @property
    def merges(self) -> bool:
        """Tell whether a row can be made of the stored one and of one that comes."""
        return self.action in (ConflictAction.UPDATE_IF_NOT_NULL, ConflictAction.UPDATE_SET)


REPLACE = ConflictRule()


PREFIX = "watermark."


MAX_AHEAD, ADVANCE, IDLE_AFTER = (f"{PREFIX}{n}" for n in ("max_ahead", "advance", "idle_after"))


OPTIONS = (ADVANCE, IDLE_AFTER, MAX_AHEAD)


TIMES = (Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.DATE)


@dataclass(frozen=True, slots=True)
class Term:
    """One term of `watermark.advance`: the clock, or the highest time of a column, less a delay."""

    column: str | None
    delay: timedelta


@dataclass(frozen=True)
class ClockOptions:
    """What of a source's or table's watermarks goes by the clock; nothing by default."""

    max_ahead: timedelta | None = None
    advance: tuple[Term, ...] = ()
    idle_after: timedelta | None = None

    @property
    def acts(self) -> bool:
        """Tell whether the end of an epoch, or time alone, can raise the watermark."""
        return self.idle_after is not None or bool(self.advance)

    def latest(self, now: datetime, type_: SqlType) -> Any:
        """Return the last time of a column's type that is not too far ahead; None: all are fine."""
        if self.max_ahead is None or type_.kind not in TIMES:
            return None
        return clock_value(now + self.max_ahead, type_)

    def clock_values(self, column: str, type_: SqlType, highest: Any, now: datetime) -> list[Any]:
        """Return the values of the terms that concern a column; `highest` is its highest time."""
        values = []
        for term in self.advance:
            if term.column is None and type_.kind in TIMES:
                values.append(clock_value(now - term.delay, type_))
            elif term.column == column and highest is not None:
                with suppress(OverflowError):
                    values.append(_less(highest, term.delay))
        return values


NO_CLOCK = ClockOptions()


def clock_value(moment: datetime, type_: SqlType) -> Any:
    """Return a moment as a value of a type, in UTC.

    >>> clock_value(datetime(2024, 1, 1, 10, tzinfo=UTC), SqlType(Kind.DATE))
    datetime.date(2024, 1, 1)
    """
    if type_.kind is Kind.TIMESTAMPTZ:
        return moment
    plain = moment.astimezone(UTC).replace(tzinfo=None)
    return plain.date() if type_.kind is Kind.DATE else plain


def moment_of(value: datetime | date) -> datetime:
    """Return the moment at which a date or timestamp begins; without a zone it is in UTC.

    >>> moment_of(date(2024, 1, 1))
    datetime.datetime(2024, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)
    """
    if not isinstance(value, datetime):
        return datetime.combine(value, time(), UTC)
    return value if value.tzinfo is not None else value.replace(tzinfo=UTC)


def _less(value: Any, delay: timedelta) -> Any:
    if isinstance(value, datetime):
        return value - delay
    assert isinstance(value, date)
    return (datetime.combine(value, time()) - delay).date()


class TtlMode(Enum):
    """What becomes of a row that is over; the value is the option's."""

    DELETE = "delete"
    DISCARD = "discard"


@dataclass(frozen=True, slots=True)
class Ttl:
    """How long rows of a table stay; without a `column` it counts from their last write."""

    length: timedelta
    mode: TtlMode
    column: str | None = None

    @property
    def deletes(self) -> bool:
        """Tell whether the end of a row is a change that others hear of."""
        return self.mode is TtlMode.DELETE


LOWER, UPPER = "__lower", "__upper"
"""BIGINT in a source's table: the microseconds since 1970 from, and before, which a row is seen."""


@dataclass(frozen=True)
class RowTransform:
    """The parts of a TRANSFORM USING, over the declared columns of the source.

    Of rows for which `condition` is TRUE `columns` are stored, those that users see first; `key`
    names those of the primary key. They are seen from the largest of `lower_bounds` on and before
    the smallest of `upper_bounds`, TIMESTAMPTZ each; where one is NULL they are not stored. That is
    when `timed`, the conditions on `now()` as they were written, hold.
    """

    columns: tuple[tuple[str, Expr], ...]
    condition: Expr | None = None
    lower_bounds: tuple[Expr, ...] = ()
    upper_bounds: tuple[Expr, ...] = ()
    key: tuple[str, ...] = ()
    not_null: frozenset[str] = frozenset()
    timed: Expr | None = None

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """Return all that is computed of a row."""
        condition = () if self.condition is None else (self.condition,)
        return (*condition, *(e for _, e in self.columns), *self.lower_bounds, *self.upper_bounds)

    @property
    def fields(self) -> Schema:
        """Return the stored columns, without those of the period."""
        return tuple(Field(name, e.type, name not in self.not_null) for name, e in self.columns)

    @property
    def period(self) -> Schema:
        """Return the hidden columns with the bounds of the rows' periods."""
        lower = (Field(LOWER, BIGINT, nullable=False),) if self.lower_bounds else ()
        upper = (Field(UPPER, BIGINT, nullable=False),) if self.upper_bounds else ()
        return (*lower, *upper)

    @property
    def plain_columns(self) -> dict[str, str]:
        """Map declared columns to the first stored one that is the same."""
        return plain_columns(self.columns)


LOOKUP = "lookup"
"""The connector of a table whose rows are kept elsewhere, and asked for by key."""


@dataclass(frozen=True)
class Declaration:
    """What a CREATE SOURCE or CREATE TABLE says, bound.

    `columns` are those of incoming rows. `transform` says which rows are stored of them. `clock`
    has the options by which watermarks follow the clock. `conflict` says what happens to a row
    whose key exists already. `ttl` says how long rows stay; below the watermark of the column
    `ttl_column` (WATERMARK … WITH TTL) they count as absent. No row depends on `harmless_options`:
    they and the place of a relative path, `resolved`, are no part of what is defined.
    """

    columns: tuple[ColumnInfo, ...]
    primary_key: tuple[str, ...] = ()
    watermarks: tuple[WatermarkInfo, ...] = ()
    append_only: bool = False
    options: tuple[tuple[str, str], ...] = field(default=())
    connector: str | None = None
    format: str = PLAIN
    encode: str = "JSON"
    transform: RowTransform | None = None
    clock: ClockOptions = field(default=NO_CLOCK, repr=False)
    conflict: ConflictRule = REPLACE
    ttl: Ttl | None = field(default=None, repr=False)
    ttl_column: str | None = field(default=None, repr=False)
    harmless_options: tuple[tuple[str, str], ...] = field(default=(), repr=False, compare=False)
    resolved: str | None = field(default=None, repr=False, compare=False)

    @property
    def connecting(self) -> dict[str, str]:
        """Return the options as the connector takes them: with the place of a relative path."""
        place = {} if self.resolved is None else {PATH: self.resolved}
        return {**dict(self.options), **dict(self.harmless_options), **place}

    @property
    def insert_only(self) -> bool:
        """Tell whether rows are only added: none changes, and no TTL deletes one."""
        return self.append_only and (self.ttl is None or not self.ttl.deletes)

    @property
    def drops_silently(self) -> bool:
        """Tell whether rows go that nobody who follows the object hears of."""
        return self.ttl_column is not None or (self.ttl is not None and not self.ttl.deletes)

    @property
    def is_messages(self) -> bool:
        """Tell whether the connector delivers changes by key, not rows that are only added."""
        return self.connector is not None and self.format in (UPSERT, DEBEZIUM)

    @property
    def watermark_names(self) -> dict[str, str]:
        """Map columns with a watermark to what a transformation calls them.

        If a column gets the name of another one, the two are not told apart.
        """
        if self.transform is None:
            return {}
        columns = {mark.column for mark in self.watermarks}
        passed = self.transform.plain_columns
        pairs = ((c, passed[c]) for c in columns if c in passed)
        return {c: name for c, name in pairs if name == c or name not in columns}

    @property
    def metadata(self) -> Schema:
        """Return the metadata that messages and files are asked for: its names and column types."""
        asked = ((c.metadata, c.type) for c in self.columns)
        return tuple(Field(m, t) for m, t in asked if m is not None and m != INGESTION_TIMESTAMP)

    @property
    def ingestion_columns(self) -> tuple[str, ...]:
        """Return the columns that take the time of the epoch."""
        return tuple(c.name for c in self.columns if c.metadata == INGESTION_TIMESTAMP)

    @property
    def default_columns(self) -> tuple[str, ...]:
        """Return the columns that take a DEFAULT where the connector's row lacks them."""
        plain = {f.name for f in self.physical}
        return tuple(c.name for c in self.columns if c.default is not None and c.name in plain)

    @property
    def physical(self) -> Schema:
        """Return the columns that the connector delivers: neither generated nor metadata."""
        plain = (c for c in self.columns if c.generated is None and c.metadata is None)
        return tuple(Field(c.name, c.type) for c in plain)
