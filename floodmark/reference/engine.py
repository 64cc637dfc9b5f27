"""A whole pipeline over plain Python rows, epoch by epoch.

`advance` is a function from the states of all objects and one epoch's input to new states and what
each object emitted. Nothing is incremental: a view's changes are its new rows less its old ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from floodmark.changelog import RowKind
from floodmark.plan.nodes import Node
from floodmark.reference.changes import Change, changes_between
from floodmark.reference.ingest import gather
from floodmark.reference.interpreter import evaluate, propagate
from floodmark.reference.moment import Closing, DeadLetter, ReplayState
from floodmark.reference.pipeline import (
    Aside,
    EpochInput,
    ObjectResult,
    ObjectState,
    ReferenceObject,
    States,
)
from floodmark.reference.rows import ascending, freeze, sort_rows, thaw
from floodmark.reference.sink_writes import sink_changes


def advance(
    objects: Sequence[ReferenceObject], states: States, epoch: EpochInput
) -> tuple[dict[str, ObjectState], dict[str, ObjectResult]]:
    """Return all states and results after one epoch.

    `objects` come in dependency order: what a plan scans, and the sinks into a table, first.
    """
    after, results = dict(states), dict[str, ObjectResult]()
    for obj in objects:
        old = states.get(obj.name, ObjectState())
        if obj.plan is None:
            sinks = (o for o in objects if o.target == obj.name)
            brought = [(sink, results[sink.name].changes) for sink in sinks]
            new, result = gather(obj, old, epoch, brought)
        else:
            new, result = _query(obj, obj.plan, old, states, after, epoch)
        after[obj.name], results[obj.name] = new, result
    return after, results


def _query(
    obj: ReferenceObject,
    plan: Node,
    old: ObjectState,
    before: States,
    after: States,
    epoch: EpochInput,
) -> tuple[ObjectState, ObjectResult]:
    """Return a view's or sink's state and changes: its query's rows now, less those before."""
    dead: list[DeadLetter] = []
    current = {name: state.watermark for name, state in after.items()}
    fresh = obj.name not in before
    previous = {} if fresh else {name: state.watermark for name, state in before.items()}
    closing = Closing(previous, current, old.now) if obj.emits_on_close else None
    inputs = {name: state.rows for name, state in after.items()}
    shown = {name: s.rows if s.shown is None else s.shown for name, s in after.items()}
    known = {} if obj.recomputed else old.stored
    memory = ReplayState(epoch.seed, obj.name, epoch.number, known)
    rows = evaluate(plan, inputs, epoch.now, dead=dead, closing=closing, memory=memory, shown=shown)
    letters = Counter((d.node, d.code, freeze(d.row)) for d in dead)
    if obj.emits_on_close:
        by_key = sort_rows(rows, ascending(obj.stream_key))
        changes: list[Change] = [(RowKind.INSERT, row) for row in by_key]
        rows = [*old.rows, *rows]
        letters |= old.dead
    else:
        changes = changes_between(rows, old.rows, obj.stream_key)
    watermark = propagate(plan, current, epoch.now)
    state = replace(
        old, rows=tuple(rows), dead=letters, watermark=watermark, stored=memory.after, now=epoch.now
    )
    note = changes if obj.sink_writes is None else sink_changes(changes, obj.sink_writes)
    return state, ObjectResult(changes=tuple(note), dead=_letter_changes(letters, old.dead))


def _letter_changes(new: Counter[Any], old: Counter[Any]) -> tuple[Aside, ...]:
    out: list[Aside] = []
    for letter in [*new, *(letter for letter in old if letter not in new)]:
        count = new[letter] - old[letter]
        kind = RowKind.INSERT if count > 0 else RowKind.DELETE
        _, code, row = letter
        out += [Aside(kind, f"E{code:04d}", thaw(row))] * abs(count)
    return tuple(out)
