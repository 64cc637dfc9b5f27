"""The engine's watermarks of random plans against the reference's, and both against rows.

The two have nothing in common but the analysis that says which columns carry one. What a watermark
promises is held against rows, too: those that come at the watermark or later change nothing below
what it has become.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, timedelta
from typing import Any

from hypothesis import assume, given, settings, strategies as st

from floodmark.changelog import ROW_ID
from floodmark.errors import NotSupported
from floodmark.plan import nodes as n
from floodmark.reference.interpreter import evaluate, propagate as expected
from floodmark.reference.moment import ReplayState
from floodmark.reference.rows import Row, difference, sort_value
from floodmark.stream.operators.lower import lower
from floodmark.stream.operators.walks import propagate
from floodmark.stream.passes.keep_keys import keep_keys
from tests.property.plan_examples import PROFILE, drawn, operator
from tests.property.watermark_strategies import RELATIONS, START, timed_plans, value_of

Steps = Mapping[str, Mapping[str, int]]
"""By object and column, the step at which its watermark is."""
_step = st.integers(0, 12)
_rows = st.lists(st.fixed_dictionaries({"ts": _step, "d": _step, "n": _step}), max_size=4)
steps = st.fixed_dictionaries({name: st.fixed_dictionaries({"ts": _step, "d": _step, "n": _step})
                               for name in RELATIONS})  # fmt: skip
rows = st.fixed_dictionaries(dict.fromkeys(RELATIONS, _rows))
minutes = st.integers(0, 20)


def marks(at: Steps) -> dict[str, dict[str, Any]]:
    types = {f.name: f.type for f in RELATIONS["a"].schema}
    return {
        name: {column: value_of(types[column], step) for column, step in found.items()}
        for name, found in at.items()
    }


def compared(root: n.Node, at: Steps, minute: int) -> Iterator[tuple[n.Node, str, Any, Any]]:
    """Yield each node, a column that carries a watermark, and its value by both."""
    now = START.replace(tzinfo=UTC) + timedelta(minutes=minute)
    plan = lower(keep_keys(root))
    for node, known in plan.operators.items():
        ours = propagate(known, marks(at), now)
        theirs = expected(node, marks(at), now)
        for column in sorted(known.watermark_names):
            yield node, column, ours.get(column), theirs.get(column)


@settings(PROFILE, max_examples=600)
@given(root=timed_plans(), at=steps, minute=minutes, silent=st.sampled_from(["", "a", "b"]))
def test_the_engine_has_the_watermarks_of_the_reference(
    root: n.Node, at: Steps, minute: int, silent: str
) -> None:
    known = {name: found for name, found in at.items() if name != silent}
    for node, column, ours, theirs in compared(root, known, minute):
        assert ours == theirs, (type(node).__name__, column)
        assert silent or ours is not None, (type(node).__name__, column)


@settings(PROFILE, max_examples=200)
@given(root=timed_plans(mixed=True), at=steps, minute=minutes)
def test_between_dates_and_times_it_is_not_above(root: n.Node, at: Steps, minute: int) -> None:
    for node, column, ours, theirs in compared(root, at, minute):
        assert not sort_value(theirs) < sort_value(ours), (type(node).__name__, column)


@settings(PROFILE, max_examples=400)
@given(
    root=timed_plans(mixed=True), at=steps, before=rows, after=rows, minute=minutes,
    passed=st.integers(0, 8),
)  # fmt: skip
def test_no_later_change_is_below_a_watermark(
    root: n.Node, at: Steps, before: Any, after: Any, minute: int, passed: int
) -> None:
    try:
        root = keep_keys(root)
    except NotSupported:
        assume(False)
    then = START.replace(tzinfo=UTC) + timedelta(minutes=minute)
    now = then + timedelta(minutes=passed)
    old = _inputs(before)
    # What comes later is at the watermark or above: nothing that is late is there.
    lifted = {name: [{c: at[name][c] + v for c, v in row.items()} for row in found]
              for name, found in after.items()}  # fmt: skip
    new = {name: [*old[name], *rows] for name, rows in _inputs(lifted, 100).items()}
    for node, known in lower(root).operators.items():
        # What was looked up for a row stays what it was.
        first = ReplayState()
        former = evaluate(node, old, then, memory=first)
        memory = ReplayState(epoch=1, before=first.after)
        changed = difference(evaluate(node, new, now, memory=memory), former)
        bounds = (propagate(known, marks(at), then), expected(node, marks(at), then))
        for row in map(dict, changed):
            for column in known.watermark_names:
                assert row[column] is not None, (type(node).__name__, column)
                for found in bounds:
                    lowest = sort_value(found[column])
                    assert not sort_value(row[column]) < lowest, (type(node).__name__, column)


def test_every_operator_carries_watermarks_in_some_of_the_plans() -> None:
    plans = (lower(keep_keys(root)) for root in drawn(timed_plans(), 400))
    nodes = {node for plan in plans for node in plan.nodes if plan[node].watermark_names}
    found = Counter(map(operator, nodes))
    often = {name for name, count in found.items() if count >= 3}
    kinds = {f"Join {kind.value}" for kind in n.JoinKind if kind is not n.JoinKind.FULL}
    sets = {f"SetOperation {kind.value}" for kind in n.SetKind}
    without = {n.Values, n.GrowingSeries, n.Join, n.LookupJoin, n.SetOperation}
    others = {c.__name__ for c in n.NODE_CLASSES if c not in without}
    assert {*others, *kinds, *sets, "LookupJoin inner", "LookupJoin left"} <= often, found


def _inputs(steps_of: Mapping[str, Any], first: int = 0) -> dict[str, list[Row]]:
    types = {f.name: f.type for f in RELATIONS["a"].schema}
    return {
        name: [
            {**{c: value_of(types[c], step) for c, step in row.items()}, ROW_ID: first + i}
            for i, row in enumerate(found)
        ]
        for name, found in steps_of.items()
    }
