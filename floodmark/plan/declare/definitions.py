"""Sources and tables as declared: columns with types, defaults and generated values, watermarks."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from floodmark.catalog.objects import CatalogObject, ObjectKind
from floodmark.errors import BindError, Span
from floodmark.plan.bind.assignment import assign
from floodmark.plan.bind.binder import bind_scalar
from floodmark.plan.bind.coercion import bind_type
from floodmark.plan.bind.context import BindContext
from floodmark.plan.bind.scope import Column, QueryScope, Source, unknown_column
from floodmark.plan.declaration import LOOKUP, PLAIN, UPSERT, ColumnInfo, Declaration, WatermarkInfo
from floodmark.plan.declare.clock_options import clock_options
from floodmark.plan.declare.conflicts import (
    bind_conflict,
    check_append_only,
    default_of,
)
from floodmark.plan.declare.expiry import expiring
from floodmark.plan.declare.format_options import format_options
from floodmark.plan.declare.table_options import HARMLESS_OPTIONS, without_ttl
from floodmark.plan.expr.determinism import asks_again, class_of
from floodmark.plan.expr.expressions import Expr, Now, walk
from floodmark.scalar.functions import Determinism
from floodmark.scalar.functions.user import UserFunction
from floodmark.scalar.types import INTERVAL, TIMESTAMPTZ, SqlType
from floodmark.sql import statements as s
from floodmark.sql.spans import span_of

FEED = ("delta", "change_feed")
"""The connector and mode whose rows are changes by key without any FORMAT."""


def declare_columns(
    obj: CatalogObject, functions: Mapping[str, UserFunction] | None = None
) -> Declaration:
    """Return the bound declaration of a source or table; `functions` are those of users.

    Raises E0220 and following for what does not fit together.
    """
    st = obj.statement
    assert isinstance(st, s.CreateSource | s.CreateTable)
    if not any(o.name == "connector" for o in st.options):
        _refuse_without_connector(st)
    _refuse_generated_of_generated(st)
    context = BindContext(source=st.span, functions=functions or {})
    typed = tuple((c, _type_of(c)) for c in st.columns)
    plain = tuple(Column(c.name, c.name, t) for c, t in typed if t is not None)
    scope = QueryScope.from_sources(Source(obj.base_name, plain))
    key = primary_key_of(st)
    check_append_only(st, key)
    columns = tuple(_column(c, t, scope, context, key) for c, t in typed)
    columns += tuple(ColumnInfo(i.name, TIMESTAMPTZ, metadata=i.kind) for i in st.includes)
    options = (*((o.name.lower(), o.value) for o in st.options), *format_options(st))
    format_ = _format_of(st, dict(options))
    watermarks = tuple(_watermark(w, scope, context) for w in st.watermarks)
    connector = dict(options).get("connector")
    conflict = getattr(st, "conflict", None)
    ends = expiring(st, {c.name: c.type for c in columns}, key)
    declared = Declaration(
        columns=columns,
        primary_key=key,
        watermarks=watermarks,
        append_only=st.append_only or (isinstance(st, s.CreateSource) and format_ == PLAIN),
        options=tuple(o for o in without_ttl(options) if o[0] not in HARMLESS_OPTIONS),
        connector=connector,
        format=format_,
        encode=_encode_of(st, dict(options)),
        clock=clock_options(
            st.options,
            {mark.column: mark.expr.type for mark in watermarks},
            connected=connector is not None,
            shared=obj.part is not None,
            span=st.name.span,
        ),
        conflict=default_of(st, key)
        if conflict is None
        else bind_conflict(conflict, columns, key, obj.base_name, context),
        ttl=ends.ttl,
        ttl_column=ends.ttl_column,
        harmless_options=tuple(o for o in options if o[0] in HARMLESS_OPTIONS),
        resolved=obj.resolved,
    )
    _check(declared, st)
    return declared


def _format_of(st: s.CreateSource | s.CreateTable, options: Mapping[str, str]) -> str:
    """Return the format that is declared, or the one that the connector's mode stands for."""
    declared = st.format.format if st.format is not None else PLAIN
    feeds = (options.get("connector"), options.get("mode")) == FEED
    return UPSERT if feeds and declared == PLAIN else declared


