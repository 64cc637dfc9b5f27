"""Moves conditions of filters below what drops nothing by them, and of joins to their sides.

`SELECT q FROM (SELECT x, 10 / x AS q FROM t) s WHERE x > 0` divides by no zero: what WHERE drops is
not computed, neither in a projection nor in a branch of a union, a group or a partition that it
drops whole. Only conditions that cannot fail move below, so that no row is put aside for an error
which its join would have spared it. Beside one that can fail, one that may be NULL lets the row
pass below, and is asked once more above: NULL AND an error is the error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from floodmark.changelog import is_hidden
from floodmark.errors import Span
from floodmark.plan import nodes as n
from floodmark.plan.expr.can_fail import can_fail
from floodmark.plan.expr.conjunctions import conjunction, conjuncts, is_movable
from floodmark.plan.expr.expressions import ColumnRef, Expr, columns_of, transform
from floodmark.plan.rules.alike_columns import inferred
from floodmark.plan.rules.join_conditions import settled
from floodmark.plan.rules.nullability import asked_first
from floodmark.scalar.types import Field, Kind, SqlType

_LOOSE = (
    Kind.REAL, Kind.DOUBLE, Kind.INTERVAL, Kind.JSONB, Kind.LIST, Kind.STRUCT, Kind.MAP
)  # fmt: skip
Passed = Mapping[str, ColumnRef]
"""By column of a node: the column of its input that it passes on."""


def push_filters(node: n.Node) -> n.Node:
    """Return the plan with the conditions of filters as far down as they may stand.

    A bound of a row number stays where it is recognised as a top-N.
    """
    return _Push(numbers=False).asked(node, ())


def push_all_filters(node: n.Node) -> n.Node:
    """Return the plan with conditions on row numbers, too, below the projections over them."""
    return _Push(numbers=True).asked(node, ())


@dataclass(frozen=True, slots=True)
class _Push:
    numbers: bool

    def asked(self, node: n.Node, parts: Sequence[Expr], span: Span | None = None) -> n.Node:
        """Return the rows of a node for which all conditions hold."""
        match node:
            case n.Filter():
                own = conjuncts(node.predicate)
                new = [part for part in parts if part not in own]
                first, then = asked_first(new, self._entering(node), node)
                below = self.asked(node.input, (*own, *first), node.span)
                if isinstance(below, n.Filter) and conjuncts(below.predicate) == own:
                    below = replace(node, input=below.input)
                return _filtered(below, then, span)
            case n.Join():
                found = settled(node, parts)
                more = inferred(found.join, found.to_left, found.to_right)
                left = self.asked(node.left, (*found.to_left, *more[0]), span)
                right = self.asked(node.right, (*found.to_right, *more[1]), span)
                return _filtered(found.join.with_inputs((left, right)), found.above, span)
            case _:
                first, then = asked_first(parts, self._entering(node), node)
                children = [
                    self.asked(child, () if passed is None else _renamed(first, passed), span)
                    for child, passed in zip(node.inputs, _passed(node), strict=True)
                ]
                return _filtered(node.with_inputs(children), then, span)

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
                passed = _columns(node)
                if not columns_of(part) <= passed.keys():
                    return False
                numbered = not self.numbers and isinstance(_below(node), n.OverWindow)
                return not numbered or self._enters(node.input, *_renamed([part], passed))
            case _:
                read = columns_of(part)
                known = (passed for passed in _passed(node) if passed is not None)
                return bool(read) and any(read <= passed.keys() for passed in known)


def _passed(node: n.Node) -> Sequence[Passed | None]:
    """Return, for each input, the columns by whose values rows can be dropped there as well."""
    match node:
        case n.Project():
            return [_columns(node)]
        case n.ProjectSet() | n.Tumble() | n.Hop():
            return [_same(node.input, node.input.names)]
        case n.TopN() if node.limit is None and not node.offset:
            return [_same(node.input, node.input.names)]
        case n.Aggregate() | n.TopN():
            return [_alike(node.input, node.group)]
        case n.OverWindow() | n.Session():
            return [_alike(node.input, node.partition)]
        case n.LookupJoin():
            return [_same(node.left, node.left.names), None]
        case n.UnionAll():
            return [_by_position(node.branches[0].schema, b.schema) for b in node.branches]
        case n.SetOperation():
            left, right = ([f for f in s.schema if not is_hidden(f.name)] for s in node.inputs)
            met = [_by_position(left, left), _by_position(left, right)]
            return [{c: e for c, e in side.items() if _looks_alike(e.type)} for side in met]
        case _:
            return [None for _ in node.inputs]


def _columns(node: n.Project) -> Passed:
    return {c: e for c, e in node.columns if isinstance(e, ColumnRef)}


def _same(node: n.Node, names: Sequence[str]) -> Passed:
    return {f.name: ColumnRef(f.type, f.name) for f in node.schema if f.name in names}


def _alike(node: n.Node, names: Sequence[str]) -> Passed:
    """Return columns that group rows, where what a condition says of one row it says of all."""
    return {c: e for c, e in _same(node, names).items() if _looks_alike(e.type)}


def _looks_alike(type_: SqlType) -> bool:
    """Tell whether equal values are the same: both zeros are equal, and 30 days are a month."""
    return type_.kind not in _LOOSE


def _by_position(shown: Sequence[Field], own: Sequence[Field]) -> Passed:
    pairs = zip(shown, own, strict=True)
    return {a.name: ColumnRef(b.type, b.name) for a, b in pairs}


def _renamed(parts: Iterable[Expr], passed: Passed) -> list[Expr]:
    def change(e: Expr) -> Expr:
        return passed[e.name] if isinstance(e, ColumnRef) else e

    return [transform(part, change) for part in parts]


def _below(node: n.Node) -> n.Node:
    while isinstance(node, n.Project):
        node = node.input
    return node


def _filtered(node: n.Node, parts: Sequence[Expr], span: Span | None) -> n.Node:
    return n.Filter(node, conjunction(parts), span=span) if parts else node
