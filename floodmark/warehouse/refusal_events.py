"""Suspensions that are not logged: they follow from a definition that this version refuses."""

from __future__ import annotations

from datetime import datetime

from floodmark.storage.logs.epochs import Event
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables.cut import Cut


def home_of(obj: AnalysedObject) -> str:
    """Return the key of what is suspended with an object: of a sink, the table that it writes."""
    return obj.object.target or obj.key


def refusal_event(obj: AnalysedObject, cut: Cut, at: datetime) -> Event:
    """Return the suspension of a refused object: no run has tried it, from the next epoch on."""
    assert obj.refused is not None
    record = cut.records.get(home_of(obj))
    epoch = (cut.epoch if record is None else record.position) + 1
    what = f"this version refuses the definition of {obj.kind.value} {obj.name}"
    message = f"{what}: {obj.refused.message}"
    return Event("suspend", epoch, at, message, obj.key, obj.refused.code, tries=0)


def is_refusal(event: Event) -> bool:
    """Tell whether a suspension follows from a refused definition."""
    return event.tries == 0
