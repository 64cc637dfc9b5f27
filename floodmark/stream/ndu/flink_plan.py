"""What Flink's optimizer leaves of a plan before it checks it: outer joins that add nothing go.

A left join whose right columns nobody reads, and whose right side matches at most once, is its
left side; a right join mirrored.
"""

from __future__ import annotations

from dataclasses import replace

from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import columns_of
from floodmark.stream.operators.lower import StreamPlan, lower
from floodmark.stream.passes.rebuild import with_inputs

Columns = frozenset[str]


def without_idle_joins(plan: StreamPlan, needed: Columns) -> StreamPlan:
    """Return the plan without outer joins that add nothing; `needed` are columns of its root."""
    root = _rest(plan, plan.root, needed)
    return plan if root == plan.root else lower(root)


def _rest(plan: StreamPlan, node: n.Node, needed: Columns) -> n.Node:
    """Return what is left of a node; one of which nothing is known needs all that is below it."""
    match node:
        case n.Project():
            exprs = dict(node.columns)
            below = frozenset(c for name in needed for c in columns_of(exprs[name]))
            input_ = _rest(plan, node.input, below)
            have = set(input_.names)
            kept = tuple((name, e) for name, e in node.columns if columns_of(e) <= have)
            return replace(node, input=input_, columns=kept)
        case n.Filter():
            return replace(node, input=_rest(plan, node.input, needed | columns_of(node.predicate)))
        case n.Aggregate():
            reads = (columns_of(e) for _, call in node.aggregates for e in call.children)
            below = frozenset(node.group).union(*reads)
            return replace(node, input=_rest(plan, node.input, below))
        case n.Join():
            return _join(plan, node, needed)
        case _:
            everything = (frozenset(child.names) for child in node.inputs)
            rebuilt = (
                _rest(plan, c, names) for c, names in zip(node.inputs, everything, strict=True)
            )
            return with_inputs(node, tuple(rebuilt))


def _join(plan: StreamPlan, node: n.Join, needed: Columns) -> n.Node:
    lefts, rights = frozenset(node.left.names), frozenset(node.right.names)
    plain = node.residual is None
    one_right = plain and _matches_once(plan, node.right, frozenset(b for _, b in node.equi))
    one_left = plain and _matches_once(plan, node.left, frozenset(a for a, _ in node.equi))
    if node.kind is n.JoinKind.LEFT and one_right and not needed & rights:
        return _rest(plan, node.left, needed)
    if node.kind is n.JoinKind.RIGHT and one_left and not needed & lefts:
        return _rest(plan, node.right, needed)
    tested = frozenset() if node.residual is None else columns_of(node.residual)
    used = needed | tested | {c for pair in node.equi for c in pair}
    return replace(
        node,
        left=_rest(plan, node.left, used & lefts),
        right=_rest(plan, node.right, used & rights),
    )


def _matches_once(plan: StreamPlan, node: n.Node, columns: Columns) -> bool:
    return any(key <= columns for key in plan[node].upsert_keys)
