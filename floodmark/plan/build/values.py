"""VALUES: rows of expressions, brought to the types of their columns."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from floodmark.errors import BindError, Span
from floodmark.plan import nodes as n
from floodmark.plan.bind.assignment import assign, is_default
from floodmark.plan.bind.binder import Binder
from floodmark.plan.bind.coercion import with_digits
from floodmark.plan.bind.scope import QueryScope
from floodmark.plan.build.constant_rows import rows_with_types
from floodmark.plan.build.outputs import ColumnTypes
from floodmark.plan.build.protocol import QueryBuilder
from floodmark.plan.expr.expressions import Expr, Literal
from floodmark.scalar.promotion import common_type
from floodmark.scalar.types import BIGINT, Field, Kind, SqlType
from floodmark.sql.nodes import ConstantRows


def build_values(builder: QueryBuilder, query: exp.Values, given: ColumnTypes) -> n.Node:
    """Return rows of values, each cast for itself where the types of the columns are known."""
    binder, span = Binder(QueryScope(), builder.context), builder.span(query)
    first = query.expressions[0]
    if isinstance(first, ConstantRows):
        rows = list(rows_with_types(first, given, binder))
    else:
        rows = [
            tuple(_value(e, i, given, binder) for i, e in enumerate(_row(item)))
            for item in query.expressions
        ]
    if len({len(row) for row in rows}) != 1:
        raise BindError(
            "E0215",
            "the rows of VALUES differ in length",
            span=span,
            hint="write the same number of values in each row",
        )
    if len(rows[0]) <= len(given.types):
        return _values_node(rows, given.types[: len(rows[0])], span)
    types = []
    rows = list(zip(*(with_digits(c) for c in zip(*rows, strict=True)), strict=True))
    for i, column in enumerate(zip(*rows, strict=True)):
        type_ = common_type(tuple(e.type for e in column))
        if type_ is None:
            raise BindError(
                "E0214",
                f"column {i + 1} of VALUES mixes types that have no common one",
                span=span,
                hint="cast the values",
            )
        if all(isinstance(e, Literal) and e.type.kind is Kind.UNKNOWN for e in column):
            given.untyped[i] = column[0]
        types.append(type_)
    return _values_node(rows, types, span)


def _row(item: exp.Expression) -> list[exp.Expression]:
    return list(item.expressions) if isinstance(item, exp.Tuple) else [item]


def _value(e: exp.Expression, i: int, given: ColumnTypes, binder: Binder) -> Expr:
    if is_default(e) and i < len(given.defaults):
        return given.defaults[i]
    return binder.bind_with_type(e, given.types[i]) if i < len(given.types) else binder.bind(e)


def _values_node(
    rows: list[tuple[Expr, ...]], types: Sequence[SqlType], span: Span | None
) -> n.Node:
    ordinal = Field("__ordinal", BIGINT, nullable=False)
    schema = (*(Field(f"column{i + 1}", t) for i, t in enumerate(types)), ordinal)
    typed = tuple(
        (
            *(assign(e, t, span=span) for e, t in zip(row, types, strict=True)),
            Literal(BIGINT, i),
        )
        for i, row in enumerate(rows)
    )
    return n.Values(typed, schema, span=span)
