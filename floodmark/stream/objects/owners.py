"""Column ownership: sinks whose deletes clear the columns that they write, and leave the row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from floodmark.catalog.catalog import OWNED, Catalog
from floodmark.catalog.objects import CatalogObject, Relation
from floodmark.catalog.option_table import FORCED, KEEPING
from floodmark.errors import BindError, NotSupported
from floodmark.plan.declaration import Declaration
from floodmark.sql import statements as s
from floodmark.sql.statements import ConflictAction

ON_DELETE, COLUMNS = "on_delete", "columns"
_MERGED = (ConflictAction.UPDATE_FULL, ConflictAction.UPDATE_IF_NOT_NULL)


@dataclass(frozen=True)
class Owner:
    """A sink that owns columns of its target; `name` is what its rows are known by."""

    name: str
    columns: tuple[str, ...]


def owns(sink: CatalogObject) -> bool:
    """Tell whether a sink owns the columns that it writes."""
    return sink.word(ON_DELETE) == COLUMNS


def owner_of(sink: CatalogObject, key: Sequence[str]) -> Owner:
    """Return what a sink owns of a table with this key: the columns of its list."""
    assert isinstance(sink.statement, s.CreateSink)
    columns = tuple(c for c in sink.statement.target_columns if c not in key)
    return Owner(sink.storage_key, columns)


def owners_of(feeders: Iterable[CatalogObject], key: Sequence[str]) -> tuple[Owner, ...]:
    """Return the sinks among those into a table that own columns of it."""
    return tuple(owner_of(sink, key) for sink in feeders if owns(sink))


def keeping_holds(catalog: Catalog, owned: Iterable[str]) -> Catalog:
    """Return the catalog in which tables without owners know that they had some.

    Their rows still have the owners' names: a sink of that name takes them over.
    """
    there = [catalog.objects[key] for key in owned if key in catalog.objects]
    alone = [o for o in there if not any(map(owns, catalog.feeders(o.key)))]
    past = [replace(o, past=(*o.past, (OWNED,))) for o in alone if (OWNED,) not in o.past]
    return catalog.replace(past) if past else catalog


def check_owner(
    sink: CatalogObject, target: Relation, declared: Declaration, feeders: Iterable[CatalogObject]
) -> None:
    """Raise E0781 to E0785 for a sink that cannot own columns of its target."""
    if not owns(sink):
        return
    statement = sink.statement
    assert isinstance(statement, s.CreateSink)
    place = next(o.span for o in statement.options if o.name.lower() == ON_DELETE)
    dropping = next((o for o in (FORCED, KEEPING) if sink.is_on(o)), None)
    if dropping is not None or sink.word("type") == "append-only":
        other = dropping or "type = 'append-only'"
        raise BindError(
            "E0784",
            f"the sink should clear columns on a delete, but with {other} it writes no deletes",
            span=place,
            hint=f"leave {other} out, or {ON_DELETE} = '{COLUMNS}'",
        )
    why = _no_owners(target, declared)
    if why is not None:
        raise NotSupported(
            "E0783",
            f'no sink can own columns of "{target.name}": {why}',
            span=place,
            hint="a table with a primary key, and ON CONFLICT DO UPDATE FULL or IF NOT NULL, "
            f"has owners; or leave {ON_DELETE} = '{COLUMNS}' out",
        )
    mine = owner_of(sink, declared.primary_key)
    if not mine.columns:
        raise BindError(
            "E0781",
            f'the sink owns no column: it lists none of "{target.name}" beside the key',
            span=place,
            hint=f"list the key and the columns: INTO {target.name} "
            f"({', '.join(declared.primary_key)}, …)",
        )
    for column in declared.columns:
        if column.name in mine.columns and column.not_null:
            raise BindError(
                "E0782",
                f'the sink cannot own "{column.name}": it is NOT NULL, and a delete would clear it',
                span=place,
                hint="leave NOT NULL out of the table, or the column out of the sink's list",
            )
    _check_alone(sink, mine, declared, feeders)


def _no_owners(target: Relation, declared: Declaration) -> str | None:
    """Return why columns of a table can have no owners."""
    if not declared.primary_key:
        return "it has no primary key"
    if declared.append_only:
        return "it is append-only"
    if declared.conflict.action not in _MERGED:
        word = "NOTHING" if declared.conflict.action is ConflictAction.DO_NOTHING else "UPDATE SET"
        return f"ON CONFLICT DO {word} leaves nothing to clear"
    if declared.conflict.versions:
        return "its rows have versions, and a delete has none"
    if declared.ttl is not None or declared.ttl_column is not None:
        return "its rows end by their time, whoever holds them"
    if declared.is_messages or declared.transform is not None:
        return "its connector brings rows that are messages"
    return None


def _check_alone(
    sink: CatalogObject, mine: Owner, declared: Declaration, feeders: Iterable[CatalogObject]
) -> None:
    """Raise E0785 for a column that a sink before it owns."""
    for other in takewhile(lambda o: o.key != sink.key, feeders):
        if not owns(other):
            continue
        theirs = owner_of(other, declared.primary_key).columns
        shared = next((c for c in mine.columns if c in theirs), None)
        if shared is not None:
            raise BindError(
                "E0785",
                f'sinks {other.name} and {sink.name} both own the column "{shared}"',
                span=sink.statement.name.span,
                hint="a column has one owner: let only one of them write it, or use two columns",
            )
