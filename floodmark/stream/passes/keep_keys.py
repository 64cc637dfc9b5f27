"""Adds, hidden, the stream-key columns that a projection drops."""

from __future__ import annotations

from dataclasses import replace

from floodmark.changelog import HIDDEN_PREFIX, LEFT_ROW, UNION_KEY
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Cast, ColumnRef, Expr, Literal, columns_of
from floodmark.scalar.types import BOOLEAN, VARCHAR
from floodmark.stream.operators.walks import key_of
from floodmark.stream.properties import stream_key
from floodmark.stream.properties.aggregate_calls import aggregate_of

KeyedPlan = tuple[n.Node, tuple[str, ...]]


def keep_keys(root: n.Node) -> n.Node:
    """Return the plan with every projection extended by the key columns that it drops."""
    return _with_key(root)[0]


def keep_order_keys(root: n.Node) -> n.Node:
    """Return a query's plan with keys where these say which of two rows comes first."""
    ordered = any(isinstance(node, n.OverWindow) or _is_ordered(node) for node in n.walk(root))
    return keep_keys(root) if ordered else root


def _is_ordered(node: n.Node) -> bool:
    """Tell whether what comes out depends on the order of the input."""
    if not isinstance(node, n.Aggregate):
        return node.limits_rows
    return any(aggregate_of(call).order_sensitive for _, call in node.aggregates)


def _with_key(node: n.Node) -> KeyedPlan:
    children = [_with_key(child) for child in node.inputs]
    if isinstance(node, n.Pairing):
        children[0] = _apart(children[0], _join_columns(node) & set(node.right.names))
        children[0] = _mark_left_rows(node, *children)
        children[1] = _apart(children[1], set(children[0][0].names))
    if isinstance(node, n.ProjectSet):
        children[0] = _apart(children[0], {*node.outputs, node.ordinal})
    rebuilt = _rebuild(node, children)
    return rebuilt, key_of(rebuilt, tuple(key for _, key in children))


def _join_columns(node: n.Pairing) -> set[str]:
    """Return the columns by which a join pairs rows: they keep their names."""
    residual = frozenset() if node.residual is None else columns_of(node.residual)
    return {*residual, *(c for pair in node.equi for c in pair)}


def _rebuild(node: n.Node, children: list[KeyedPlan]) -> n.Node:
    match node:
        case n.Project() | n.MaterializeProject():
            (child, key) = children[0]
            return replace(node, input=child, columns=with_key(node.columns, child, key))
        case n.UnionAll():
            return replace(node, branches=_align(children))
        case _:
            return node.with_inputs([child for child, _ in children])


def with_key(
    columns: tuple[tuple[str, Expr], ...], child: n.Node, key: tuple[str, ...]
) -> tuple[tuple[str, Expr], ...]:
    """Return the projection's columns followed by the key columns that are not among them."""
    passed = {c for name, expr in columns for c in _passes(name, expr)}
    taken = {name for name, _ in columns}
    extra: list[tuple[str, Expr]] = []
    for column in key:
        if column in passed:
            continue
        name = hidden_name(column, taken)
        taken.add(name)
        extra.append((name, ColumnRef(child.field(column).type, column)))
    return (*columns, *extra)


def _passes(name: str, expr: Expr) -> tuple[str, ...]:
    """Return the input column that an output column stands for; its text does, below a union."""
    match expr:
        case ColumnRef():
            return (expr.name,)
        case Cast(operand=ColumnRef() as column) if name.startswith(UNION_KEY):
            return (column.name,)
        case _:
            return ()


def hidden_name(column: str, taken: set[str]) -> str:
    """Return a hidden name for a column that is not taken, and that no operator gives.

    >>> hidden_name("id", {"__key_id"}), hidden_name("__row_id", set())
    ('__key_id_1', '__row_id')
    """
    base = column if column.startswith(HIDDEN_PREFIX) else f"{HIDDEN_PREFIX}key_{column}"
    name, count = base, 0
    while name in taken:
        count += 1
        name = f"{base}_{count}"
    return name


def _apart(side: KeyedPlan, taken: set[str]) -> KeyedPlan:
    """Rename the hidden columns that one side has been given and the other has, too.

    What the join reads of the right side must not be among them.
    """
    node, key = side
    if not taken & set(node.names):
        return side
    names: dict[str, str] = {}
    for name in node.names:
        others = taken | set(names.values()) | set(node.names)
        names[name] = hidden_name(name, others) if name in taken else name
    columns = tuple((names[f.name], ColumnRef(f.type, f.name)) for f in node.schema)
    return n.Project(node, columns), tuple(names[column] for column in key)


def _mark_left_rows(node: n.Pairing, left: KeyedPlan, right: KeyedPlan) -> KeyedPlan:
    """Add a constant to the left side of a full join where its key may be NULL in all columns.

    A row of each side without a match would have the same key: the constant is of the left one.
    """
    below, key = left
    columns = (*key, *right[1], *(c for pair in node.equi for c in pair))
    note = stream_key.left_row(node) or stream_key.tells_padding(node, columns)
    if node.kind is not n.JoinKind.FULL or note:
        return left
    name = hidden_name(LEFT_ROW, {*below.names, *right[0].names})
    return n.Project(below, (*below.identity, (name, Literal(BOOLEAN, True)))), key


def _align(children: list[KeyedPlan]) -> tuple[n.Node, ...]:
    """Give the branches of a union one schema: visible columns, then keys under common names."""
    if all(_is_aligned(child) for child, _ in children):
        # A plan that has its keys already comes here again when it was rewritten.
        return tuple(child for child, _ in children)
    visible = len([f for f in children[0][0].schema if not f.name.startswith(HIDDEN_PREFIX)])
    names = [f.name for f in children[0][0].schema[:visible]]
    width = max(len(key) for _, key in children)
    branches = []
    for child, key in children:
        shown = [ColumnRef(f.type, f.name) for f in child.schema[:visible]]
        columns: list[tuple[str, Expr]] = list(zip(names, shown, strict=True))
        columns += [(f"{UNION_KEY}{i}", _key_part(child, key, i)) for i in range(width)]
        branches.append(n.Project(child, tuple(columns)))
    return tuple(branches)


def _is_aligned(branch: n.Node) -> bool:
    if not isinstance(branch, n.Project):
        return False
    own = [expr for name, expr in branch.columns if name.startswith(UNION_KEY)]
    return bool(own) and not any(isinstance(expr, ColumnRef) for expr in own)


def _key_part(child: n.Node, key: tuple[str, ...], i: int) -> Expr:
    """Return the i-th key column as text: branches may have keys of different types."""

    if i >= len(key):
        return Literal(VARCHAR, None)
    return Cast(VARCHAR, ColumnRef(child.field(key[i]).type, key[i]))
