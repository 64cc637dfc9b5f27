"""Notes of EXPLAIN on an object; they are hints, not errors.

Codes A101 to A109 are about state and cost. A110 to A119 say why an object is not cut-free: with
other epoch boundaries its content can differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from floodmark.catalog.objects import ObjectKind
from floodmark.catalog.option_table import FORCED, KEEPING
from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.determinism import class_of
from floodmark.plan.expr.expressions import Call, Expr, Now, UserCall, Volatile, walk
from floodmark.scalar.functions import Determinism
from floodmark.scalar.functions.volatile import CLOCK
from floodmark.stream.lint.growing_groups import find_growing_groups
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.stream.operators.lower import StreamPlan
from floodmark.stream.passes.refresh import follows_time
from floodmark.stream.printing.labels import labels_of


@dataclass(frozen=True, slots=True)
class Note:
    """One note; its code is explained in `docs/errors.md`."""

    code: str
    text: str


Notes = tuple[Note, ...]


def advise(obj: AnalysedObject, pipeline: Pipeline) -> Notes:
    """Return the notes on an object, in the order of their codes."""
    notes = [note for rule in _OBJECT_RULES for note in rule(obj, pipeline)]
    if obj.plan is not None:
        notes += [note for rule in _PLAN_RULES for note in rule(obj.plan)]
    notes += [Note("A106", text) for text in obj.notes]
    return tuple(sorted(dict.fromkeys(notes), key=lambda note: note.code))


def cut_dependence_notes(obj: AnalysedObject, pipeline: Pipeline) -> Notes:
    """Return the reasons for which an object is not cut-free; none: it is."""
    return tuple(note for note in advise(obj, pipeline) if note.code.startswith("A11"))


def merges_epochs(obj: AnalysedObject) -> bool:
    """Tell whether an object may take the changes of several epochs at once.

    It may not if its rows depend on the epochs' times, are random, come from a lookup join, or are
    released by a watermark.
    """
    if obj.plan is None or obj.refreshes or obj.emits_on_close:
        return False
    return not any(rule(obj.plan) for rule in (_reads_now, _volatile, _lookup_notes))


def _late_rows(obj: AnalysedObject, pipeline: Pipeline) -> Notes:
    """Name the tables that take the late rows of what the object reads."""
    names = obj.reads if obj.plan is not None else (obj.key,)
    marked = (pipeline[k] for k in names if k in pipeline.objects)
    return tuple(
        Note("A101", f"rows older than the watermark go to {o.name}__late, counted per epoch")
        for o in marked
        if o.declared is not None and o.declared.watermarks
    )


def _operator_notes(plan: StreamPlan) -> Notes:
    labels = labels_of(plan.root)
    return tuple(Note(*note) for op in plan.operators.values() for note in op.advise(labels))


def _growing_groups(plan: StreamPlan) -> Notes:
    text = find_growing_groups(plan)
    return () if text is None else (Note("A102", text),)


def _lookup_notes(plan: StreamPlan) -> Notes:
    """Return the notes on lookups at the cut of an epoch."""
    return tuple(note for note in _operator_notes(plan) if note.code == "A113")


def _arrangements(plan: StreamPlan) -> Notes:
    return tuple(
        Note(
            "A103",
            f"{plan[node].identifier} keeps a copy of its input in {table.name}: "
            "a materialized view of that input would be re-read in its place",
        )
        for node in plan.nodes
        for table in plan[node].state
        if table.role == "input arrangement"
    )


def _refresh_notes(obj: AnalysedObject, pipeline: Pipeline) -> Notes:
    if not obj.refreshes or obj.plan is None:
        return ()
    when = "every epoch" if follows_time(obj.plan) else "an epoch that changes an input"
    return (Note("A107", f"{when} reads all rows of its inputs again: refresh = 'full'"),)


def _refusal_notes(obj: AnalysedObject, pipeline: Pipeline) -> Notes:
    """Say why a definition that is only explained could not be created."""
    objects = (o for key, o in pipeline.objects.items() if key == obj.key or key in obj.reads)
    refused = [o.refused for o in objects if o.refused is not None]
    return tuple(Note("A108", f"CREATE refuses it ({r.code}): {r.message}") for r in refused[:1])


def _upstream(obj: AnalysedObject, pipeline: Pipeline) -> Notes:
    names = (*obj.reads, *obj.feeders)
    above = [pipeline[k] for k in names if k in pipeline.objects and k != obj.key]
    text = "depends on where epochs are cut, because an input does: "
    return tuple(Note("A110", text + o.name) for o in above if cut_dependence_notes(o, pipeline))


def _reads_now(plan: StreamPlan) -> Notes:
    parts = [part for node in plan.nodes for e in node.expressions for part in walk(e)]
    names = [CLOCK] if any(_is_clock(part) for part in parts) else []
    now = any(isinstance(e, n.TemporalFilter) for e in plan.nodes)
    if now or any(isinstance(part, Now) for part in parts):
        names = ["now", *names]
    text = "depends on where epochs are cut: {}() is the epoch's time"
    return tuple(Note("A111", text.format(name)) for name in names)


def _is_clock(part: Expr) -> bool:
    return isinstance(part, Volatile) and part.function == CLOCK


def _ingest_notes(obj: AnalysedObject, pipeline: Pipeline) -> Notes:
    if obj.declared is None or not obj.declared.ingestion_columns:
        return ()
    text = "depends on where epochs are cut: INGESTION TIMESTAMP is the epoch's time"
    return (Note("A111", text),)


def _periods(obj: AnalysedObject, pipeline: Pipeline) -> Notes:
    text = "depends on where epochs are cut: now() is the epoch's time"
    return (Note("A111", text),) if obj.period else ()


def _volatile(plan: StreamPlan) -> Notes:
    retracting = (node for node in plan.nodes if _reads_updates(node, plan))
    exprs = (e for node in retracting for e in node.expressions)
    names = {
        part.function
        for e in exprs
        for part in walk(e)
        if isinstance(part, Call) and class_of(part) in _varying_classes(part)
    }
    text = "depends on where epochs are cut: {}() is evaluated anew for every update"
    return tuple(Note("A112", text.format(name)) for name in sorted(names))


def _varying_classes(call: Call) -> tuple[Determinism, ...]:
    """Return the classes that differ between epochs; what a session is, built in, does not."""
    stable = (Determinism.STABLE,) if isinstance(call, UserCall) else ()
    return (Determinism.VOLATILE, *stable)


def _reads_updates(node: n.Node, plan: StreamPlan) -> bool:
    return any(plan[child].mode is not ChangelogMode.APPEND_ONLY for child in node.inputs)


def _several_writers(obj: AnalysedObject, pipeline: Pipeline) -> Notes:
    declared = obj.declared
    if declared is None or not declared.primary_key or obj.kind is not ObjectKind.TABLE:
        return ()
    writers = [pipeline.catalog.objects[k].name for k in obj.feeders]
    writers += [f"connector {declared.connector}"] if declared.connector is not None else []
    if len(writers) < 2:
        return ()
    text = f"depends on where epochs are cut where inputs write the same key: {', '.join(writers)}"
    return (Note("A114", text),)


def _clock_options(obj: AnalysedObject, pipeline: Pipeline) -> Notes:
    names = (
        "watermark.idle_after", "watermark.advance", "watermark.max_ahead",
        "ttl", "retention_seconds",
    )  # fmt: skip
    set_ = [name for name in names if obj.object.option(name) is not None]
    text = "depends on where epochs are cut: {} goes by the clock"
    return tuple(Note("A115", text.format(name)) for name in set_)


def _feeder_notes(obj: AnalysedObject, pipeline: Pipeline) -> Notes:
    if obj.kind is not ObjectKind.TABLE or obj.declared is None or not obj.declared.watermarks:
        return ()
    text = (
        "depends on where epochs are cut: all rows of {} in one epoch are compared with one "
        "watermark"
    )
    return tuple(Note("A118", text.format(pipeline.catalog.objects[k].name)) for k in obj.feeders)


def _fades(obj: AnalysedObject, pipeline: Pipeline) -> Notes:
    if obj.declared is None or obj.declared.ttl_column is None:
        return ()
    text = "depends on where epochs are cut: rows end below the previous epoch's watermark"
    return (Note("A119", text),)


def _condition_notes(obj: AnalysedObject, pipeline: Pipeline) -> Notes:
    if obj.kind is not ObjectKind.SINK or obj.append_only:
        return ()
    set_ = [name for name in (FORCED, KEEPING) if obj.object.is_on(name)]
    text = "depends on where epochs are cut: {} drops changes that an epoch may merge"
    return tuple(Note("A116", text.format(name)) for name in set_)


def _no_snapshot(obj: AnalysedObject, pipeline: Pipeline) -> Notes:
    if obj.object.begins_whole:
        return ()
    return (
        Note("A117", "depends on where epochs are cut: snapshot = false starts at one of them"),
    )


_OBJECT_RULES: tuple[Callable[[AnalysedObject, Pipeline], Notes], ...] = (
    _late_rows, _refresh_notes, _refusal_notes, _upstream, _ingest_notes, _periods,
    _several_writers, _clock_options, _feeder_notes, _fades, _condition_notes, _no_snapshot,
)  # fmt: skip
_PLAN_RULES: tuple[Callable[[StreamPlan], Notes], ...] = (
    _operator_notes, _growing_groups, _arrangements, _reads_now, _volatile,
)  # fmt: skip
