"""Who holds the rows that writers bring to a table of which sinks own columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from floodmark.dataflow.operators.column_owners import _FORMERLY
from floodmark.epochs.objects.former import Formers
from floodmark.epochs.objects.task import Task
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.stream.objects.owners import Owner, owner_of, owners_of, owns
from floodmark.stream.objects.replacement import NONE, goes_on

if TYPE_CHECKING:
    pass


def with_former_owners(task: Task) -> AnalysedObject:
    """Return the table with the owners, too, that go with what they have written.

    Those that own other columns from now on are two: what they owned is cleared.
    """
    found, key = task.found, task.found.relation.primary_key
    former = [s.object for s in Formers(task).gone if owns(s.object)]
    moved = [owner_of(s.object, key) for s in task.work.former.values() if moves(task, s)]
    was = [Owner(owner.name + _FORMERLY, owner.columns) for owner in moved]
    return replace(found, owners=(*found.owners, *owners_of(former, key), *was))


def moves(task: Task, former: AnalysedObject) -> bool:
    """Tell whether a sink into the table owned other columns under its former definition."""
    sink, key = task.work.pipeline.objects.get(former.key), task.found.relation.primary_key
    if sink is None or sink.object.target != task.found.key:
        return False
    if former.object.target != task.found.key or not (owns(former.object) and owns(sink.object)):
        return False
    before, after = owner_of(former.object, key), owner_of(sink.object, key)
    return goes_on(sink, former) != NONE and set(before.columns) != set(after.columns)
