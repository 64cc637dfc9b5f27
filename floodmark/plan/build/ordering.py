"""ORDER BY with LIMIT, OFFSET, FETCH FIRST … WITH TIES; DISTINCT ON."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from sqlglot import exp

from floodmark.changelog import is_hidden
from floodmark.errors import BindError, Span
from floodmark.plan import nodes as n
from floodmark.plan.bind.scope import unknown_column
from floodmark.plan.bind.wide_numbers import is_wide
from floodmark.plan.build.outputs import position_of
from floodmark.plan.build.protocol import QueryBuilder


def limit_rows(
    builder: QueryBuilder, node: n.Node, query: exp.Expression, keys: tuple[n.SortKey, ...]
) -> n.Node:
    """Return the rows in order, those that LIMIT and OFFSET let through."""
    clause = query.args.get("limit")
    limit = _number(builder, clause)
    offset = _number(builder, query.args.get("offset")) or 0
    if not keys and limit is None and not offset:
        return node
    span = builder.span(query.args.get("order") or query.args.get("limit"))
    ties = isinstance(clause, exp.Fetch)
    if ties and not keys:
        raise BindError(
            "E0294",
            "WITH TIES needs an ORDER BY",
            span=builder.span(clause),
            hint="FETCH FIRST … ROWS ONLY takes any rows",
        )
    return n.TopN(node, (), keys, limit, offset, ties, span=span)


def _number(builder: QueryBuilder, clause: exp.Expression | None) -> int | None:
    if clause is None:
        return None
    value = clause.args.get("expression") or clause.args.get("count") or clause.this
    if isinstance(value, exp.Null):
        return None
    hint = "write the number; for one that changes, filter on row_number() OVER (ORDER BY …)"
    if not isinstance(value, exp.Literal) or value.is_string:
        raise builder.refuse("E0343", "LIMIT and OFFSET need a number", clause, hint)
    number = None if is_wide(value.this) else Decimal(value.this)
    if number is None or number >= 1 << 63 or number != number.to_integral_value():
        hint = "leave LIMIT out where all rows are wanted"
        text = f"LIMIT and OFFSET need a whole number of at most 64 bits, not {value.this[:40]}"
        raise builder.refuse("E0343", text, clause, hint)
    return int(number)


def order_rows(builder: QueryBuilder, node: n.Node, query: exp.Expression) -> n.Node:
    """Apply ORDER BY and LIMIT over output columns (set operations, parentheses)."""
    order = query.args.get("order")
    keys = []
    for key in order.expressions if order is not None else ():
        position = position_of(key.this)
        shown = [name for name in node.names if not is_hidden(name)]
        name = shown[position - 1] if position and position <= len(shown) else key.this.name
        if not name:
            raise BindError(
                "E0277",
                "ORDER BY after a set operation takes only columns of its result",
                span=builder.span(key),
                hint="use their names or positions; for an expression, SELECT … FROM (…) AS q "
                "ORDER BY …",
            )
        if position and name not in node.names:
            raise BindError(
                "E0216",
                f"position {position} is not in the select list",
                span=builder.span(key),
                hint=f"it has {len(shown)} columns",
            )
        if name not in node.names:
            raise unknown_column(name, shown, builder.span(key))
        keys.append(n.SortKey(name, bool(key.args.get("desc")), bool(key.args.get("nulls_first"))))
    return limit_rows(builder, node, query, tuple(keys))


def distinct_on(
    node: n.Node, columns: Sequence[str], keys: Sequence[n.SortKey], span: Span | None
) -> n.Node:
    """Return the first row per value of some columns.

    Raises E0295 where ORDER BY does not begin with these columns.
    """
    open_ = set(columns)
    for key in keys:
        if open_ and key.column not in columns:
            raise BindError(
                "E0295",
                "ORDER BY must begin with the expressions of DISTINCT ON",
                span=span,
                hint="SELECT DISTINCT ON (k) … ORDER BY k, …",
            )
        open_.discard(key.column)
    order = tuple(key for key in keys if key.column not in columns)
    return n.TopN(node, tuple(dict.fromkeys(columns)), order, 1, span=span)


def one_of_each(node: n.Node, key: tuple[str, ...]) -> n.Node:
    """Return one row of each key, whichever comes first."""
    return n.TopN(node, key, (), 1)