def _encode_of(st: s.CreateSource | s.CreateTable, options: Mapping[str, str]) -> str:
    """Return the encoding that FORMAT … ENCODE says, else an option, else JSON."""
    if st.format is not None:
        return st.format.encode or "JSON"
    return options.get("encode", options.get("format", "JSON")).upper()


def _check(declared: Declaration, st: s.CreateSource | s.CreateTable) -> None:
    """Refuse declarations that do not fit together."""
    if declared.is_messages:
        if declared.append_only:
            raise BindError(
                "E0139",
                f"rows of FORMAT {declared.format} change: they are not APPEND ONLY",
                span=st.name.span,
                hint="leave APPEND ONLY out, or read the messages as rows with FORMAT PLAIN",
            )
        _check_key(declared, st.name.span if st.format is None else st.format.span)
    _check_key_types(declared, st.name.span)
    if declared.connector is not None:
        _check_repeatable(declared)


def _check_key_types(declared: Declaration, span: Span | None) -> None:
    """Refuse a key of intervals: several are equal that are not the same."""
    types = {c.name: c.type for c in declared.columns}
    for column in declared.primary_key:
        if types[column] == INTERVAL:
            raise BindError(
                "E0246",
                f'the key column "{column}" is of type interval',
                span=span,
                hint="take another key, or the interval's length: extract(epoch FROM …) as BIGINT",
            )


def _check_repeatable(declared: Declaration) -> None:
    """Refuse what another try of an epoch would give a row that has gone aside in the first one."""
    for column in declared.columns:
        if column.generated is not None and asks_again(column.generated):
            raise BindError(
                "E0245",
                f'the generated column "{column.name}" calls a function that is not IMMUTABLE',
                span=column.generated.span,
                hint="call it in a materialized view, which stores the value; or declare it "
                "IMMUTABLE",
            )


def _check_key(declared: Declaration, span: Span | None) -> None:
    """Refuse messages that nothing tells the row of."""
    said = f"FORMAT {declared.format}"
    if declared.connector == FEED[0]:
        said = f"mode = '{FEED[1]}'"
    if not declared.primary_key:
        raise BindError(
            "E0240",
            f"{said} needs a primary key: a message names the row that it changes by its key",
            span=span,
            hint="add PRIMARY KEY (…) with the key columns of the table that sends the messages",
        )
    delivered = {f.name for f in declared.physical}
    for column in declared.primary_key:
        if column not in delivered:
            raise BindError(
                "E0241",
                f'the key column "{column}" is not in the messages of {said}',
                span=span,
                hint="a key column cannot be generated or METADATA",
            )


def _refuse_without_connector(st: s.CreateSource | s.CreateTable) -> None:
    if isinstance(st, s.CreateSource):
        raise BindError(
            "E0220",
            "a source needs a connector",
            span=st.name.span,
            hint="WITH (connector = 'files', path = '…')",
        )
    for column in st.columns:
        if column.metadata_from is not None:
            raise BindError(
                "E0243",
                f"a table without a connector has no metadata {column.metadata_from!r}",
                span=column.span,
                hint="add WITH (connector = …), or leave METADATA FROM out",
            )


def _refuse_generated_of_generated(st: s.CreateSource | s.CreateTable) -> None:
    """Refuse a generated column that reads another one: all are computed of the row as it came."""
    generated = {c.name for c in st.columns if c.generated is not None}
    for column in st.columns:
        named = () if column.generated is None else column.generated.find_all(exp.Column)
        for read in named:
            if read.name in generated and not read.table:
                raise BindError(
                    "E0140",
                    f'the generated column "{column.name}" reads "{read.name}", which is generated',
                    span=span_of(read, st.span),
                    hint="write its expression out, or compute one of them in a view",
                )


