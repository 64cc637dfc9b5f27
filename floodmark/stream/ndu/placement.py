"""Where stored values live: in the object's own table where that has them, else in a state table.

The object's own table is used if only projections and filters are above the operator. Each row of
the object is then one row of the operator with the same key, and the root retracts a row as it is
stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from floodmark.plan import nodes as n
from floodmark.plan.expr.can_fail import can_fail
from floodmark.plan.expr.expressions import Expr, columns_of
from floodmark.plan.expr.injective import injective_column
from floodmark.stream.operators.lower import StreamPlan
from floodmark.stream.properties.state import OwnTableState


@dataclass(frozen=True, slots=True)
class Root:
    """The destination of a plan's rows.

    `key` are the columns by which a row is found again. A view stores its rows; a sink's are in
    its `target`, which several writers may share; `tells` are the columns of
    its primary key that the plan gives (a target may generate others).
    """

    key: tuple[str, ...]
    stores: bool
    target: bool = False
    tells: tuple[str, ...] = ()


def own_table_nodes(plan: StreamPlan, root: Root) -> frozenset[n.Node]:
    """Return the operators whose stored values the root's table has."""
    if not (root.stores or root.target) or plan[plan.root].append_only:
        return frozenset()
    placed: list[n.Node] = []
    # Columns of the current node that the key, a filter above, or what can fail above depends on.
    key, tested, tried = frozenset(root.key), _NONE, _NONE
    # Columns whose values the target's key tells.
    columns = frozenset(root.tells)
    node = plan.root
    while True:
        match node:
            case n.Project() | n.MaterializeProject():
                exprs = dict(node.columns)
                if isinstance(node, n.MaterializeProject):
                    fails = any(can_fail(exprs[c]) for c in node.stored)
                    if fails or not _holds(node.stored, key, tested, tried, root):
                        # What stores by itself needs old rows whole.
                        return frozenset(placed)
                    placed.append(node)
                tried = _reads(exprs, tried) | _columns_that_can_fail(exprs.values())
                key, tested = _reads(exprs, key), _reads(exprs, tested)
                columns = frozenset(
                    t for c in columns if (t := injective_column(exprs[c])) is not None
                )
                node = node.input
            case n.Filter():
                tested |= columns_of(node.predicate)
                tried |= _columns_that_can_fail((node.predicate,))
                node = node.input
            case _ if n.is_lookup(node) and not node.stored:
                rights = tuple(node.right.names)
                fits = _unique(plan, node) and _holds(rights, key, tested, tried, root)
                fails = node.residual is not None and can_fail(node.residual)
                alone = not root.target or _alone(plan, node, columns)
                if not (fits and alone) or fails or node.external is not None:
                    return frozenset(placed)
                placed.append(node)
                lefts = set(node.left.names)
                key, tested, tried = key & lefts, tested & lefts, tried & lefts
                columns &= lefts
                node = node.left
            case _:
                return frozenset(placed)


_NONE = frozenset[str]()


def _reads(exprs: Mapping[str, Expr], columns: Iterable[str]) -> frozenset[str]:
    return frozenset(below for c in columns for below in columns_of(exprs[c]))


def _columns_that_can_fail(exprs: Iterable[Expr]) -> frozenset[str]:
    """Return the columns on which it depends whether an expression refuses a row."""
    return frozenset(c for e in exprs if can_fail(e) for c in columns_of(e))


def _holds(
    stored: Iterable[str],
    key: frozenset[str],
    tested: frozenset[str],
    tried: frozenset[str],
    root: Root,
) -> bool:
    """Tell whether the root finds a row again without its stored columns.

    Whether a row was refused above must be known without them, to take its dead letter back. A
    sink that takes back a row that it never wrote could meet another writer's: so no filter.
    """
    columns = set(stored)
    return not columns & (key | tried) and not (root.target and columns & tested)


def _unique(plan: StreamPlan, node: n.Pairing) -> bool:
    keys = {b for _, b in node.equi}
    return any(key <= keys for key in plan[node.right].unique_keys)


def _alone(plan: StreamPlan, node: n.Pairing, columns: frozenset[str]) -> bool:
    """Tell whether a left row that goes without a match takes no other row's back.

    An inner lookup takes back a key that it may never have written: so none is another row's key.
    """
    keys = plan[node.left].unique_keys
    return node.kind is n.JoinKind.LEFT or any(key <= columns for key in keys)


def colocate_state(plan: StreamPlan, root: Root) -> StreamPlan:
    """Return the plan whose operators know what of their state the owner's table has.

    Stored values are there alone.
    """
    chosen = own_table_nodes(plan, root)
    stored = (node for node in chosen if not plan[node.inputs[0]].append_only)
    changes: dict[n.Node, dict[str, Any]] = {
        node: {"state": (), "own_table": OwnTableState.VALUES} for node in stored
    }
    top = plan.top_without_projections if root.stores else None
    if top is not None and top.beside is not None:
        changes[top.node] = {"own_table": top.beside}
    return plan.evolve(changes)
