"""What sources and tables do with the rows that reach them: complete, judge, store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from floodmark.catalog.types import Field
from floodmark.changelog import ROW_ID, RowKind, is_hidden
from floodmark.errors import IntakeCode
from floodmark.reference.changes import Change, changes_between
from floodmark.reference.expressions import evaluate
from floodmark.reference.pipeline import (
    Aside,
    EpochInput,
    ObjectResult,
    ObjectState,
    ReferenceObject,
)
from floodmark.reference.rows import Row, key_of
from floodmark.reference.tables import merge, of_sink, rekey
from floodmark.reference.watermarks import Values, late_column, raise_by

DML = "dml"
SINK = "sink:"
_DML_ORDINAL = 0x7FFF
_FIRST_SINK_ORDINAL = 0x4000

NOT_NULL = "not_null"
NULL_TIME = "null_time"

Brought = Sequence[tuple[ReferenceObject, Sequence[Change]]]


@dataclass(frozen=True, slots=True)
class _Batch:
    """Rows of one partition that count as one row for the watermark.

    Of a `whole` one all rows are taken, or, where one of them goes aside, none.
    """

    partition: str
    ordinal: int
    changes: Sequence[Change]
    whole: bool = False


@dataclass
class _Intake:
    """What one epoch has made of an object so far."""

    item: ReferenceObject
    state: ObjectState
    epoch: EpochInput
    accepted: list[Change] = field(default_factory=list)
    late: list[Row] = field(default_factory=list)
    dead: list[Aside] = field(default_factory=list)

    def take(self, batch: _Batch) -> None:
        """Judge the rows of a batch by the watermarks before it, then raise these by its rows."""
        judged, marks = self.state.marks, self.item.watermarks
        completed = [(kind, self._completed(kind, partial)) for kind, partial in batch.changes]
        if batch.whole and any(row is None for _, row in completed):
            return
        for kind, complete in completed:
            if complete is None:
                continue
            row = self._identified(complete, batch)
            if late_column(marks, judged, batch.partition, row) is None:
                self._accept(kind, row)
            else:
                self._put_late(row)
            raised = raise_by(marks, self.state.marks, batch.partition, row, self.epoch.now)
            self.state = replace(self.state, marks=raised)

    def _accept(self, kind: RowKind, row: Row) -> None:
        """Take a row in; one that is transformed and refused goes aside, and from its key."""
        refused = self._refused(row) if kind.weight > 0 else None
        if refused is not None:
            self.dead.append(Aside(RowKind.INSERT, f"E{refused:04d}", row))
            if self.item.merge is not None:
                self.accepted.append((RowKind.DELETE, row))
            return
        self.accepted.append((kind, row))

    def _put_late(self, row: Row) -> None:
        transform, refused = self.item.transform, self._refused(row)
        if refused is not None:
            self.dead.append(Aside(RowKind.INSERT, f"E{refused:04d}", row))
        elif transform is None:
            self.late.append(row)
        elif transform.keeps(row, self.epoch.now):
            self.late.append(transform.made(row, self.epoch.now))

    def _refused(self, row: Row) -> int | None:
        transform = self.item.transform
        return None if transform is None else transform.refusal(row, self.epoch.now)

    def _completed(self, kind: RowKind, partial: Row) -> Row | None:
        """Return the row with defaults and generated columns, or None when it goes aside."""
        row = {**partial, **dict.fromkeys(self.item.ingested, self.epoch.now)}
        computed = [(n, e) for n, e in self.item.defaults if n not in row]
        for name, expr in [*computed, *self.item.generated]:
            value, error = evaluate(expr, row, self.epoch.now)
            if error is not None and kind is not RowKind.DELETE:
                self.dead.append(Aside(RowKind.INSERT, f"E{int(error):04d}", row))
                return None
            row[name] = value
        for column in self.item.taken:
            if not is_hidden(column.name):
                row.setdefault(column.name, None)
        reason = self._reason(kind, row)
        if reason is not None:
            self.dead.append(Aside(RowKind.INSERT, reason, row))
        return row if reason is None else None

    def _reason(self, kind: RowKind, row: Row) -> str | None:
        times = {mark.column for mark in self.item.watermarks}
        for column in self.item.taken:
            if kind is RowKind.DELETE and column.name not in self.item.taken_key:
                continue
            if is_hidden(column.name) or row[column.name] is not None:
                continue
            if column.name in times:
                return NULL_TIME
            if not column.nullable:
                return NOT_NULL
        return None

    def _identified(self, row: Row, batch: _Batch) -> Row:
        hidden = [column.name for column in self.item.taken if is_hidden(column.name)]
        if ROW_ID not in hidden:
            return row
        count = self.state.written.get(batch.partition, 0)
        written = {**self.state.written, batch.partition: count + 1}
        self.state = replace(self.state, written=written)
        # The row id alone is unique here, also for rows of sinks.
        return {**row, **dict.fromkeys(hidden), ROW_ID: (batch.ordinal << 47) + count}


def gather(
    item: ReferenceObject, old: ObjectState, epoch: EpochInput, brought: Brought
) -> tuple[ObjectState, ObjectResult]:
    """Return a source or table after an epoch: connector, then sinks, then DML, then one merge."""
    intake = _Intake(item, old, epoch)
    for batch in _batches(item, epoch, brought):
        intake.take(batch)
    taken, ignored = _stored(intake)
    rows = taken
    if item.transform is not None:
        rows = list(item.transform.seen(taken, epoch.now))
    marks = intake.state.marks.seal(_holding(intake), (m.column for m in item.watermarks))
    state = replace(
        intake.state, rows=tuple(rows), marks=marks, watermark=_named(item, marks.sealed),
        taken=() if item.transform is None else tuple(taken),
    )  # fmt: skip
    changes = tuple(changes_between(rows, old.rows, item.stream_key))
    return state, ObjectResult(changes, tuple(intake.late), tuple(intake.dead), ignored)


def _stored(intake: _Intake) -> tuple[list[Row], int]:
    """Return the rows after the epoch, and how many incoming ones were ignored."""
    rules, old = intake.item.merge, _taken(intake)
    if rules is None:
        assert all(kind is RowKind.INSERT for kind, _ in intake.accepted), intake.item.name
        return [*old, *_promised(intake)], 0
    keyed = {key_of(row, rules.primary_key): row for row in old}
    rows, ignored, refused = merge(keyed, intake.accepted, rules, intake.epoch.now)
    intake.dead += [Aside(RowKind.INSERT, f"E{r.code:04d}", r.row) for r in refused]
    return list(rows.values()), ignored


def _taken(intake: _Intake) -> tuple[Row, ...]:
    """Return the rows before the epoch as they came."""
    return intake.state.rows if intake.item.transform is None else intake.state.taken


def _named(item: ReferenceObject, marks: Values) -> Values:
    """Return watermarks also under the names that a transformation gives to their columns."""
    passed = {} if item.transform is None else item.transform.parts.passed
    renamed = {name: marks[c] for c, name in passed.items() if c in marks and name not in marks}
    return {**marks, **renamed}


def _promised(intake: _Intake) -> Iterator[Row]:
    """Yield the accepted rows, of those with a promised key the first; the others are dead."""
    key = intake.item.promised
    seen = {key_of(row, key) for row in _taken(intake)} if key else set()
    transform = intake.item.transform
    for _, row in intake.accepted:
        if transform is not None and not transform.keeps(row, intake.epoch.now):
            continue
        if key and key_of(row, key) in seen:
            intake.dead.append(Aside(RowKind.INSERT, IntakeCode.KEY_TWICE.text, row))
            continue
        if key:
            seen.add(key_of(row, key))
        yield row


def _holding(intake: _Intake) -> list[str]:
    """Return the partitions that hold the watermark back: those of the connector."""
    seen = intake.state.marks.running
    connector = (p for p in seen if p != DML and not p.startswith(SINK))
    return list(dict.fromkeys((*intake.item.partitions, *connector)))


def _batches(item: ReferenceObject, epoch: EpochInput, brought: Brought) -> Iterator[_Batch]:
    delivered = epoch.deliveries.get(item.name, ())
    partitions = dict.fromkeys(delivery.partition for delivery in delivered)
    for partition in partitions:
        given = [(d.kind, d.row) for d in delivered if d.partition == partition]
        for message in _messages(given):
            if item.merge is not None:
                message = rekey(message, item.taken_key)
            yield _Batch(partition, int(partition), message, whole=True)
    for index, (sink, emitted) in enumerate(brought):
        rows = list(_renamed(item, sink, emitted))
        if item.merge is not None:
            rows = of_sink(rows, item.merge.primary_key)
        yield _Batch(SINK + sink.name, _FIRST_SINK_ORDINAL + index, list(_allowed(sink, rows)))
    for table, changes in epoch.dml:
        if table == item.name:
            yield _Batch(DML, _DML_ORDINAL, changes)


def _messages(changes: Iterable[Change]) -> Iterator[list[Change]]:
    """Yield the changes one by one, an old row together with its new one."""
    message: list[Change] = []
    for kind, row in changes:
        message.append((kind, row))
        if kind is not RowKind.UPDATE_BEFORE:
            yield message
            message = []


def _renamed(
    item: ReferenceObject, sink: ReferenceObject, changes: Iterable[Change]
) -> Iterator[Change]:
    """Yield a sink's changes with the target's columns, by position."""
    visible = [column.name for column in sink.schema if not is_hidden(column.name)]
    targets = sink.target_columns or _writable(item.schema, item)[: len(visible)]
    for kind, row in changes:
        yield kind, dict(zip(targets, (row[c] for c in visible), strict=True))


def _writable(schema: tuple[Field, ...], item: ReferenceObject) -> tuple[str, ...]:
    generated = {name for name, _ in item.generated}
    return tuple(c.name for c in schema if not is_hidden(c.name) and c.name not in generated)


def _allowed(sink: ReferenceObject, changes: Iterable[Change]) -> Iterator[Change]:
    """Yield what the sink's options let through."""
    for kind, row in changes:
        match kind:
            case RowKind.DELETE | RowKind.UPDATE_BEFORE:
                if not (sink.force_append_only or sink.ignore_delete):
                    yield kind, row
            case RowKind.UPDATE_AFTER if sink.force_append_only:
                yield RowKind.INSERT, row
            case _:
                yield kind, row
