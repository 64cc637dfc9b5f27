"""Tables whose rows end, by WITH (ttl = …) or WATERMARK … WITH TTL, and conflicting options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from floodmark.errors import BindError, Span
from floodmark.plan.declaration import LOOKUP, Ttl
from floodmark.plan.declare.table_options import OPTIONS, check_names
from floodmark.plan.declare.ttl import bind_ttl
from floodmark.scalar.casts import truth_of
from floodmark.scalar.types import SqlType
from floodmark.sql import statements as s
from floodmark.sql.parts import WatermarkDef


@dataclass(frozen=True, slots=True)
class Expiry:
    """How rows of a table end: by a TTL, or below the watermark of the column `ttl_column`."""

    ttl: Ttl | None = None
    ttl_column: str | None = None


def expiring(
    st: s.CreateSource | s.CreateTable, types: Mapping[str, SqlType], key: tuple[str, ...]
) -> Expiry:
    """Return how the rows of a source or table end; `types` are those of its columns.

    Raises E0750 for an option that a table does not have, E0751 to E0755 for a TTL that is none,
    E0756 for one of a source, E0757 for one beside WATERMARK … WITH TTL, and E0758 for that where
    it has nothing to go by.
    """
    marked = tuple(w for w in st.watermarks if w.with_ttl)
    if isinstance(st, s.CreateSource):
        _refuse_source(st, marked)
        return Expiry()
    check_names(st.options, st.name.span)
    ttl = bind_ttl(st.options, types, append_only=st.append_only, span=st.name.span)
    if ttl is not None:
        _check_ttl_applies(st)
    if not marked:
        return Expiry(ttl)
    _check_ttl_column(st, marked[0], key)
    if ttl is not None:
        raise BindError(
            "E0757",
            "WATERMARK … WITH TTL and a TTL both say when rows of the table end",
            span=marked[0].span,
            hint="leave WITH TTL out of the watermark, or ttl out of WITH (…)",
        )
    return Expiry(ttl_column=marked[0].column)


def _refuse_source(st: s.CreateSource, marked: tuple[WatermarkDef, ...]) -> None:
    options = [o for o in st.options if o.name.lower() in OPTIONS]
    if options or marked:
        what = options[0].name.lower() if options else "WITH TTL"
        raise BindError(
            "E0756",
            f"{what} is not supported in CREATE SOURCE: only tables have a TTL",
            span=options[0].span if options else marked[0].span,
            hint="CREATE TABLE … WITH (connector = …, ttl = …), or in TRANSFORM USING a condition "
            "on now() that ends rows",
        )


def _check_ttl_applies(st: s.CreateTable) -> None:
    """Refuse a TTL of rows that never change, or that are kept elsewhere."""
    options = {o.name.lower(): o for o in st.options}
    named = next(options[name] for name in OPTIONS if name in options)
    static, connector = options.get("static"), options.get("connector")
    if static is not None and truth_of(static.value):
        raise BindError(
            "E0757",
            "static = 'true' promises that rows never change, and a TTL removes them",
            span=named.span,
            hint="leave one of the two out",
        )
    if connector is not None and connector.value.lower() == LOOKUP:
        raise BindError(
            "E0757",
            "rows of connector = 'lookup' are stored elsewhere: a TTL cannot remove them",
            span=named.span,
            hint="leave the TTL out",
        )


def _check_ttl_column(st: s.CreateTable, mark: WatermarkDef, key: tuple[str, ...]) -> None:
    """Refuse WITH TTL where rows do not replace each other by key, or several clocks tell."""
    if st.append_only:
        raise _mark_error(
            mark.span,
            "WATERMARK … WITH TTL is for rows that change, and those of an APPEND ONLY table do "
            "not",
            "leave WITH TTL out: the watermark alone closes windows; ttl = '7 days' ends rows",
        )
    if not key:
        raise _mark_error(
            mark.span,
            "WATERMARK … WITH TTL needs a primary key: the row of a key ends below the watermark",
            "add PRIMARY KEY (…); or write APPEND ONLY, and leave WITH TTL out",
        )
    if len(st.watermarks) > 1:
        raise _mark_error(
            st.watermarks[1].span,
            "a table with WATERMARK … WITH TTL has that watermark alone",
            f'leave all but that of "{mark.column}" out',
        )
    if st.format is not None and st.format.format != "PLAIN":
        raise _mark_error(
            mark.span,
            f"WATERMARK … WITH TTL is not available for messages of FORMAT {st.format.format}",
            "take them in by a table without a watermark, and CREATE SINK from it into this one",
        )


def _mark_error(span: Span | None, message: str, hint: str) -> BindError:
    return BindError("E0758", message, span=span, hint=hint)
