"""Stream keys: the columns that identify a row of a node's changelog.

`derive` asks for keys that the schema still has; `floodmark.stream.passes.keep_keys` is the rewrite
that adds hidden columns where a projection would drop one.
"""

from __future__ import annotations

from collections.abc import Iterable

from floodmark.changelog import is_hidden
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Cast, ColumnRef, Expr, Literal
from floodmark.scalar.types import VARCHAR
from floodmark.stream.properties.injective import injective_column

Key = tuple[str, ...]
UNION_KEY = "__union_key_"
"""Prefix of the hidden columns that hold, as text, the keys of a union's unlike branches."""
LEFT_ROW = "__left_row"
"""Prefix of hidden columns: TRUE in a full join's rows with a left row, NULL in the padded ones."""


def derive(node: n.Node, inputs: tuple[Key, ...]) -> Key:
    """Return the stream key of a node's output from the keys of its inputs."""
    match node:
        case n.Scan():
            return node.stream_key
        case n.Values():
            return tuple(c for c in node.names if is_hidden(c)) or node.names
        case n.Project() | n.MaterializeProject():
            return _project(node, inputs[0])
        case n.UnionAll():
            aligned = tuple(c for c in node.names if c.startswith(UNION_KEY))
            return (*(aligned or inputs[0]), node.ordinal)
        case n.Join() | n.LookupJoin():
            return join_key(node, *inputs)
        case n.Aggregate() | n.CloseAggregate():
            return node.group
        case n.Hop():
            return distinct(*inputs[0], node.start, node.end)
        case n.TopN():
            one = node.limit == 1 and not node.with_ties and not node.offset
            return node.group if one and node.group else distinct(*node.group, *inputs[0])
        case n.OverWindow():
            return distinct(*inputs[0], *node.partition)
        case n.SetOperation():
            return node.names
        case n.ProjectSet():
            return distinct(*inputs[0], node.ordinal)
        case _:
            return inputs[0]


def of(node: n.Node) -> Key:
    """Return the stream key of a node's output; the plan must keep its key columns."""
    return derive(node, tuple(of(child) for child in node.inputs))


def join_key(node: n.Join | n.LookupJoin, left: Key, right: Key) -> Key:
    """Return the key of a join.

    The side that the other one matches at most once identifies the pair alone; otherwise both
    keys and the equi columns, where the preserved (or left) one of an equal pair stands for both.
    A row that was looked up may have changed before the next one finds it: its key alone tells
    nothing.
    """
    if node.kind in (n.JoinKind.SEMI, n.JoinKind.ANTI):
        return left
    left_equi = _settled(node.left, {a for a, _ in node.equi})
    right_equi = _settled(node.right, {b for _, b in node.equi})
    if set(right) <= right_equi and not node.kind.pads_left:
        return left
    once = set(left) <= left_equi and not node.kind.pads_right
    if once and not isinstance(node, n.LookupJoin):
        return right
    if node.kind is n.JoinKind.FULL:
        told = () if (column := left_row(node)) is None else (column,)
        return distinct(*told, *left, *right, *(c for pair in node.equi for c in pair))
    if node.kind is n.JoinKind.RIGHT:
        stands_for = dict(node.equi)
        return distinct(*(stands_for.get(c, c) for c in left), *right, *(b for _, b in node.equi))
    stands_for = {b: a for a, b in node.equi}
    return distinct(*left, *(stands_for.get(c, c) for c in right), *(a for a, _ in node.equi))


def _settled(node: n.Node, columns: set[str]) -> set[str]:
    """Return the columns, and those that they are injective casts of: `ON q.big = u.k::bigint`."""
    if not isinstance(node, n.Project):
        return columns
    origins = {name: injective_column(expr) for name, expr in node.columns}
    known = {origin for name in columns if (origin := origins[name]) is not None}
    below = _settled(node.input, known)
    return columns | {name for name, origin in origins.items() if origin in below}


def left_row(node: n.Pairing) -> str | None:
    """Return the hidden column of a full join that tells which rows have a left row, if any."""
    columns = node.left.columns if isinstance(node.left, n.Project) else ()
    told = (c for c, e in columns if c.startswith(LEFT_ROW) and isinstance(e, Literal))
    return next(told, None) if node.kind is n.JoinKind.FULL else None


def tells_padding(node: n.Pairing, columns: Iterable[str]) -> bool:
    """Tell whether no two rows of a full join, padded on either side, are NULL in all columns."""
    told = {f.name for f in (*node.left.schema, *node.right.schema) if not f.nullable}
    return not told.isdisjoint(columns)


def _project(node: n.Project | n.MaterializeProject, key: Key) -> Key:
    passed = columns_passed(node.columns)
    missing = [column for column in key if column not in passed]
    assert not missing, f"a projection drops key columns {missing}"
    return tuple(passed[column] for column in key)


def columns_passed(columns: tuple[tuple[str, Expr], ...]) -> dict[str, str]:
    """Map input columns to output columns that determine them: themselves, or their text."""
    out: dict[str, str] = {}
    texts: dict[str, str] = {}
    for name, expr in columns:
        match expr:
            case ColumnRef():
                out.setdefault(expr.name, name)
            case Cast(operand=ColumnRef() as column) if expr.type == VARCHAR:
                texts.setdefault(column.name, name)
    return texts | out


def distinct(*columns: str) -> Key:
    return tuple(dict.fromkeys(columns))
