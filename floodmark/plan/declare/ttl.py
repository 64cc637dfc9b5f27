"""TTL of tables: how long a row is kept, from which time, and whether readers get its delete.

`WITH (ttl = '7 days', ttl_column = c, ttl_mode = 'delete' | 'discard')`, and `retention_seconds`. A
row is expired at `now` when its time is at or before the cutoff, `now` less the TTL. The time of a
row is its value in `ttl_column`, else the time of the epoch that wrote it last. With `delete`,
expired rows are deleted, also in views over the table. With `discard`, no query sees them any more,
but views keep the results of these rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from floodmark.catalog.option_table import OptionPlace, specs_of
from floodmark.catalog.option_values import UnfitError
from floodmark.errors import BindError, Span
from floodmark.plan.declaration import Ttl, TtlMode
from floodmark.plan.declare.table_options import COLUMN, MODE, OPTIONS, RETENTION, TTL
from floodmark.scalar.types import Kind, SqlType
from floodmark.sql.statements import Option

TIMES = (Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.DATE)
_SPECS = specs_of(OptionPlace.TABLE)
_EXAMPLE = "write ttl = '7 days'"


def needs_rebuild(before: Ttl | None, after: Ttl | None, *, append_only: bool) -> str | None:
    """Return why a change of a table's TTL cannot be made in place; None where it can.

    A TTL is stored nowhere but in the definition: the next epoch goes by what that says then. But
    an `append_only` table whose rows are deleted has changes, which one without does not have, and
    what follows it hears of them.

    >>> week, day = (Ttl(timedelta(days=n), TtlMode.DELETE) for n in (7, 1))
    >>> needs_rebuild(week, day, append_only=True) is None
    True
    >>> needs_rebuild(None, day, append_only=True)
    'rows that were only added are deleted from now on'
    """
    deleted, deletes = (ttl is not None and ttl.deletes for ttl in (before, after))
    if not append_only or deleted == deletes:
        return None
    if deletes:
        return "rows that were only added are deleted from now on"
    return "rows that were deleted are only added from now on"


def bind_ttl(
    options: Sequence[Option],
    types: Mapping[str, SqlType],
    *,
    append_only: bool,
    span: Span | None,
) -> Ttl | None:
    """Return the TTL of a table, None without one; `types` are those of its columns.

    Raises E0751 for a text that is no length of time, E0752 for options that do not go together,
    E0753 for a column that has no time, E0754 for a mode that is none, E0755 where rows can be
    discarded only if they do not change.
    """
    given = {o.name.lower(): o for o in options if o.name.lower() in OPTIONS}
    if not given:
        return None
    length = _length(given, span)
    column, mode = given.get(COLUMN), given.get(MODE)
    chosen = TtlMode.DISCARD if append_only else TtlMode.DELETE
    if mode is not None:
        hint = "'delete' takes rows back from what follows the table, 'discard' does not"
        chosen = TtlMode(_SPECS[MODE].check(mode, "E0754", hint))
    if chosen is TtlMode.DISCARD and not append_only:
        _refuse_discard(given, span)
    name = None if column is None else _column(column, types)
    return Ttl(length, chosen, name)


def _length(options: Mapping[str, Option], span: Span | None) -> timedelta:
    ttl, retention = options.get(TTL), options.get(RETENTION)
    if ttl is not None and retention is not None:
        raise BindError(
            "E0752",
            f"{TTL} and {RETENTION} mean the same",
            span=retention.span or span,
            hint=f"leave one of them out: {RETENTION} is the time in seconds",
        )
    if ttl is None and retention is None:
        name, option = next(iter(options.items()))
        raise BindError(
            "E0752",
            f"{name} needs a TTL, and there is none",
            span=option.span or span,
            hint=f"add ttl = '7 days', or leave {name} out",
        )
    given = retention or ttl
    assert given is not None
    try:
        length: timedelta = _SPECS[given.name.lower()].parse.parse(given.value)
    except UnfitError as why:
        name = given.name.lower()
        hint = _EXAMPLE if name == TTL else f"write {RETENTION} = 604800 for seven days"
        raise BindError("E0751", f"{name}: {why}", span=given.span, hint=hint) from None
    return length


def _column(option: Option, types: Mapping[str, SqlType]) -> str:
    names = [name for name, type_ in types.items() if type_.kind in TIMES]
    known = f"there is {', '.join(names)}" if names else "the table has no column with a time"
    name = next((n for n in (option.value, option.value.lower()) if n in types), None)
    if name is None:
        raise BindError(
            "E0753",
            f'{COLUMN}: the table has no column "{option.value}"',
            span=option.span,
            hint=f"{known}; without {COLUMN} the time counts from a row's last write",
        )
    if types[name].kind not in TIMES:
        raise BindError(
            "E0753",
            f'{COLUMN}: "{name}" is {types[name]}, which is not a time',
            span=option.span,
            hint=f"{known}; without {COLUMN} the time counts from a row's last write",
        )
    return name


def _refuse_discard(options: Mapping[str, Option], span: Span | None) -> None:
    option = options.get(MODE) or next(iter(options.values()))
    raise BindError(
        "E0755",
        f"{MODE} = 'discard' needs an append-only table: views over the table keep discarded "
        "rows, and would then have two rows of one key",
        span=option.span or span,
        hint=f"{MODE} = 'delete', which is the default; or add APPEND ONLY; or use WATERMARK … "
        "WITH TTL",
    )
