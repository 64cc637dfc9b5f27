"""Small plans in which two rows decide about a third: pairs, what is looked up, the first rows.

Where these come and go, and by which columns they are known, depends on the kind of both inputs: so
each input is all of one kind, and rows meet often.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import ColumnRef
from floodmark.reference.pipeline import Delivery, EpochInput
from floodmark.stream.passes.keep_keys import keep_keys
from tests.property.nested_strategies import integers, reference
from tests.property.plan_strategies import SCANS, Builder, Draw, epochs

_KEYED, _ADDED = SCANS[:2], SCANS[2:]


@dataclass(frozen=True)
class OfTwo(Builder):
    """Draws one operator over rows that are only added, or rows of tables."""

    def plan(self) -> n.Node:
        kind = self.pick(["join", "lookup", "first", "set", "join", "lookup", "first", "union"])
        scans = self.pick([_ADDED, _KEYED])
        left = self.rows(scans)
        if kind == "first":
            return self.first(left)
        if kind == "lookup":
            # The different values of a column are known by that alone.
            left = n.Aggregate(left, (self.pick(integers(left)).name,), ())
        right = self.rows(_KEYED if kind == "lookup" else scans)
        if kind in ("set", "union"):
            return self.of_columns(kind, left, right)
        mine, theirs = (self.pick(integers(side)).name for side in (left, right))
        if kind == "lookup":
            how = self.pick([n.JoinKind.INNER, n.JoinKind.INNER, n.JoinKind.LEFT])
            return n.LookupJoin(left, right, how, ((mine, theirs),))
        return n.Join(left, right, self.pick(list(n.JoinKind)), ((mine, theirs),))

    def rows(self, scans: tuple[n.Scan, ...]) -> n.Project:
        scan = self.pick(scans)
        return n.Project(scan, tuple((self.fresh(), reference(f)) for f in scan.schema))

    def first(self, below: n.Node) -> n.Node:
        order, group = (self.pick(integers(below)).name for _ in range(2))
        by = (n.SortKey(order, self.draw(st.booleans())),)
        groups = self.pick([(group,), (group,), ()])
        return n.TopN(below, groups, by, self.pick([1, 1, 2]), with_ties=self.draw(st.booleans()))

    def of_columns(self, kind: str, left: n.Node, right: n.Node) -> n.Node:
        name = self.fresh()
        found = [(side, self.pick(integers(side))) for side in (left, right)]
        sides = [n.Project(side, ((name, ColumnRef(f.type, f.name)),)) for side, f in found]
        if kind == "union":
            return n.UnionAll(tuple(sides), self.fresh("__branch"))
        how = self.pick(list(n.SetKind)), self.draw(st.booleans())
        return n.SetOperation(*sides, *how, copy=self.fresh("__copy"))


@st.composite
def plans_of_two(draw: Draw) -> n.Node:
    """Draw a small plan that keeps its stream keys."""
    return keep_keys(OfTwo(draw, itertools.count()).plan())


@st.composite
def close_epochs(draw: Draw) -> list[EpochInput]:
    """Draw the input of some epochs; two numbers make rows meet, and change whom they meet."""
    inputs: list[EpochInput] = draw(epochs())
    return [
        replace(
            epoch, deliveries={name: [*map(_close, of)] for name, of in epoch.deliveries.items()}
        )
        for epoch in inputs
    ]


def _close(came: Delivery) -> Delivery:
    return replace(came, row={c: v % 2 if isinstance(v, int) else v for c, v in came.row.items()})
