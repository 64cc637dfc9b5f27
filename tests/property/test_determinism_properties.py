"""What `determinism = 'strict'` accepts, on the reference: no drift, the same on every replay.

A view may show what changes its mind, as its own rows are taken back by their key. So in a world in
which each message had other metadata, and each volatile call and lookup that is not stored gave
another value, the view must have the same keys, and every aggregate the same rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import assume, given, settings, strategies as st

from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import columns_of
from floodmark.reference import interpreter, joins
from floodmark.reference.engine import advance
from floodmark.reference.interpreter import evaluate, key_of as key_columns
from floodmark.reference.moment import Moment, ReplayState
from floodmark.reference.pipeline import EpochInput, ObjectState, ReferenceKind, ReferenceObject
from floodmark.reference.rows import Row, bag, key_of
from floodmark.stream.ndu import DeterminismMode
from floodmark.stream.operators.lower import StreamPlan
from tests.property import loose_plans
from tests.property.loose_plans import (
    LOOSE_OBJECTS,
    METADATA,
    is_cut_dependent,
    loose_epochs,
    settled,
)
from tests.property.plan_examples import PROFILE, counted, drawn, joined
from tests.property.plan_strategies import SCANS

States = Mapping[str, ObjectState]
STRICT = DeterminismMode.STRICT
HOUR = timedelta(hours=1)


def _view(plan: StreamPlan) -> ReferenceObject:
    root = plan.root
    return ReferenceObject("v", ReferenceKind.VIEW, root.schema, plan[root].stream_key, plan=root)


def _run(plan: StreamPlan, inputs: Sequence[EpochInput]) -> Iterator[tuple[States, Any]]:
    """Yield the states before each epoch, and what `advance` makes of them."""
    states: States = {}
    for epoch in inputs:
        after = advance((*LOOSE_OBJECTS, _view(plan)), states, epoch)
        yield states, after
        states = after[0]


def _last(plan: StreamPlan, inputs: Sequence[EpochInput]) -> States:
    (*_, (_, (states, _))) = _run(plan, inputs)
    return states


@dataclass
class World:
    """One way in which things may have come; `changed` is one in which they came otherwise."""

    plan: StreamPlan
    now: Any
    changed: bool = False
    stored: dict[Any, Row] = field(default_factory=dict)
    found: dict[n.Node, Any] = field(default_factory=dict)
    calls: int = 0

    def rows(self, node: n.Node, states: States) -> list[Row]:
        """Return a node's rows over the states of the objects."""
        inputs = {name: [self._read(row) for row in s.rows] for name, s in states.items()}
        memory = ReplayState("the seed", "v", 9)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(interpreter, "materialize", self._materialized)
            patch.setattr(Moment, "seed", self._seed(Moment.seed))
            patch.setattr(joins, "lookup", self._looked_up)
            patch.setattr(Moment, "row_moment", self._of(Moment.row_moment))
            patch.setattr(loose_plans, "MOOD", [int(self.changed)])
            return evaluate(node, inputs, self.now, memory=memory)

    def _read(self, row: Row) -> Row:
        if not self.changed or METADATA not in row:
            return row
        return {**row, METADATA: row[METADATA] + 1_000}

    def _looked_up(
        self, node: n.LookupJoin, left: Any, right: Any, key: Any, moment: Moment
    ) -> list[Row]:
        """Find what was there when it is stored, or in the object's table; else other rows."""
        known = self.plan[node]
        if not self.changed:
            self.found[node] = right
        elif node.stored or known.own_table or self.plan[node.left].append_only:
            right = self.found[node]
        else:
            right = []
        return joins.join(node, left, right, moment)

    def _materialized(self, node: n.MaterializeProject, rows: Any, moment: Moment) -> list[Row]:
        """Store the columns by key in the first world, take them from there in the other."""
        out = []
        key = self.plan[node.input].stream_key
        seed = self._plain_seed(moment, node.input, key, "__changed_in")
        for row in rows:
            place = (node, key_of(row, key))
            fresh = interpreter._compute(
                node, node.columns, {**row, "__changed_in": 1}, moment, seed
            )
            if not self.changed:
                self.stored[place] = fresh
            elif fresh is not None and self.stored.get(place) is not None:
                fresh = {**fresh, **{c: self.stored[place][c] for c in node.stored}}
            if fresh is not None:
                out.append(fresh)
        return out

    def _of(self, plain: Any) -> Any:
        """Let rows that can go have come at another time in the other world."""

        def of(moment: Moment, node: n.Node, row: Row, key: tuple[str, ...]) -> Any:
            then, epoch = plain(moment, node, row, key)
            fixed = not self.changed or self.plan[node.inputs[0]].append_only
            return (then if fixed else replace(then, now=then.now + HOUR)), epoch

        return of

    def _seed(self, plain: Any) -> Any:
        self._plain_seed = plain

        def seed(moment: Moment, node: n.Node, key: tuple[str, ...], epoch: Any = None) -> Any:
            found = plain(moment, node, key, epoch)
            if self.changed and not self.plan[node].append_only:
                self.calls += 1
                return replace(found, seed=f"another {self.calls}")
            return found

        return seed


