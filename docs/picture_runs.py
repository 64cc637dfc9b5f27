"""Small runs of the reference interpreter, from which docs/watermarks.md draws its pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from floodmark.catalog.catalog import Catalog
from floodmark.catalog.objects import Origin
from floodmark.changelog import RowKind, is_hidden
from floodmark.reference.compile import reference_objects
from floodmark.reference.engine import advance
from floodmark.reference.pipeline import Delivery, EpochInput, ObjectState
from floodmark.sql.parse import parse_script
from floodmark.sql.statements import Definition
from floodmark.stream.objects.pipeline import analyse_catalog

_READS = "WITH (connector = 'files', path = '{0}') FORMAT PLAIN ENCODE JSON"
_DAY = datetime(2026, 1, 1)


def at(text: str) -> datetime:
    """Return a time of the day on which all examples are.

    >>> at("10:05").minute
    5
    """
    parts = [*map(int, text.split(":")), 0]
    return _DAY.replace(hour=parts[0], minute=parts[1], second=parts[2])


@dataclass(frozen=True)
class Lane:
    """A view, its name in the picture, and how a row of it is written there."""

    view: str
    title: str
    text: str = "{0}"


@dataclass(frozen=True)
class Example:
    """Sources with their time columns, views, and the rows that come epoch by epoch.

    Rows are `(source, time, other values)`. `sql` may say `{s}` for where source `s` reads.
    """

    name: str
    title: str
    sql: str
    times: Mapping[str, str]
    lanes: tuple[Lane, ...]
    epochs: tuple[tuple[tuple[Any, ...], ...], ...]
    windows: tuple[str, str] | None = None


@dataclass
class Step:
    """One epoch of a run.

    `rows` are `(source, time, label, late)`; `marks` the watermarks of the sources, and of the
    first view's first column under its name; `given` what each view has given out.
    """

    rows: list[tuple[str, datetime, str, bool]] = field(default_factory=list)
    marks: dict[str, datetime] = field(default_factory=dict)
    given: dict[str, list[dict[str, Any]]] = field(default_factory=dict)


def run(example: Example) -> list[Step]:
    """Return what the reference makes of an example, epoch by epoch."""
    catalog = Catalog()
    text = example.sql.format(**{name: _READS.format(name) for name in example.times})
    for statement in parse_script(text):
        assert isinstance(statement, Definition)
        catalog = catalog.create(statement, Origin.FILE)
    pipeline = analyse_catalog(catalog)
    objects = reference_objects(pipeline)
    states: Mapping[str, ObjectState] = {}
    steps = []
    for number, rows in enumerate(example.epochs, start=1):
        brought: dict[str, list[Delivery]] = {}
        for source, time, *values in rows:
            row = _row(pipeline[source].declared, example.times[source], at(time), values)
            brought.setdefault(source, []).append(Delivery(RowKind.INSERT, row))
        epoch = EpochInput(_DAY.replace(tzinfo=UTC), brought, number=number)
        states, results = advance(objects, states, epoch)
        step = Step()
        for source, time, *values in rows:
            column = example.times[source]
            late = any(lost[column] == at(time) for lost in results[source].late)
            step.rows.append((source, at(time), " ".join(map(str, values)), late))
        step.marks = {
            source: states[source].watermark[column]
            for source, column in example.times.items()
            if column in states[source].watermark
        }
        _of_view(step, example, pipeline, states)
        for lane in example.lanes:
            given = [row for _, row in results[lane.view].changes]
            step.given[lane.view] = [
                {c: v for c, v in row.items() if not is_hidden(c)} for row in given
            ]
        steps.append(step)
    return steps


def _of_view(
    step: Step, example: Example, pipeline: Any, states: Mapping[str, ObjectState]
) -> None:
    view = example.lanes[0].view
    marks = pipeline[view].relation.watermarks
    if marks and marks[0][0] in states[view].watermark:
        step.marks[view] = states[view].watermark[marks[0][0]]


def _row(declared: Any, time: str, value: datetime, others: Sequence[Any]) -> dict[str, Any]:
    names = [c.name for c in declared.columns]
    rest = [name for name in names if name != time]
    return {time: value, **dict(zip(rest, others, strict=True))}
