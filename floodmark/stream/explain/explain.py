"""EXPLAIN: what is known of an object's plan, as data and as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from floodmark.catalog.objects import ObjectKind, Relation
from floodmark.changelog import ROW_ID, ChangelogMode, is_hidden
from floodmark.plan import nodes as n
from floodmark.plan.declaration import Declaration, WatermarkInfo
from floodmark.plan.expr.expressions import Call, ColumnRef, Expr, Literal
from floodmark.plan.expr.printing import delay_text, show_name, to_text, type_text
from floodmark.scalar.types import Field, Kind as TypeKind
from floodmark.stream.explain.explain_transform import parts_of
from floodmark.stream.explain.explain_ttl import ttl_lines
from floodmark.stream.explain.explained import ExplainedNode, Explanation
from floodmark.stream.lint.advice import Note, advise
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.stream.objects.external_sink import DELTA, ExternalSink, SinkType
from floodmark.stream.objects.refusals import find_refusal
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.lower import StreamPlan
from floodmark.stream.printing.description import NodePlace
from floodmark.stream.printing.labels import Labels, input_labels, labels_of

_WORDS: Mapping[ObjectKind, str] = {
    ObjectKind.SOURCE: "Source", ObjectKind.TABLE: "Table",
    ObjectKind.MATERIALIZED_VIEW: "MaterializedView",
    ObjectKind.VIEW: "View",
}  # fmt: skip


def explain_object(obj: AnalysedObject, pipeline: Pipeline) -> Explanation:
    """Return the explanation of an object of a pipeline; of an opaque one, why it has no plan."""
    if obj.opaque:
        cause = find_refusal(obj, pipeline.objects)
        refused = None if cause is None else cause.refused
        why = "refused" if refused is None else f"refused: [{refused.code}] {refused.message}"
        return Explanation(obj.name, obj.kind.value, (), why, (), ())
    notes = advise(obj, pipeline)
    if obj.plan is None:
        return _declaration(obj, pipeline, notes)
    owner = None if obj.refreshes else obj.name
    stores = obj.kind is not ObjectKind.SINK
    place = NodePlace(labels_of(obj.plan.root), _kinds(pipeline), owner, stores=stores)
    nodes = tuple(_node(node, obj.plan, place, pipeline) for node in obj.plan.nodes)
    top = visible(nodes, nodes[-1].identifier)
    word, details = _ending(obj, pipeline)
    result = f"{word[0]}[{top}] {word[1]}"
    return Explanation(obj.name, obj.kind.value, nodes, result, details, notes)


def explain_plan(
    plan: StreamPlan, pipeline: Pipeline | None = None, *, owner: str | None = None
) -> Explanation:
    """Return the explanation of a query.

    Without an `owner` the query runs once, at the last sealed epoch. With one, state and strategies
    are those of an object of that name that maintains the query's result.
    """
    kinds = {} if pipeline is None else _kinds(pipeline)
    place = NodePlace(labels_of(plan.root), kinds, owner)
    nodes = tuple(_node(node, plan, place, pipeline) for node in plan.nodes)
    top = visible(nodes, nodes[-1].identifier)
    how = "computed once" if owner is None else f"kept by {owner}"
    return Explanation(None, "query", nodes, f"Result[{top}]", (how,))


def is_plain(node: n.Node, labels: Labels) -> bool:
    """Tell whether a projection only drops or reorders columns, which needs no line."""
    if not isinstance(node, n.Project):
        return False
    below = labels[node.input]
    return all(_is_kept(name, expr, below) for name, expr in node.columns)


def _is_kept(name: str, expr: Expr, below: Mapping[str, str]) -> bool:
    if not isinstance(expr, ColumnRef):
        return False
    return is_hidden(name) or below[expr.name] == show_name(name)


def visible(nodes: tuple[ExplainedNode, ...], identifier: str) -> str:
    """Return the identifier that the text form shows for a node: a plain one is its input."""
    known = {node.identifier: node for node in nodes}
    while known[identifier].plain:
        (identifier,) = known[identifier].inputs
    return identifier


def _kinds(pipeline: Pipeline) -> dict[str, str]:
    return {o.key: _WORDS.get(o.kind, "Scan") for o in pipeline.objects.values()}


def _node(
    node: n.Node, plan: StreamPlan, place: NodePlace, pipeline: Pipeline | None
) -> ExplainedNode:
    known = plan[node]
    text = known.describe(input_labels(node, place.labels), place)
    kept = place.owner is not None
    return ExplainedNode(
        identifier=known.identifier,
        operator=text.operator,
        arguments=text.arguments,
        inputs=tuple(i.identifier for i in known.inputs),
        columns=node.schema,
        stream_key=known.stream_key,
        mode=known.mode,
        watermarks=_watermarks(known, place, pipeline),
        state=known.tables if kept else (),
        strategy=known.strategy if kept else None,
        details=text.details,
        emits_on_close=known.released_by is not None,
        plain=is_plain(node, place.labels),
        span=node.span,
        unique_keys=known.unique_keys,
        upsert_keys=known.upsert_keys,
        dependencies=known.dependencies,
        monotone=tuple(
            (c, f"{o}.{show_name(origin)}") for c, (o, origin) in known.monotone.items()
        ),
        own_table=known.own_table is not None,
    )


def _watermarks(
    operator: StreamOperator[Any], place: NodePlace, pipeline: Pipeline | None
) -> tuple[str, ...]:
    node = operator.node
    columns = [w.column for w in operator.watermarks]
    if isinstance(node, n.Scan) and pipeline is not None and node.object in pipeline.objects:
        declared = pipeline[node.object].declared
        if declared is not None:
            return tuple(_watermark_text(w) for w in declared.watermarks if w.column in columns)
    if isinstance(node, n.Tumble | n.Hop):
        # What the operator adds is what the reader looks for.
        columns.sort(key=lambda c: c not in (node.start, node.end))
    return tuple(place.labels[node][c] for c in columns)


def _watermark_text(mark: WatermarkInfo) -> str:
    match mark.expr:
        case Call(function="-", args=(ColumnRef(), Literal() as delay)) if (
            delay.type.kind is TypeKind.INTERVAL and delay.value is not None
        ):
            return f"{show_name(mark.column)} - {delay_text(delay.value)}"
        case ColumnRef():
            return show_name(mark.column)
        case _:
            return f"{show_name(mark.column)} as {to_text(mark.expr)}"


def _ending(obj: AnalysedObject, pipeline: Pipeline) -> tuple[tuple[str, str], tuple[str, ...]]:
    match obj.kind:
        case ObjectKind.SINK if obj.external_sink is not None:
            return ("Sink", f"{obj.name} to {obj.external_sink.connector}"), _write_details(
                obj.external_sink
            )
        case ObjectKind.SINK:
            assert obj.object.target is not None
            target = pipeline[obj.object.target]
            key = ", ".join(show_name(c) for c in target.relation.primary_key)
            how = f"writes by key [{key}]" if key else "appends rows"
            return ("Sink", f"{obj.name} into {target.name}"), (how, *_owner_lines(obj, target))
        case ObjectKind.VIEW:
            return ("View", obj.name), ("not stored",)
        case _:
            refreshed = ("refreshed in full",) if obj.refreshes else ()
            return ("Materialize", obj.name), ("conflict behaviour: no check", *refreshed)


def _owner_lines(sink: AnalysedObject, target: AnalysedObject) -> tuple[str, ...]:
    """Return which columns a sink owns, if it does."""
    mine = [owner for owner in target.owners if owner.name == sink.object.storage_key]
    return tuple(
        f"owns {', '.join(map(show_name, one.columns))}: deletes clear them" for one in mine
    )


def _write_details(sink: ExternalSink) -> tuple[str, ...]:
    """Return how a sink writes to the outside; where, is in its statement."""
    key = ", ".join(show_name(c) for c in sink.key)
    how = {SinkType.UPSERT: f"writes by key [{key}]", SinkType.RETRACT: "writes all changes"}
    return (how.get(sink.type, "appends rows"), sink.encode)


def _declaration(obj: AnalysedObject, pipeline: Pipeline, notes: tuple[Note, ...]) -> Explanation:
    declared = obj.declared
    assert declared is not None
    inputs = _inputs(obj, pipeline)
    ids = ", ".join(node.identifier for node in inputs)
    word = "Source" if obj.kind is ObjectKind.SOURCE else "Materialize"
    relation = obj.relation
    details = [str(relation.mode), f"key [{', '.join(show_name(c) for c in relation.stream_key)}]"]
    if declared.transform is not None and relation.watermarks:
        details.append("watermark " + ", ".join(show_name(c) for c, _ in relation.watermarks))
    elif declared.transform is None and relation.watermarks:
        details.append("watermark " + ", ".join(_marks(declared)))
    if obj.kind is ObjectKind.TABLE:
        details.append(f"conflict behaviour: {_conflict(declared)}")
    return Explanation(
        obj.name,
        obj.kind.value,
        inputs,
        f"{word}[{ids}] {obj.name}",
        tuple(details),
        notes,
        (*_column_lines(declared), *ttl_lines(declared)),
        parts_of(declared, relation),
    )


def _inputs(obj: AnalysedObject, pipeline: Pipeline) -> tuple[ExplainedNode, ...]:
    """Return what a source or table gathers: its connector, DML, the sinks into it."""
    declared, relation = obj.declared, obj.relation
    assert declared is not None
    words = []
    if declared.connector is not None:
        form = f"{declared.connector}, FORMAT {declared.format} ENCODE {declared.encode}"
        if declared.connector == DELTA:
            form = f"{DELTA}, {dict(declared.options).get('mode', 'append')}"
        words.append(("Connector", form, _connector_relation(relation, declared)))
    if obj.kind is ObjectKind.TABLE:
        words.append(
            ("Dml", "INSERT" if declared.append_only else "INSERT, UPDATE, DELETE", relation)
        )
    feeders = [pipeline[key] for key in obj.feeders if key in pipeline.objects]
    words += [("Sink", o.name, o.relation) for o in feeders]
    return tuple(
        ExplainedNode(f"r{i}", word, text, (), r.columns, r.stream_key, r.mode,
                      _marks(declared) if declared.transform is not None else ())
        for i, (word, text, r) in enumerate(words)
    )  # fmt: skip


def _marks(declared: Declaration) -> tuple[str, ...]:
    return tuple(map(_watermark_text, declared.watermarks))


def _connector_relation(relation: Relation, declared: Declaration) -> Relation:
    """Return the relation of the rows as they come, before a transformation."""
    if declared.transform is None:
        return relation
    columns = tuple(Field(c.name, c.type, not c.not_null) for c in declared.columns)
    mode = ChangelogMode.APPEND_ONLY if declared.append_only else ChangelogMode.RETRACT
    key = declared.primary_key or (ROW_ID,)
    return replace(relation, columns=columns, stream_key=key, mode=mode)


def _conflict(declared: Declaration) -> str:
    return declared.conflict.action.value.lower() if declared.primary_key else "no check"


def _column_lines(declared: Declaration) -> tuple[str, ...]:
    """Return a line for every column whose value is computed."""
    lines = []
    for column in declared.columns:
        head = f"{show_name(column.name)} {type_text(column.type)}"
        if column.generated is not None:
            lines.append(f"{head} as {to_text(column.generated)}")
        elif column.default is not None:
            lines.append(f"{head} default {to_text(column.default)}")
        elif column.metadata is not None:
            lines.append(f"{head} from {column.metadata}")
    return tuple(lines)