def _drift(plan: StreamPlan, states: States, now: Any) -> str | None:
    """Return what is not the same in a world in which everything loose came otherwise."""
    world = World(plan, now)
    other = World(plan, now, changed=True, stored=world.stored, found=world.found)
    key = plan[plan.root].stream_key
    read: dict[n.Node, frozenset[str]] = {}
    for node, columns in _columns_read(plan.root, plan.root.names):
        read[node] = read.get(node, frozenset()) | columns
    pairs = [(node, world.rows(node, states), other.rows(node, states)) for node in plan.nodes]
    for node, ours, theirs in pairs:
        if node is plan.root:
            keys = [Counter(key_of(row, key) for row in rows) for rows in (ours, theirs)]
            if keys[0] != keys[1]:
                return f"keys of the view: {keys}"
        if isinstance(node, n.Aggregate):
            mine, others = (_only(read[node], rows) for rows in (ours, theirs))
            if bag(mine) != bag(others):
                return f"rows of {plan[node].identifier}: {mine} and {others}"
    return None


def _columns_read(node: n.Node, read: Iterable[str]) -> Iterator[tuple[n.Node, frozenset[str]]]:
    """Yield each operator and its columns on which something above depends."""
    read = frozenset(read)
    yield node, read
    match node:
        case n.Project() | n.MaterializeProject():
            exprs = dict(node.columns)
            below = frozenset(c for name in read for c in columns_of(exprs[name]))
            yield from _columns_read(node.input, below)
        case n.Filter():
            yield from _columns_read(node.input, read | columns_of(node.predicate))
        case n.Aggregate():
            exprs = frozenset().union(*map(columns_of, node.expressions))
            yield from _columns_read(node.input, {*node.group, *exprs})
        case n.TopN() | n.Join():
            for child in node.inputs:
                own = {*key_columns(child), *_compared(node)}
                yield from _columns_read(child, (read | own) & set(child.names))
        case _:
            for child in node.inputs:
                yield from _columns_read(child, child.names)


def _compared(node: n.TopN | n.Join) -> set[str]:
    """Return the columns that decide which rows, or pairs of rows, there are."""
    if isinstance(node, n.TopN):
        return {*node.group, *(key.column for key in node.order)}
    residual = () if node.residual is None else columns_of(node.residual)
    return {*(column for pair in node.equi for column in pair), *residual}


def _only(columns: frozenset[str], rows: Iterable[Row]) -> list[Row]:
    return [{c: row[c] for c in columns} for row in rows]


@settings(PROFILE, max_examples=250)
@given(root=loose_plans.loose_plans(asks=True), inputs=loose_epochs())
@counted
def test_what_strict_accepts_is_the_same_again_and_never_drifts(
    root: n.Node, inputs: list[EpochInput]
) -> None:
    plan = settled(root, STRICT)
    assume(plan is not None)
    assert plan is not None
    first = list(_run(plan, inputs))
    states = first[-1][1][0]
    assert _drift(plan, states, inputs[-1].now) is None
    for (before, (after, results)), epoch in zip(first, inputs, strict=True):
        again, same = advance((*LOOSE_OBJECTS, _view(plan)), before, epoch)
        assert same == results and again["v"].rows == after["v"].rows
        # An epoch that stopped halfway goes on from the same states.
        half, _ = advance(LOOSE_OBJECTS, before, epoch)
        assert all(half[obj.name].rows == after[obj.name].rows for obj in LOOSE_OBJECTS)
    idle = EpochInput(inputs[-1].now, {}, number=9, seed="the seed")
    _, results = advance((*LOOSE_OBJECTS, _view(plan)), states, idle)
    assert all(not r.changes and not r.dead for r in results.values())


def test_what_is_ignored_drifts() -> None:
    """The check above has teeth: without repair and refusal it fails often."""
    drifting = [
        root
        for root, inputs in drawn(
            st.tuples(loose_plans.loose_plans(asks=True), loose_epochs()), 320
        )
        if (plan := settled(root, DeterminismMode.IGNORE)) is not None
        and _drift(plan, _last(plan, inputs), inputs[-1].now) is not None
    ]
    assert len(drifting) > 5


@settings(PROFILE, max_examples=150)
@given(
    root=loose_plans.loose_plans(max_depth=3, scans=SCANS),
    inputs=loose_epochs(),
    cut=st.integers(0, 1),
)
@counted
def test_what_stores_nothing_depends_on_no_boundary_and_equals_batch(
    root: n.Node, inputs: list[EpochInput], cut: int
) -> None:
    plan = settled(root, STRICT)
    assume(plan is not None and not is_cut_dependent(plan))
    assert plan is not None
    apart = _last(plan, inputs)
    together = _last(plan, [*inputs[:cut], joined(inputs[cut : cut + 2]), *inputs[cut + 2 :]])
    assert bag(apart["v"].rows) == bag(together["v"].rows)
    rows = {name: state.rows for name, state in apart.items()}
    batch = evaluate(plan.root, rows, inputs[-1].now, memory=ReplayState("the seed", "v"))
    assert bag(batch) == bag(apart["v"].rows)
