"""Runs a program on the reference interpreter and compares what comes out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from floodmark.catalog.catalog import Catalog
from floodmark.catalog.objects import Origin
from floodmark.changelog import RowKind, is_hidden
from floodmark.reference.compile import reference_objects
from floodmark.reference.engine import advance
from floodmark.reference.pipeline import (
    Delivery,
    EpochInput,
    ObjectResult,
    ObjectState,
    ReferenceObject,
)
from floodmark.reference.rows import Row
from floodmark.scalar.types import SqlType
from floodmark.session.ddl.desired import check_new_object
from floodmark.sql.parse import parse_script
from floodmark.sql.statements import Definition
from floodmark.stream.objects.analysed import Pipeline
from floodmark.stream.objects.pipeline import analyse_catalog
from floodmark.testing.program import Epoch, Program
from floodmark.testing.text import Line, TextRow, decode_rows, mismatch

Objects = Mapping[str, ReferenceObject]


def compile_sql(sql: str) -> Pipeline:
    """Return the analysed pipeline of a program's SQL."""
    catalog = Catalog()
    for statement in parse_script(sql):
        if isinstance(statement, Definition):
            catalog = check_new_object(catalog.create(statement, Origin.FILE), statement)
    return analyse_catalog(catalog)


def objects_of(program: Program) -> tuple[ReferenceObject, ...]:
    """Return the program's objects; the partitions that it names are known from the start."""
    named: dict[str, dict[str, None]] = {}
    for epoch in program.epochs:
        for name, lines in epoch.inputs.items():
            named.setdefault(name, {}).update(dict.fromkeys(line.partition for line in lines))
    return tuple(
        replace(obj, partitions=tuple(named.get(obj.name, ())))
        for obj in reference_objects(compile_sql(program.sql))
    )


def run_reference(program: Program) -> list[str]:
    """Return the differences between what a program expects and what the reference emits."""
    objects = objects_of(program)
    by_name = {obj.name: obj for obj in objects}
    states: Mapping[str, ObjectState] = {}
    found: list[str] = []
    for epoch in program.epochs:
        states, results = advance(objects, states, _input(epoch, by_name))
        head = f"{program.name}, epoch {epoch.number}: "
        found.extend(head + text for text in _mismatches(program, epoch, by_name, results))
    return found


def _input(epoch: Epoch, objects: Objects) -> EpochInput:
    rows = {
        name: [_delivery(line, objects[name]) for line in lines]
        for name, lines in epoch.inputs.items()
    }
    assert not epoch.dml, "the reference runs no DML text yet"
    stated = [name for name in rows if objects[name].watermarks and not objects[name].connected]
    dml = [(name, [(d.kind, d.row) for d in rows.pop(name)]) for name in stated]
    return EpochInput(epoch.now, rows, dml)


def _delivery(line: Line, obj: ReferenceObject) -> Delivery:
    computed = {*(name for name, _ in obj.generated), *obj.ingested}
    columns = [c for c in obj.input_schema if not is_hidden(c.name) and c.name not in computed]
    ((kind, values),) = decode_rows([line], [c.type for c in columns])
    row = dict(zip((c.name for c in columns), values, strict=True))
    return Delivery(kind, row, line.partition)


def _mismatches(
    program: Program, epoch: Epoch, objects: Objects, results: Mapping[str, ObjectResult]
) -> Iterator[str]:
    for name in sorted(program.outputs):
        obj = objects.get(name) or objects[f"sink:{name}"]
        actual = [(kind, _shown(row, obj)) for kind, row in results[obj.name].changes]
        expected = decode_rows(epoch.expected.get(name, ()), _types(obj))
        yield from _told(name, expected, actual)
    for key, result in results.items():
        name, obj = key.removeprefix("sink:"), objects[key]
        late = [(RowKind.INSERT, _shown(row, obj)) for row in result.late]
        label = f"late {name}"
        yield from _told(label, decode_rows(epoch.expected.get(label, ()), _types(obj)), late)
        label = f"dead {name}"
        lines = epoch.expected.get(label, ())
        reasons: list[TextRow] = [(line.kind, (line.values[0],)) for line in lines]
        yield from _told(label, reasons, [(d.kind, (d.reason,)) for d in result.dead])


def _told(label: str, expected: list[TextRow], actual: list[TextRow]) -> Iterator[str]:
    text = mismatch(label, expected, actual)
    if text is not None:
        yield text


def _shown(row: Row, obj: ReferenceObject) -> tuple[object, ...]:
    return tuple(row[c.name] for c in obj.schema if not is_hidden(c.name))


def _types(obj: ReferenceObject) -> list[SqlType]:
    return [c.type for c in obj.schema if not is_hidden(c.name)]


def run_rebatched(program: Program) -> list[str]:
    """Return the objects whose final rows depend on where the epoch boundaries are.

    The program runs as written, in one epoch, and with one row (or update) per epoch.
    """
    objects = objects_of(program)
    by_name = {obj.name: obj for obj in objects}
    inputs = [_input(epoch, by_name) for epoch in program.epochs]
    now = inputs[-1].now
    names = [name for name in by_name if any(name in epoch.deliveries for epoch in inputs)]
    whole = {name: [d for e in inputs for d in e.deliveries.get(name, ())] for name in names}
    single = [
        EpochInput(now, {name: part})
        for epoch in inputs
        for name, deliveries in epoch.deliveries.items()
        for part in _parts(deliveries)
    ]
    wanted = _final(objects, inputs)
    found: list[str] = []
    for label, cut in (("one epoch", [EpochInput(now, whole)]), ("single rows", single)):
        rows = _final(objects, cut)
        found += [f"{program.name}, {label}: {n}" for n in by_name if rows[n] != wanted[n]]
    return found


def _parts(deliveries: Sequence[Delivery]) -> Iterator[list[Delivery]]:
    """Yield the deliveries one by one, an old row together with its new one."""
    part: list[Delivery] = []
    for delivery in deliveries:
        part.append(delivery)
        if delivery.kind is not RowKind.UPDATE_BEFORE:
            yield part
            part = []


def _final(objects: Sequence[ReferenceObject], inputs: Sequence[EpochInput]) -> dict[str, object]:
    states: Mapping[str, ObjectState] = {}
    for epoch in inputs:
        states, _ = advance(objects, states, epoch)
    return {obj.name: Counter(_shown(row, obj) for row in states[obj.name].rows) for obj in objects}
