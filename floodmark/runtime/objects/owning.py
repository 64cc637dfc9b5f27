"""Who holds the rows that writers bring to a table of which sinks own columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from floodmark.analysis.owners import Owner, owner_of, owners_of, owns
from floodmark.analysis.pipeline import AnalysedObject
from floodmark.analysis.replacement import NONE, goes_on
from floodmark.catalog.types import VARCHAR
from floodmark.changelog import OWNERS
from floodmark.runtime.objects.former import Formers
from floodmark.runtime.objects.task import Task
from floodmark.spark.literals import literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FORMERLY = " formerly"
"""Behind the name of an owner: what it owned before it owned other columns."""


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


def held(
    frame: DataFrame,
    table: AnalysedObject,
    sink: AnalysedObject | None = None,
    *,
    formerly: bool = False,
) -> DataFrame:
    """Add who holds the rows, where columns have owners: the sink that is one, or nobody else.

    What it owned `formerly` can be other columns.
    """
    if not table.owned:
        return frame
    owner = "NULL"
    if sink is not None and owns(sink.object):
        name = sink.object.stored_key
        names = [name, name + _FORMERLY] if formerly else [name]
        owner = f"array({', '.join(literal(n, VARCHAR) for n in names)})"
    return frame.selectExpr("*", f"CAST({owner} AS ARRAY<STRING>) AS {OWNERS}")
