"""An external sink in an epoch: its changes are stored, written outside, and recorded as sent.

If the query only copies columns of an object, its stored changes are read without Spark. Other
queries, and the first epoch of a sink, need Spark.
"""

from __future__ import annotations

from dataclasses import replace

from floodmark import failpoints
from floodmark.changelog import EPOCH
from floodmark.connectors.registry import sender_of
from floodmark.connectors.sinks.sink_batch import SinkBatch
from floodmark.dataflow import materialize
from floodmark.dataflow.evaluation import Evaluation
from floodmark.dataflow.inputs import EpochInputs
from floodmark.dataflow.stages import ObjectStages
from floodmark.epochs.objects.object_advance import ObjectAdvance
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import ColumnRef
from floodmark.scalar.types import BIGINT, Field, Kind
from floodmark.spark.columns import WEIGHT_FIELD
from floodmark.spark.rows import Rows
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.storage.table import DataFile
from floodmark.tables import layout

_SENT = (Field(EPOCH, BIGINT, nullable=False),)
_UNORDERED = (Kind.INTERVAL, Kind.LIST, Kind.STRUCT, Kind.MAP)


def advance_sink(advance: ObjectAdvance) -> ObjectRecord:
    """Write the epoch's changes outside, except what an earlier attempt has recorded as sent."""
    obj, writer = advance.obj, advance.writer
    table = layout.sink_progress_table(obj)
    if (record := writer.find_record(table)) is not None:
        return record
    assert obj.plan is not None
    stages, inputs = advance.stages(obj), advance.input.inputs(advance.tables, obj)
    outgoing = _changes_to_copy(advance, inputs)
    versions: dict[str, int] = {}
    if outgoing is None:
        outgoing, versions = _compute_changes(advance, stages, inputs)
    rows = 0
    if advance.input.writes_outside:
        initial = obj.key in advance.input.created
        rows = sender_of(obj, advance.input.seed, advance.tables.limits).send(
            advance.input.epoch, outgoing, initial=initial, records=advance.input.record_of
        )
    marks = inputs.watermarks(obj.plan.top)
    record = ObjectRecord(
        obj.key,
        {**advance.versions_before(), **stages.versions, **versions},
        rows_in=advance.rows_of_inputs(obj.reads),
        rows_out=rows,
        dead_rows=stages.dead_rows,
        asked=advance.external_versions(),
        due=stages.first_due,
        watermarks={w: marks[w] for w, _ in obj.relation.watermarks if w in marks},
    )
    record = writer.commit_last(table, _SENT, (), record)
    failpoints.reach("sent_committed")
    return record


def _changes_to_copy(advance: ObjectAdvance, inputs: EpochInputs) -> SinkBatch | None:
    """Return the stored changes of the one object that a query copies; None for other queries."""
    plan = advance.obj.plan
    found = None if plan is None else _copies(plan.root)
    if found is None or inputs.fills:
        return None
    scan, names = found
    upstream = advance.input.pipeline[scan.object]
    if upstream.period or scan.external:
        return None
    piece = advance.tables.limits.sink_piece
    if not inputs.has_changes(scan.object):
        return SinkBatch(advance.input.epoch, piece=piece)
    kinds = not upstream.append_only
    table = layout.changes_table(upstream) if kinds else layout.current_table(upstream)
    version = advance.input.after.version(upstream.key, table)
    if version is None:
        return None
    handle, epoch = advance.tables.open(table, version), advance.input.epoch
    files = advance.tables.files_of_epochs(handle, epoch, epoch)
    paths = advance.tables.store.paths(handle, files)
    key = upstream.relation.stream_key
    order = tuple(f for f in upstream.relation.columns if f.name in key)
    if any(f.type.kind in _UNORDERED for f in order):
        return None
    parts = list(zip(files, paths, strict=True))
    return SinkBatch(epoch, parts, names, kinds, order, piece=piece)


def _copies(root: n.Node) -> tuple[n.Scan, dict[str, str]] | None:
    """Return the scan of a plan that only copies, and the scan's name of each column; else None."""
    names = {f.name: f.name for f in root.schema}
    while isinstance(root, n.Project):
        exprs = dict(root.columns)
        below = {c: exprs[name] for c, name in names.items()}
        names = {c: e.name for c, e in below.items() if isinstance(e, ColumnRef)}
        if len(names) < len(below):
            return None
        root = root.input
    return (root, names) if isinstance(root, n.Scan) else None


def _compute_changes(
    advance: ObjectAdvance, stages: ObjectStages, inputs: EpochInputs
) -> tuple[SinkBatch, dict[str, int]]:
    """Store the changes of any query: one Spark job; return them as they are stored."""
    obj, writer, epoch = advance.obj, advance.writer, advance.input.epoch
    assert obj.plan is not None
    relation, table = obj.relation, layout.changes_table(obj)
    rows = Evaluation(obj.plan, inputs, stages, advance.input.keyed_reads).root()
    settled = _drop_failing(rows, stages, (*relation.columns, WEIGHT_FIELD))
    files: tuple[DataFile, ...] = ()
    if settled is not None:
        if obj.append_only:
            settled = replace(settled, inserts=True)
        changes = materialize.changelog(settled, relation.columns, relation.stream_key, epoch)
        files = writer.write(table, changes)
    failpoints.reach("files_written")
    versions = advance.dead_letters([*stages.dead, *stages.withdrawn])
    handle = writer.newest(table, layout.changes_schema(obj))
    handle = writer.commit(table, layout.changes_schema(obj), files, handle.files, handle)
    failpoints.reach("outgoing_stored")
    paths = advance.tables.store.paths(handle, handle.files)
    key = relation.stream_key
    order = tuple(f for f in relation.columns if f.name in key and f.type.kind not in _UNORDERED)
    ordered = sorted(zip(handle.files, paths, strict=True), key=lambda pair: pair[0].path)
    batch = SinkBatch(epoch, ordered, order=order, piece=advance.tables.limits.sink_piece)
    return batch, {**versions, table: handle.version}


def _drop_failing(
    rows: Rows | None, stages: ObjectStages, columns: tuple[Field, ...]
) -> Rows | None:
    """Return the rows without those that fail, which go to the dead letters."""
    if rows is None or not rows.failing:
        return rows
    frame = stages.settle("root", rows, columns)
    return None if frame is None else replace(rows, frame=frame, failing=False, has_kinds=False)
