"""Sinks into tables: brings the query's columns to those of the target."""

from __future__ import annotations

from floodmark.catalog.objects import CatalogObject, ObjectKind, Relation
from floodmark.catalog.option_table import FORCED, KEEPING
from floodmark.changelog import ChangelogMode, is_hidden
from floodmark.errors import BindError, NotSupported
from floodmark.plan import nodes as n
from floodmark.plan.bind.assignment import convert
from floodmark.plan.build.targets import check_writable, not_writable
from floodmark.plan.declaration import ColumnInfo, Declaration
from floodmark.plan.expr.expressions import ColumnRef, Expr, Literal
from floodmark.scalar.types import UNKNOWN, Field, Kind
from floodmark.sql import statements as s
from floodmark.stream.operators.lower import StreamPlan, lower
from floodmark.stream.passes.keep_keys import keep_keys


def fit_to_target(
    source: StreamPlan, sink: CatalogObject, target: Relation, declared: Declaration | None
) -> StreamPlan:
    """Return the sink's plan with exactly the target's columns, then hidden keys.

    By name with a column list, by position without; missing columns take their defaults.
    """
    statement = sink.statement
    assert isinstance(statement, s.CreateSink)
    if declared is None or target.kind is not ObjectKind.TABLE:
        raise BindError(
            "E0225",
            f'"{target.name}" is not a table',
            span=_target_span(statement),
            hint="a sink writes into a table: CREATE TABLE … first",
        )
    check_writable(target.name, external=target.external, span=_target_span(statement))
    _check_modes(source, sink, target, declared)
    columns = _columns(source, statement, declared)
    fitted = keep_keys(n.Project(source.root, tuple(columns), span=statement.span))
    return lower(_with_generated(fitted, declared, statement))


def target_columns(
    source: StreamPlan, sink: CatalogObject, declared: Declaration
) -> tuple[str, ...]:
    """Return the target's columns that the query fills; the others get their defaults."""
    assert isinstance(sink.statement, s.CreateSink)
    shown = [f for f in source.root.schema if not is_hidden(f.name)]
    return tuple(_target_names(sink.statement, declared, shown)[: len(shown)])


def target_key_columns(plan: StreamPlan, target: Relation) -> tuple[str, ...]:
    """Return the columns that settle the target's key: all of them where some are generated."""
    names = plan.root.names
    if all(column in names for column in target.primary_key):
        return target.primary_key
    return tuple(name for name in names if not is_hidden(name))


def _with_generated(node: n.Node, declared: Declaration, statement: s.CreateSink) -> n.Node:
    """Return the rows with the columns that the table generates of them."""
    if not any(c.generated is not None for c in declared.columns):
        return node
    own = [(c.name, c.generated or ColumnRef(c.type, c.name)) for c in declared.columns]
    kept = [(f.name, ColumnRef(f.type, f.name)) for f in node.schema if is_hidden(f.name)]
    return n.Project(node, (*own, *kept), span=statement.span)


def check_sole_writer(plan: StreamPlan, statement: s.CreateSink, target: str) -> None:
    """Raise E0358 for a sink that takes rows back by key alone, into a table with other writers.

    An inner lookup that keeps no state does not know whether it has written the row of a key.
    """
    for node in plan.nodes:
        inner = n.is_lookup(node) and node.kind is n.JoinKind.INNER
        if inner and plan[node].own_table:
            raise NotSupported(
                "E0358",
                f'the sink deletes rows of "{target}" by key, but other writers write that '
                "table, too",
                span=node.span or _target_span(statement),
                hint="put the lookup join into a materialized view and let the sink read that, "
                "or use a LEFT JOIN",
            )


def _target_span(statement: s.CreateSink):  # type: ignore[no-untyped-def]
    return statement.into.span if statement.into is not None else statement.name.span


def keeps_rows(sink: CatalogObject) -> bool:
    """Tell whether what the query takes back stays; updates are inserts."""
    return sink.is_on(FORCED) or sink.is_on(KEEPING)


