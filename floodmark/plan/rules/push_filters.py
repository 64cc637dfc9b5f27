"""Moves conditions of filters below what drops nothing by them, and of joins to their sides.

`SELECT q FROM (SELECT x, 10 / x AS q FROM t) s WHERE x > 0` divides by no zero: for a row that
WHERE drops nothing is computed. The same holds for a branch of a union, a group or a partition that
it drops whole. Only conditions that cannot fail move below a join, so that no row is put aside for
an error which the join would have spared it. A condition that may be NULL, beside one that can
fail, lets the row pass below and is asked once more above: NULL AND an error is the error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from floodmark.errors import Span
from floodmark.plan import nodes as n
from floodmark.plan.expr.can_fail import can_fail
from floodmark.plan.expr.conjunctions import conjunction, conjuncts, is_movable
from floodmark.plan.expr.expressions import ColumnRef, Expr, columns_of, transform
from floodmark.plan.rules.alike_columns import infer_conditions
from floodmark.plan.rules.join_conditions import settle_conditions
from floodmark.plan.rules.nullability import split_conditions


def push_filters(node: n.Node) -> n.Node:
    """Return the plan with the conditions of filters as far down as they may stand.

    A bound of a row number stays where it is recognised as a top-N.
    """
    return _Push(numbers=False).push(node, ())


def push_all_filters(node: n.Node) -> n.Node:
    """Return the plan with conditions on row numbers, too, below the projections over them."""
    return _Push(numbers=True).push(node, ())


@dataclass(frozen=True, slots=True)
class _Push:
    numbers: bool

    def push(self, node: n.Node, parts: Sequence[Expr], span: Span | None = None) -> n.Node:
        """Return the rows of a node for which all conditions hold."""
        match node:
            case n.Filter():
                own = conjuncts(node.predicate)
                new = [part for part in parts if part not in own]
                first, then = split_conditions(new, self._entering(node), node)
                below = self.push(node.input, (*own, *first), node.span)
                if isinstance(below, n.Filter) and conjuncts(below.predicate) == own:
                    below = replace(node, input=below.input)
                return _filter(below, then, span)
            case n.Join():
                settled = settle_conditions(node, parts)
                more = infer_conditions(settled.join, settled.to_left, settled.to_right)
                left = self.push(node.left, (*settled.to_left, *more[0]), span)
                right = self.push(node.right, (*settled.to_right, *more[1]), span)
                return _filter(settled.join.with_inputs((left, right)), settled.above, span)
            case _:
                first, then = split_conditions(parts, self._entering(node), node)
                children = [
                    self.push(child, () if passed is None else _rename_columns(first, passed), span)
                    for child, passed in zip(node.inputs, node.pushable_columns, strict=True)
                ]
                return _filter(node.with_inputs(children), then, span)

    def _entering(self, node: n.Node) -> Callable[[Expr], bool]:
        return lambda part: is_movable(part) and self._enters(node, part)

    def _enters(self, node: n.Node, part: Expr) -> bool:
        """Tell whether rows that a condition drops can be dropped before a node."""
        match node:
            case n.Filter():
                return can_fail(node.predicate) or self._enters(node.input, part)
            case n.Join():
                return True
            case n.Project():
                passed = node.pushable_columns[0]
                if not columns_of(part) <= passed.keys():
                    return False
                numbered = not self.numbers and isinstance(_skip_projects(node), n.OverWindow)
                return not numbered or self._enters(node.input, *_rename_columns([part], passed))
            case _:
                read = columns_of(part)
                known = (passed for passed in node.pushable_columns if passed is not None)
                return bool(read) and any(read <= passed.keys() for passed in known)


def _rename_columns(parts: Iterable[Expr], passed: n.PassedColumns) -> list[Expr]:
    def change(e: Expr) -> Expr:
        return passed[e.name] if isinstance(e, ColumnRef) else e

    return [transform(part, change) for part in parts]


def _skip_projects(node: n.Node) -> n.Node:
    while isinstance(node, n.Project):
        node = node.input
    return node


def _filter(node: n.Node, parts: Sequence[Expr], span: Span | None) -> n.Node:
    return n.Filter(node, conjunction(parts), span=span) if parts else node
