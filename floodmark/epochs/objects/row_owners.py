"""Owners of rows and columns in a table with sinks that own columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from floodmark.dataflow.merge.column_owners import _FORMERLY
from floodmark.epochs.objects.object_advance import ObjectAdvance
from floodmark.epochs.objects.previous_definition import PreviousDefinitions
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.stream.objects.owners import Owner, owner_of, owners_of, owns
from floodmark.stream.objects.replacement import NONE, continuation

if TYPE_CHECKING:
    pass


def with_former_owners(advance: ObjectAdvance) -> AnalysedObject:
    """Return the table with the owners, too, that go with what they have written.

    An owner that has other columns from now on counts twice: its former columns are cleared.
    """
    obj, key = advance.obj, advance.obj.relation.primary_key
    previous = [s.object for s in PreviousDefinitions(advance).sinks_to_remove if owns(s.object)]
    moved = [owner_of(s.object, key) for s in advance.input.previous.values() if moves(advance, s)]
    was = [Owner(owner.name + _FORMERLY, owner.columns) for owner in moved]
    return replace(obj, owners=(*obj.owners, *owners_of(previous, key), *was))


def moves(advance: ObjectAdvance, previous: AnalysedObject) -> bool:
    """Tell whether a sink into the table owned other columns under its former definition."""
    sink, key = advance.input.pipeline.objects.get(previous.key), advance.obj.relation.primary_key
    if sink is None or sink.object.target != advance.obj.key:
        return False
    if previous.object.target != advance.obj.key or not (
        owns(previous.object) and owns(sink.object)
    ):
        return False
    before, after = owner_of(previous.object, key), owner_of(sink.object, key)
    return continuation(sink, previous) != NONE and set(before.columns) != set(after.columns)