def _check_modes(
    source: StreamPlan, sink: CatalogObject, target: Relation, declared: Declaration
) -> None:
    """Refuse a query whose updates the target has no use for, or no way to take."""
    if source[source.root].mode is ChangelogMode.APPEND_ONLY or sink.is_on(FORCED):
        return
    forced = f"WITH ({FORCED} = 'true') drops deletes and inserts the new rows of updates"
    statement = sink.statement
    assert isinstance(statement, s.CreateSink)
    if sink.word("type") == "append-only":
        raise BindError(
            "E0706",
            "The sink cannot be append-only: the query updates its rows.",
            span=_target_span(statement),
            hint=forced,
        )
    if not declared.primary_key:
        raise BindError(
            "E0226",
            f'the query updates its rows, but "{target.name}" has no primary key to update by',
            span=_target_span(statement),
            hint=f"give the table a PRIMARY KEY, or EMIT ON WINDOW CLOSE in the sink; {forced}",
        )
    if declared.append_only:
        raise BindError(
            "E0226",
            f'the query updates its rows, but "{target.name}" is append-only',
            span=_target_span(statement),
            hint=f"leave APPEND ONLY out of the table; {forced}",
        )
    if declared.conflict.action is s.ConflictAction.UPDATE_SET:
        raise BindError(
            "E0705",
            f'"{target.name}" computes with each new row (ON CONFLICT DO UPDATE SET), but the sink '
            f"{sink.base_name} updates its rows, and the effect of old rows cannot be undone",
            span=_target_span(statement),
            hint=f"in the sink {sink.base_name}: {forced}",
        )


def _columns(
    source: StreamPlan, statement: s.CreateSink, declared: Declaration
) -> list[tuple[str, Expr]]:
    shown = [f for f in source.root.schema if not is_hidden(f.name)]
    given = dict(zip(_target_names(statement, declared, shown), shown, strict=True))
    missing_keys = [
        k for k in declared.primary_key if k not in given and not _is_generated(declared, k)
    ]
    if missing_keys:
        raise BindError(
            "E0227",
            f'the sink does not write the key column "{missing_keys[0]}"',
            span=_target_span(statement),
            hint="every primary key column must come from the query",
        )
    untyped = {f.name: _null_field(source.root, f) for f in shown}
    fields = {name: untyped[f.name] for name, f in given.items()}
    plain = (c for c in declared.columns if c.generated is None)
    return [(c.name, _value(c, fields.get(c.name), statement)) for c in plain]


def _null_field(root: n.Node, field: Field) -> Field:
    """Return the column, of unknown type where the query gives a bare NULL."""
    if isinstance(root, n.Project):
        expr = dict(root.columns)[field.name]
        if isinstance(expr, Literal) and expr.value is None:
            return Field(field.name, UNKNOWN)
    return field


def _is_generated(declared: Declaration, name: str) -> bool:
    return any(c.name == name and c.generated is not None for c in declared.columns)


def _target_names(statement: s.CreateSink, declared: Declaration, shown: list[Field]) -> list[str]:
    writable = [c.name for c in declared.columns if c.generated is None]
    names = list(statement.target_columns) or writable[: len(shown)]
    if len(shown) > len(names) or (statement.target_columns and len(shown) != len(names)):
        raise BindError(
            "E0228",
            f"the query has {len(shown)} columns, the target takes {len(names)}",
            span=_target_span(statement),
            hint="list the target columns that the query fills",
        )
    for name in names:
        if name not in writable:
            raise not_writable(name, declared.columns, _target_span(statement))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise BindError(
            "E0229",
            f'column "{twice}" is named twice',
            span=_target_span(statement),
            hint="name it once",
        )
    return names


def _value(column: ColumnInfo, given: Field | None, statement: s.CreateSink) -> Expr:
    if given is None:
        return column.default or Literal(column.type, None)
    ref = ColumnRef(given.type, given.name)
    if given.type == column.type:
        return ref
    if given.type.kind is Kind.UNKNOWN:
        return Literal(column.type, None)
    if _widens(given, column):
        return convert(ref, column.type)
    raise BindError(
        "E0230",
        f'column type mismatch: "{column.name}" is {column.type}, the query gives {given.type}',
        span=_target_span(statement),
        hint=f"cast it in the query: CAST(… AS {column.type}) AS {column.name}",
    )


def _widens(given: Field, column: ColumnInfo) -> bool:
    """Tell whether the conversion loses nothing, so that it needs no cast in the query."""
    order = (Kind.SMALLINT, Kind.INT, Kind.BIGINT)
    if given.type.kind in order and column.type.kind in order:
        return order.index(given.type.kind) <= order.index(column.type.kind)
    if given.type.is_integer and column.type.kind is Kind.NUMERIC:
        return (column.type.precision or 0) - (column.type.scale or 0) >= 19
    return given.type.kind is Kind.REAL and column.type.kind is Kind.DOUBLE