def _type_of(column: s.ColumnDef) -> SqlType | None:
    return None if column.type is None else bind_type(column.type.type, column.type.span)


def primary_key_of(st: s.CreateSource | s.CreateTable) -> tuple[str, ...]:
    """Return the columns of the declared primary key, () where there is none."""
    if st.primary_key is not None:
        names = {c.name for c in st.columns}
        for column in st.primary_key.columns:
            if column not in names:
                raise unknown_column(column, names, st.primary_key.span)
        return st.primary_key.columns
    return tuple(c.name for c in st.columns if c.primary_key)


def _column(
    column: s.ColumnDef,
    type_: SqlType | None,
    scope: QueryScope,
    context: BindContext,
    key: tuple[str, ...],
) -> ColumnInfo:
    generated = default = None
    if column.generated is not None:
        generated = bind_scalar(column.generated, scope, context, target=type_)
        if type_ is not None:
            generated = assign(generated, type_, name=column.name, span=column.span)
        _check_generated(column, generated, in_key=column.name in key)
        type_ = generated.type
    if column.default is not None and type_ is not None:
        default = bind_scalar(column.default, QueryScope(), context, target=type_)
        default = assign(default, type_, name=column.name, span=column.span)
    if type_ is None:
        raise BindError(
            "E0221",
            f'column "{column.name}" has no type',
            span=column.span,
            hint="write one, e.g. " + column.name + " BIGINT",
        )
    return ColumnInfo(
        column.name,
        type_,
        column.not_null or column.name in key,
        default,
        generated,
        column.metadata_from,
    )


def _check_generated(column: s.ColumnDef, expr: Expr, *, in_key: bool) -> None:
    if any(isinstance(e, Now) for e in walk(expr)):
        raise BindError(
            "E0222",
            f'the generated column "{column.name}" depends on the current time',
            span=column.span,
            hint="give it a DEFAULT, which is computed when the row comes, or compute it in a view",
        )
    if in_key and any(class_of(e) is not Determinism.DETERMINISTIC for e in walk(expr)):
        raise BindError(
            "E0242",
            f'the key column "{column.name}" is generated by a function that is not deterministic',
            span=column.span,
            hint="use a column of the row as the key; or a DEFAULT, for rows that come without a "
            "key",
        )


def _watermark(w: s.WatermarkDef, scope: QueryScope, context: BindContext) -> WatermarkInfo:
    column = scope.resolve(None, w.column, w.span)
    expr = bind_scalar(w.expression, scope, context)
    if expr.type != column.type:
        raise BindError(
            "E0223",
            "The return value type of the watermark expression must be identical to the watermark "
            f"column data type. Current data type of watermark return value: `{expr.type}`, "
            f"column `{column.type}`",
            span=w.span,
            hint=f"cast it: ({w.expression.sql('postgres')})::{column.type}",
        )
    if not column.type.is_orderable:
        raise BindError(
            "E0224",
            f"a watermark needs an ordered type, {column.type} is none",
            span=w.span,
            hint="use a timestamp or a number",
        )
    return WatermarkInfo(w.column, expr)


def check_external(obj: CatalogObject, declared: Declaration) -> None:
    """Raise E0398 for what a table that is kept elsewhere cannot have."""
    if declared.connector != LOOKUP:
        return
    computed = any(c.generated is not None or c.metadata is not None for c in declared.columns)
    if obj.kind is not ObjectKind.TABLE or computed or declared.watermarks:
        raise BindError(
            "E0398",
            "an external table is a TABLE with plain columns only",
            span=obj.statement.span,
            hint="CREATE TABLE t (k INT PRIMARY KEY, name VARCHAR) WITH (connector = 'lookup', …); "
            "compute in the query",
        )
