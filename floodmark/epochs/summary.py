"""Summaries of epochs: what a run did, and what an unsealed epoch waits for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from floodmark.connectors.fields import Fields, describe_fields
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.stream.objects.dependencies import needs_of
from floodmark.stream.objects.external_sink import FILES


@dataclass(frozen=True)
class EpochSummary:
    """The summary of one epoch: a record per object, and the suspended objects with messages.

    An epoch in which only a selection has advanced is not `sealed`: it has the records of the
    objects that advanced just now and is `waiting_for` the others. `held_back` are those of the
    selection, each with the objects that have to advance first; none where the object has earlier
    epochs to catch up. The `notes` are those of its opening, such as a clock that went back.
    """

    epoch: int
    now: datetime
    objects: Mapping[str, ObjectRecord]
    suspended: Mapping[str, str] = field(default_factory=dict)
    duration_s: float = 0.0
    sealed: bool = True
    waiting_for: tuple[str, ...] = ()
    held_back: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: Sequence[str] = ()

    @property
    def changes(self) -> tuple[ObjectRecord, ...]:
        """Return the records of the objects that changed."""
        return tuple(r for r in self.objects.values() if r.touched)

    @property
    def notices(self) -> tuple[str, ...]:
        """Return lines with its notes, why it is not sealed and what held the selection back."""
        if self.sealed:
            return tuple(self.notes)
        lines = [
            *self.notes,
            f"epoch {self.epoch} is not sealed: it waits for {', '.join(self.waiting_for)}",
        ]
        for key, upstream in self.held_back.items():
            first = (
                f"advances after {', '.join(upstream)}" if upstream else "has epochs to catch up"
            )
            lines.append(f"{key} {first}")
        return (*lines, "a run without a selection completes the epoch")


def summarise_open(
    summary: EpochSummary, pipeline: Pipeline, left: Collection[str], select: Collection[str]
) -> EpochSummary:
    """Return the summary of an epoch in which objects are left."""
    waiting = tuple(o.key for o in pipeline.writing_objects if o.key in left)
    held_back = {
        key: tuple(k for k in waiting if k in needs_of(pipeline[key], pipeline))
        for key in waiting
        if key in select
    }
    return replace(summary, sealed=False, waiting_for=waiting, held_back=held_back)


def summarise_unopened(
    epoch: int, now: datetime, pipeline: Pipeline, offered: Collection[str], select: Collection[str]
) -> EpochSummary | None:
    """Return the summary of an epoch that a selection without any of its sources does not open.

    None where nothing of the selection is downstream of what is new.
    """
    touched = set(offered)
    for obj in pipeline.writing_objects:
        if needs_of(obj, pipeline) & touched:
            touched.add(obj.key)
    summary = summarise_open(EpochSummary(epoch, now, {}), pipeline, touched, select)
    return summary if summary.held_back else None


def field_notes(records: Mapping[str, ObjectRecord], pipeline: Pipeline) -> list[str]:
    """Return a line for each column without values and each field without a column, of new rows."""
    said = ((key, describe_field_differences(pipeline[key], [r])) for key, r in records.items()
            if key in pipeline.objects)  # fmt: skip
    return [f"{key}: {text}" for key, text in said if text is not None]


def describe_field_differences(obj: AnalysedObject, records: Iterable[ObjectRecord]) -> str | None:
    """Return a line about columns without any value and fields without a column, in some epochs.

    None where every column has values and every field is taken, or no rows came.
    """
    fed = [r for r in records if r.touched and r.rows_in]
    if obj.declared is None or not fed:
        return None
    lacks = set.intersection(*(set(r.lacking) for r in fed))
    unused = {name for r in fed for name in r.unused}
    columns = [c.name for c in obj.declared.physical]
    fields = Fields(tuple(c for c in columns if c in lacks), tuple(sorted(unused)))
    return describe_fields(fields, columns, sum(r.rows_in for r in fed))


def format_notes(plan: Collection[str], pipeline: Pipeline) -> list[str]:
    """Return, for created sources without FORMAT, the encoding that is assumed."""
    objects = (pipeline[key] for key in plan if key in pipeline.objects)
    return [
        f"{o.name} says no FORMAT: its files are read as JSON lines (FORMAT PLAIN ENCODE JSON)"
        for o in objects
        if o.declared is not None
        and o.declared.connector == FILES
        and getattr(o.object.statement, "format", None) is None
        and o.object.option("format", o.object.option("encode")) is None
    ]
