"""Who holds the rows that writers bring to a table of which sinks own columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from floodmark.analysis.owners import owners_of, owns
from floodmark.analysis.pipeline import AnalysedObject
from floodmark.catalog.types import VARCHAR
from floodmark.changelog import OWNERS
from floodmark.runtime.objects.former import Formers
from floodmark.runtime.objects.task import Task
from floodmark.spark.literals import literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def with_former_owners(task: Task) -> AnalysedObject:
    """Return the table with the owners, too, that go with what they have written."""
    found = task.found
    former = [s.object for s in Formers(task).gone if owns(s.object)]
    return replace(found, owners=(*found.owners, *owners_of(former, found.relation.primary_key)))


def held(frame: DataFrame, table: AnalysedObject, sink: AnalysedObject | None = None) -> DataFrame:
    """Add who holds the rows, where columns have owners: the sink that is one, or nobody else."""
    if not table.owned:
        return frame
    owner = "NULL"
    if sink is not None and owns(sink.object):
        owner = f"array({literal(sink.object.stored_key, VARCHAR)})"
    return frame.selectExpr("*", f"CAST({owner} AS ARRAY<STRING>) AS {OWNERS}")
