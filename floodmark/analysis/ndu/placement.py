"""Where stored values live: in the object's own table where that has them, else in a state table.

The own table will do where only projections and filters lie above: each of the object's rows is
then one row of the operator, under the same key, and the root takes a row back as it is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from floodmark.analysis.analyse import AnalysedPlan
from floodmark.analysis.can_fail import can_fail
from floodmark.plan import nodes as n
from floodmark.plan.expressions import Expr, UserCall, columns_of, walk


@dataclass(frozen=True, slots=True)
class Root:
    """What becomes of a plan's rows.

    `key` are the columns by which a row is found again. A view stores its rows; a sink's are in
    its `target`, which several writers may share.
    """

    key: tuple[str, ...]
    stores: bool
    target: bool = False


def pulled_up(plan: AnalysedPlan, root: Root) -> frozenset[n.Node]:
    """Return the operators whose stored values the root's table has."""
    if not (root.stores or root.target) or plan[plan.root].append_only:
        return frozenset()
    found: list[n.Node] = []
    # Columns of the current node that the key, or a filter above, depends on.
    key = frozenset(root.key)
    tested: frozenset[str] = frozenset()
    node = plan.root
    while True:
        match node:
            case n.Project() | n.MaterializeProject():
                exprs = dict(node.columns)
                if (
                    isinstance(node, n.MaterializeProject)
                    and not _may_fail(node, exprs)
                    and (_holds(node.stored, key, tested, root))
                ):
                    found.append(node)
                key = frozenset(c for k in key for c in columns_of(exprs[k]))
                tested = frozenset(c for t in tested for c in columns_of(exprs[t]))
                node = node.input
            case n.Filter():
                tested |= columns_of(node.predicate)
                node = node.input
            case n.LookupJoin() if not node.stored:
                rights = tuple(node.right.names)
                fits = _unique(plan, node) and _holds(rights, key, tested, root)
                fails = node.residual is not None and can_fail(node.residual)
                if not fits or fails or node.external is not None:
                    return frozenset(found)
                found.append(node)
                key, tested = key & set(node.left.names), tested & set(node.left.names)
                node = node.left
            case _:
                return frozenset(found)


def _may_fail(node: n.MaterializeProject, exprs: Mapping[str, Expr]) -> bool:
    """Tell whether a user's function can refuse a row: what refused it is then stored, too."""
    return any(isinstance(part, UserCall) for c in node.stored for part in walk(exprs[c]))


def _holds(stored: Iterable[str], key: frozenset[str], tested: frozenset[str], root: Root) -> bool:
    """Tell whether the root finds a row again without its stored columns.

    A sink that takes back a row that it never wrote could meet another writer's: so no filter.
    """
    columns = set(stored)
    return not columns & key and not (root.target and columns & tested)


def _unique(plan: AnalysedPlan, node: n.LookupJoin) -> bool:
    keys = {b for _, b in node.equi}
    return any(key <= keys for key in plan[node.right].unique_keys)


def placed(plan: AnalysedPlan, nodes: Iterable[n.Node]) -> AnalysedPlan:
    """Return the plan with these operators' state in the owner's table."""
    chosen = set(nodes)
    properties = {
        node: replace(known, state=(), own_table=True) if node in chosen else known
        for node, known in plan.properties.items()
    }
    return AnalysedPlan(plan.root, properties)
