"""The check of what keeps the first rows of groups, or numbers the rows of each."""

from __future__ import annotations

from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import columns_of
from floodmark.stream.properties.determinism_check import NONE, Columns, DeterminismCheck
from floodmark.stream.properties.nondeterministic_exprs import nondeterministic_exprs


def check_first_rows(
    node: n.OrderedNode,
    number: str | None,
    required: Columns,
    needed: Columns,
    check: DeterminismCheck,
) -> None:
    """Hand on what the first rows of groups require; `number` is the column that is made here."""
    below, made = node.input, frozenset(() if number is None else (number,))
    used = frozenset((*node.scope, *(k.column for k in node.keys)))
    inner = (needed | used) - made
    if check.appends(below):
        check.hand(below, NONE, inner)
        return
    if check.strict:
        check.hand(below, (required | used) - made, inner)
        return
    keyed = any(key >= frozenset(node.scope) for key in check.keys(below, inner))
    if keyed and all(_only_grows(below, k, check) for k in node.keys):
        check.hand(below, required - used - made, inner)
        return
    check.hand(below, inner, inner)


def _only_grows(node: n.Node, key: n.SortKey, check: DeterminismCheck) -> bool:
    """Tell whether a sort key moves rows only forwards: a count over rows that only come."""
    column = key.column
    while isinstance(node, n.Project):
        expr = dict(node.columns)[column]
        reads = columns_of(expr)
        if len(reads) != 1 or nondeterministic_exprs((expr,)):
            return False
        (column,) = reads
        node = node.input
    if not isinstance(node, n.Aggregate) or not key.descending:
        return False
    call = dict(node.aggregates).get(column)
    return call is not None and call.function == "count" and check.appends(node.input)
