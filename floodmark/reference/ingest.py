"""What sources and tables do with the rows that reach them: complete, judge, store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from floodmark.changelog import OWNERS, ROW_ID, RowKind, is_hidden
from floodmark.plan.expr.evaluate import evaluate
from floodmark.reference import clock
from floodmark.reference.changes import Change, changes_between
from floodmark.reference.expiry import RowExpiry
from floodmark.reference.merging import next_rows
from floodmark.reference.pipeline import (
    Aside,
    EpochInput,
    ObjectResult,
    ObjectState,
    ReferenceObject,
)
from floodmark.reference.rows import Row
from floodmark.reference.tables import NOT_NULL, rekey, sink_changes_by_key
from floodmark.reference.watermarks import WatermarkState, WatermarkValues, late_column, raise_by
from floodmark.scalar.types import Field

DML = "dml"
SINK = "sink:"
_DML_ORDINAL = 0x7FFF
_FIRST_SINK_ORDINAL = 0x4000

NULL_TIME = "null_time"
FUTURE_TIME = "future_time"

SinkChanges = Sequence[tuple[ReferenceObject, Sequence[Change]]]


@dataclass(frozen=True, slots=True)
class _Batch:
    """Rows of one partition that count as one row for the watermark.

    A `whole` batch is taken with all rows, or not at all if one of them goes aside. Rows of a
    `partial` batch may lack values that the table needs: the stored row has them.
    """

    partition: str
    ordinal: int
    changes: Sequence[Change]
    whole: bool = False
    partial: bool = False


@dataclass
class _Intake:
    """What one epoch has made of an object so far."""

    obj: ReferenceObject
    state: ObjectState
    epoch: EpochInput
    accepted: list[Change] = field(default_factory=list)
    late: list[Row] = field(default_factory=list)
    dead: list[Aside] = field(default_factory=list)
    came: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.before = self.state.marks

    def take(self, batch: _Batch) -> None:
        """Judge the rows of a batch by the watermarks before it, then raise these by its rows."""
        judged, marks = self.state.marks, self.obj.watermarks
        if batch.changes:
            self.came.add(batch.partition)
        completed = [(kind, self._complete(kind, row, batch)) for kind, row in batch.changes]
        if batch.whole and any(row is None for _, row in completed):
            return
        for kind, complete in completed:
            if complete is None:
                continue
            row = self._add_row_id(complete, batch)
            if self._deletes(kind) or late_column(marks, judged, batch.partition, row) is None:
                self._accept(kind, row)
            else:
                self._take_late(row)
            raised = raise_by(marks, self.state.marks, batch.partition, row, self.epoch.now)
            self.state = replace(self.state, marks=raised)

    def _accept(self, kind: RowKind, row: Row) -> None:
        """Take a row in; one that is transformed and refused goes aside, and from its key."""
        refused = self._refusal(row) if kind.weight > 0 else None
        if refused is not None:
            self.dead.append(Aside(RowKind.INSERT, f"E{refused:04d}", row))
            if self.obj.merge is not None:
                self.accepted.append((RowKind.DELETE, row))
            return
        self.accepted.append((kind, row))

    def _deletes(self, kind: RowKind) -> bool:
        """Tell whether a change takes a row away, where rows below the watermark end by it."""
        return self.obj.ttl_column is not None and kind.weight < 0

    def _take_late(self, row: Row) -> None:
        if self.obj.ttl_column is not None:
            # The row of the key is the late one now, and that is not seen.
            self.accepted.append((RowKind.DELETE, row))
        transform, refused = self.obj.transform, self._refusal(row)
        if refused is not None:
            self.dead.append(Aside(RowKind.INSERT, f"E{refused:04d}", row))
        elif transform is None:
            self.late.append(row)
        elif transform.keeps(row, self.epoch.now):
            self.late.append(transform.project(row, self.epoch.now))

    def _refusal(self, row: Row) -> int | None:
        transform = self.obj.transform
        return None if transform is None else transform.refusal(row, self.epoch.now)

    def _complete(self, kind: RowKind, partial: Row, batch: _Batch) -> Row | None:
        """Return the row with defaults and generated columns, or None when it goes aside."""
        row = {**partial, **dict.fromkeys(self.obj.ingested, self.epoch.now)}
        computed = [(n, e) for n, e in self.obj.defaults if n not in row]
        for name, expr in [*computed, *self.obj.generated]:
            value, error = evaluate(expr, row, self.epoch.now)
            if error is not None and kind is not RowKind.DELETE:
                self.dead.append(Aside(RowKind.INSERT, f"E{int(error):04d}", row))
                return None
            row[name] = value
        for column in self.obj.input_schema:
            if not is_hidden(column.name):
                row.setdefault(column.name, None)
        reason = self._reason(kind, row, batch)
        if reason is not None:
            self.dead.append(Aside(RowKind.INSERT, reason, row))
        return row if reason is None else None

    def _reason(self, kind: RowKind, row: Row, batch: _Batch) -> str | None:
        times = {mark.column for mark in self.obj.watermarks}
        for column in self.obj.input_schema:
            if kind is RowKind.DELETE and column.name not in self.obj.input_key:
                continue
            if is_hidden(column.name) or row[column.name] is not None:
                continue
            if column.name in times:
                return NULL_TIME
            if not column.nullable and not batch.partial:
                return NOT_NULL
        return FUTURE_TIME if self._is_ahead(row) else None

    def _is_ahead(self, row: Row) -> bool:
        options, now = self.obj.clock, self.epoch.now
        return any(
            clock.is_ahead(mark, row[mark.column], options, now) for mark in self.obj.watermarks
        )

    def _add_row_id(self, row: Row, batch: _Batch) -> Row:
        hidden = [column.name for column in self.obj.input_schema if is_hidden(column.name)]
        if ROW_ID not in hidden:
            return row
        count = self.state.written.get(batch.partition, 0)
        written = {**self.state.written, batch.partition: count + 1}
        self.state = replace(self.state, written=written)
        # The row id alone is unique here, also for rows of sinks.
        return {**row, **dict.fromkeys(hidden), ROW_ID: (batch.ordinal << 47) + count}


def gather(
    obj: ReferenceObject, old: ObjectState, epoch: EpochInput, brought: SinkChanges
) -> tuple[ObjectState, ObjectResult]:
    """Return a source or table after an epoch: connector, then sinks, then DML, then one merge."""
    intake = _Intake(obj, old, epoch)
    for batch in _batches(intake, brought):
        intake.take(batch)
    ends = _ends(intake)
    stored = next_rows(obj, old, intake.accepted, intake.dead, ends)
    taken = rows = stored.rows
    if obj.transform is not None:
        rows = list(obj.transform.visible_rows(taken, epoch.now))
    marks = _seal(intake)
    bound = marks.sealed.get(obj.ttl_column or "")
    state = replace(
        intake.state, rows=tuple(rows), marks=marks, watermark=_alias_marks(obj, marks.sealed),
        taken=() if obj.transform is None else tuple(taken),
        wrote=stored.wrote, holds=stored.holds,
        shown=replace(ends, wrote=stored.wrote).visible_rows(rows, bound),
    )  # fmt: skip
    changes = tuple(changes_between(rows, old.rows, obj.stream_key))
    asides = tuple(intake.late), tuple(intake.dead)
    return state, ObjectResult(changes, *asides, stored.ignored, stored.expired, stored.timed)


def _ends(intake: _Intake) -> RowExpiry:
    obj, before = intake.obj, intake.state
    return RowExpiry(
        obj.stream_key,
        intake.epoch.now,
        obj.ttl,
        obj.ttl_column,
        intake.before.sealed.get(obj.ttl_column or ""),
        before.wrote,
    )


def _seal(intake: _Intake) -> WatermarkState:
    """Return the watermarks at the end of the epoch."""
    obj, epoch = intake.obj, intake.epoch
    columns = [mark.column for mark in obj.watermarks]
    holding = _holding(intake)
    state = clock.note_activity(intake.state.marks, holding, intake.came, epoch.now)
    if obj.name in epoch.limited:
        return state.seal(holding, columns)
    awake = clock.awake_partitions(state, holding, obj.clock, epoch.now)
    sealed = state.seal(awake, columns)
    return clock.advance(sealed, obj.watermarks, obj.clock, epoch.now)


def _alias_marks(obj: ReferenceObject, marks: WatermarkValues) -> WatermarkValues:
    """Return watermarks also under the names that a transformation gives to their columns."""
    passed = {} if obj.transform is None else obj.transform.parts.plain_columns
    renamed = {name: marks[c] for c, name in passed.items() if c in marks and name not in marks}
    return {**marks, **renamed}


def _holding(intake: _Intake) -> list[str]:
    """Return the partitions that hold the watermark back: those of the connector."""
    if not intake.obj.connected:
        return []
    seen = intake.state.marks.running
    connector = (p for p in seen if p != DML and not p.startswith(SINK))
    return list(dict.fromkeys((*intake.obj.partitions, *connector)))


def _batches(intake: _Intake, brought: SinkChanges) -> Iterator[_Batch]:
    obj, epoch = intake.obj, intake.epoch
    delivered = epoch.deliveries.get(obj.name, ())
    partitions = dict.fromkeys(delivery.partition for delivery in delivered)
    for partition in partitions:
        given = [(d.kind, d.row) for d in delivered if d.partition == partition]
        for message in _messages(given):
            if obj.merge is not None:
                message = rekey(message, obj.input_key)
            yield _Batch(partition, int(partition), message, whole=True)
    yield from _sink_batches(intake, brought)
    for table, changes in epoch.dml:
        if table == obj.name:
            yield _Batch(DML, _DML_ORDINAL, [_plain_change(change) for change in changes])


def _sink_batches(intake: _Intake, brought: SinkChanges) -> Iterator[_Batch]:
    """Yield what sinks bring: the deletes of all of them, then the rest."""
    obj = intake.obj
    parts = [
        list(_filter_changes(sink, _whole(intake, sink, list(_rename(obj, sink, emitted)))))
        for sink, emitted in brought
    ]
    if obj.merge is not None:
        parts = sink_changes_by_key(parts, obj.merge.primary_key, owned=bool(obj.merge.owners))
    for deletes in (True, False):
        for i, ((sink, _), rows) in enumerate(zip(brought, parts, strict=True)):
            part = [change for change in rows if (change[0] is RowKind.DELETE) is deletes]
            if part or not deletes:
                yield _Batch(SINK + sink.name, _FIRST_SINK_ORDINAL + i, part, partial=True)


def _whole(intake: _Intake, sink: ReferenceObject, changes: Sequence[Change]) -> Iterator[Change]:
    """Yield the changes of rows that have what the table needs; the others go aside, or go again.

    What a conflict can take from the stored row, or an owner does not bring, is asked for
    afterwards. Of an update of which one
    row is whole that one is an insert or a delete.
    """
    needed = intake.obj.input_key if sink.owns else intake.obj.required_columns
    whole = [all(row.get(name, 0) is not None for name in needed) for _, row in changes]
    for i, (kind, row) in enumerate(changes):
        other = {RowKind.UPDATE_BEFORE: i + 1, RowKind.UPDATE_AFTER: i - 1}.get(kind, i)
        if not whole[i]:
            gone = kind.weight < 0
            intake.dead.append(Aside(RowKind.DELETE if gone else RowKind.INSERT, NOT_NULL, row))
        elif not whole[other]:
            yield (RowKind.DELETE if kind.weight < 0 else RowKind.INSERT), row
        else:
            yield kind, row


def _plain_change(change: Change) -> Change:
    """Return an update that a statement makes as a delete and an insert: no conflict alters it."""
    kinds = {RowKind.UPDATE_BEFORE: RowKind.DELETE, RowKind.UPDATE_AFTER: RowKind.INSERT}
    return kinds.get(change[0], change[0]), change[1]


def _messages(changes: Iterable[Change]) -> Iterator[list[Change]]:
    """Yield the changes one by one, an old row together with its new one."""
    message: list[Change] = []
    for kind, row in changes:
        message.append((kind, row))
        if kind is not RowKind.UPDATE_BEFORE:
            yield message
            message = []


def _rename(
    obj: ReferenceObject, sink: ReferenceObject, changes: Iterable[Change]
) -> Iterator[Change]:
    """Yield a sink's changes with the target's columns, by position."""
    computed = {name for name, _ in obj.generated}
    shown = (column.name for column in sink.schema if not is_hidden(column.name))
    visible = [name for name in shown if name not in computed]
    targets = sink.target_columns or _writable(obj.schema, obj)[: len(visible)]
    owner = {OWNERS: sink.owns} if sink.owns else {}
    for kind, row in changes:
        yield kind, dict(zip(targets, (row[c] for c in visible), strict=True)) | owner


def _writable(schema: tuple[Field, ...], obj: ReferenceObject) -> tuple[str, ...]:
    generated = {name for name, _ in obj.generated}
    return tuple(c.name for c in schema if not is_hidden(c.name) and c.name not in generated)


def _filter_changes(sink: ReferenceObject, changes: Iterable[Change]) -> Iterator[Change]:
    """Yield what the sink's options let through."""
    for kind, row in changes:
        match kind:
            case RowKind.DELETE | RowKind.UPDATE_BEFORE:
                if not (sink.force_append_only or sink.ignore_delete):
                    yield kind, row
            case RowKind.UPDATE_AFTER if sink.force_append_only or sink.ignore_delete:
                yield RowKind.INSERT, row
            case _:
                yield kind, row
