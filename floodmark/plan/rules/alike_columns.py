"""Conditions on one column, derived for another column that must equal it.

Of `a.k = b.k AND a.k < 5` both sides are read `WHERE k < 5`. Spark would infer it, too, and with it
what holds of every other part of a plan, which is no bounded work (ADR 0019).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Call, ColumnRef, Expr, Literal, transform
from floodmark.scalar.types import Kind

_COMPARISONS = ("=", "<", "<=", ">", ">=", "in")
_SEVERAL = (Kind.REAL, Kind.DOUBLE, Kind.INTERVAL, Kind.JSONB, Kind.LIST, Kind.STRUCT, Kind.MAP)
"""Types in which equal values need not be the same."""
_NEEDS_RIGHT = (n.JoinKind.INNER, n.JoinKind.RIGHT, n.JoinKind.SEMI)
ColumnPair = tuple[str, str]


def infer_conditions(
    join: n.Join, to_left: Sequence[Expr], to_right: Sequence[Expr]
) -> tuple[Sequence[Expr], Sequence[Expr]]:
    """Return conditions that each side of a join can have besides: pairs need the other's value.

    A side that is kept without a partner gets none.
    """
    equal = [*join.equi, *_pairs(join.left), *_pairs(join.right)]
    left = _conditions_on(join.left, to_right, equal) if join.kind in _NEEDS_RIGHT else ()
    right = () if join.kind.pads_left else _conditions_on(join.right, to_left, equal)
    return (
        [part for part in left if part not in to_left],
        [part for part in right if part not in to_right],
    )


def _pairs(node: n.Node) -> Iterator[ColumnPair]:
    """Yield the columns of a node that are equal in all of its rows, as far as joins say so."""
    if isinstance(node, n.Join) and node.kind is n.JoinKind.INNER:
        yield from node.equi
        for side in node.inputs:
            yield from _pairs(side)


def _conditions_on(
    node: n.Node, parts: Sequence[Expr], equal: Sequence[ColumnPair]
) -> Iterator[Expr]:
    """Yield conditions on columns of the other side, put on the equal columns of a node."""
    for part in parts:
        column = _compare_column(part)
        if column is None:
            continue
        for name in _equal_columns(column.name, equal):
            field = next((f for f in node.schema if f.name == name), None)
            if field is not None and field.type == column.type:
                yield _rename_column(part, ColumnRef(field.type, name))


def _equal_columns(column: str, equal: Sequence[ColumnPair]) -> list[str]:
    """Return the columns that are equal to one, by way of others, too; in a fixed order."""
    known = [column]
    for one in known:
        for a, b in equal:
            known += [c for c, d in ((b, a), (a, b)) if d == one and c not in known]
    return known[1:]


def _compare_column(part: Expr) -> ColumnRef | None:
    """Return the column that a condition compares with constants."""
    if not isinstance(part, Call) or part.function not in _COMPARISONS:
        return None
    columns = [a for a in part.args if isinstance(a, ColumnRef)]
    others = [a for a in part.args if not isinstance(a, ColumnRef)]
    if len(columns) != 1 or not all(isinstance(a, Literal) for a in others):
        return None
    return None if columns[0].type.kind in _SEVERAL else columns[0]


def _rename_column(part: Expr, column: ColumnRef) -> Expr:
    return transform(part, lambda e: column if isinstance(e, ColumnRef) else e)
