"""Sources and tables: what they declare, what a TRANSFORM USING makes of it, what others see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from floodmark.catalog.objects import CatalogObject, ObjectKind, Relation
from floodmark.catalog.splitting import is_split
from floodmark.changelog import ROW_ID, ChangelogMode
from floodmark.errors import BindError
from floodmark.plan.declaration import LOOKUP, UPPER, Declaration, RowTransform
from floodmark.plan.declare.definitions import declare_columns
from floodmark.plan.declare.functions import Functions
from floodmark.plan.declare.query_split import QuerySplit, split_query
from floodmark.plan.declare.transform import bind_transform
from floodmark.plan.nodes import Node
from floodmark.scalar.types import BIGINT, VARCHAR, Field, Schema
from floodmark.sql import statements as s
from floodmark.stream.properties.watermark import check_declaration

ORIGIN = "__origin"
"""VARCHAR: on a table without a key, the upstream stream key of a row that a sink wrote."""


@dataclass(frozen=True)
class StoredRelation:
    """The bound declaration of a source or table, and the relation that queries over it see.

    `split` is for the view over a source that is split.
    """

    declared: Declaration
    relation: Relation
    split: QuerySplit | None = None


def declaration(
    obj: CatalogObject,
    functions: Functions,
    relations: Mapping[str, Relation],
    views: Mapping[str, Node],
) -> StoredRelation:
    """Return what a source or table declares; a query that is split may read other relations."""
    columns = declare_columns(obj, functions)
    check_declaration(columns)
    _check_messages(obj, columns)
    raw = raw_relation(obj, columns)
    statement = obj.statement
    if not (isinstance(statement, s.CreateSource) and statement.transforms):
        return StoredRelation(columns, raw)
    part, split = statement.transforms[0], None
    if is_split(part):
        split = split_query(part, raw, relations, views, functions, statement.span)
        transform: RowTransform | None = split.transform
    else:
        transform = bind_transform(part, raw, functions, statement.span)
    if transform is None:
        return StoredRelation(columns, raw)
    columns = replace(columns, transform=transform)
    return StoredRelation(columns, _transform_relation(raw, columns, transform), split)


def _check_messages(obj: CatalogObject, declared: Declaration) -> None:
    """Refuse messages of changes where each row that comes is computed with."""
    if declared.is_messages and declared.conflict.action is s.ConflictAction.UPDATE_SET:
        clause = getattr(obj.statement, "conflict", None)
        raise BindError(
            "E0705",
            f'"{obj.name}" computes with each new row (ON CONFLICT DO UPDATE SET), but messages of '
            f"FORMAT {declared.format} update rows, and the effect of old rows cannot be undone",
            span=clause.span if clause is not None else obj.statement.name.span,
            hint="FORMAT PLAIN where each message is a row of its own; or DO UPDATE FULL",
        )


def raw_relation(obj: CatalogObject, columns: Declaration) -> Relation:
    """Return the relation of the rows as they come."""
    is_source = obj.kind is ObjectKind.SOURCE
    append_only = columns.insert_only
    key, hidden = columns.primary_key, tuple[Field, ...]()
    if columns.ttl_column is not None and columns.ttl_column not in key:
        key = (*key, columns.ttl_column)
    if not key:
        hidden = (Field(ROW_ID, BIGINT, nullable=False),)
        if not is_source:
            hidden = (*hidden, Field(ORIGIN, VARCHAR))
        key = tuple(f.name for f in hidden)
    return Relation(
        name=obj.key,
        kind=obj.kind,
        columns=(*_fields(columns), *hidden),
        stream_key=key,
        mode=ChangelogMode.APPEND_ONLY if append_only else ChangelogMode.RETRACT,
        watermarks=_watermark_columns(obj, columns),
        primary_key=columns.primary_key,
        metadata=() if append_only or columns.format == "UPSERT" else _metadata(columns),
        static=obj.is_on("static"),
        external=columns.connector == LOOKUP,
        drops_silently=columns.drops_silently,
    )


def _watermark_columns(obj: CatalogObject, columns: Declaration) -> tuple[tuple[str, str], ...]:
    """Return the columns with a watermark; what a TTL deletes can be below any."""
    if columns.ttl is not None and columns.ttl.deletes:
        return ()
    return tuple((w.column, f"{obj.key}.{w.column}") for w in columns.watermarks)


def _transform_relation(raw: Relation, columns: Declaration, transform: RowTransform) -> Relation:
    """Return the relation of the transformed rows.

    Rows with an end go again. A watermark says nothing of rows that are seen later than they come.
    """
    hidden = tuple(f for f in raw.columns if f.name == ROW_ID)
    ends = any(f.name == UPPER for f in transform.period)
    passed = transform.plain_columns
    marked = {} if transform.period else columns.watermark_names
    visible_key = tuple(passed.get(c, "") for c in raw.primary_key)
    return replace(
        raw,
        columns=(*transform.fields, *hidden),
        stream_key=transform.key or raw.stream_key,
        mode=ChangelogMode.RETRACT if ends else raw.mode,
        watermarks=tuple((marked[c], group) for c, group in raw.watermarks if c in marked),
        primary_key=visible_key if all(visible_key) else (),
        metadata=tuple(passed[c] for c in raw.metadata if c in passed),
        static=raw.static and not transform.period,
    )


def _metadata(columns: Declaration) -> tuple[str, ...]:
    """Return the columns that each message brings about itself, though the row is the same."""
    return tuple(c.name for c in columns.columns if c.metadata is not None)


def _fields(columns: Declaration) -> Schema:
    return tuple(Field(c.name, c.type, not c.not_null) for c in columns.columns)
