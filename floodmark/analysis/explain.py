"""EXPLAIN: what is known of an object's plan, as data and as text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from floodmark.analysis import strategy
from floodmark.analysis.advice import Note, advise
from floodmark.analysis.analyse import AnalysedPlan
from floodmark.analysis.describe import Place, describe, is_plain
from floodmark.analysis.explain_text import render
from floodmark.analysis.explain_transform import TransformParts, parts_of
from floodmark.analysis.explain_ttl import ttl_lines
from floodmark.analysis.functional_dependencies import NOTHING, Dependencies, Dependency
from floodmark.analysis.key_sets import Keys
from floodmark.analysis.labels import labels_of
from floodmark.analysis.outside import DELTA, Outside, SinkType
from floodmark.analysis.pipeline import AnalysedObject, Pipeline
from floodmark.analysis.state import StateTable, own_rows, own_table
from floodmark.catalog.objects import Kind, Relation
from floodmark.catalog.types import Field, Schema
from floodmark.catalog.types import Kind as TypeKind
from floodmark.changelog import ROW_ID, ChangelogMode
from floodmark.errors import Span
from floodmark.plan import nodes as n
from floodmark.plan.definitions import Declared, WatermarkInfo
from floodmark.plan.expressions import Call, ColumnRef, Literal
from floodmark.plan.printing import delay_text, shown, to_text, type_text

_WORDS: Mapping[Kind, str] = {
    Kind.SOURCE: "Source", Kind.TABLE: "Table", Kind.MATERIALIZED_VIEW: "MaterializedView",
    Kind.VIEW: "View",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ExplainedNode:
    """One operator with everything that is known of its output.

    `watermarks` are texts, those of a source with its delay. `state` and `strategy` are empty for
    a query that runs once. `plain` marks a projection that only drops or reorders columns: the
    text form leaves it out.
    """

    identifier: str
    operator: str
    arguments: str
    inputs: tuple[str, ...]
    columns: Schema
    stream_key: tuple[str, ...]
    mode: ChangelogMode
    watermarks: tuple[str, ...] = ()
    state: tuple[StateTable, ...] = ()
    strategy: strategy.Strategy | None = None
    details: tuple[tuple[str, ...], ...] = ()
    emits_on_close: bool = False
    plain: bool = False
    span: Span | None = None
    unique_keys: Keys = ()
    upsert_keys: Keys = ()
    dependencies: Dependencies = NOTHING
    monotone: tuple[tuple[str, str], ...] = ()
    own_table: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "id": self.identifier,
            "operator": self.operator,
            "arguments": self.arguments,
            "inputs": list(self.inputs),
            "columns": [_field(f) for f in self.columns],
            "stream_key": [shown(c) for c in self.stream_key],
            "unique_keys": _keys(self.unique_keys),
            "upsert_keys": _keys(self.upsert_keys),
            "constants": sorted(shown(c) for c in self.dependencies.constants),
            "dependencies": [_dependency(rule) for rule in self.dependencies.rules],
            "monotone": {shown(c): origin for c, origin in self.monotone},
            "mode": str(self.mode),
            "watermarks": list(self.watermarks),
            "emits_on_close": self.emits_on_close,
            "state": [_state(t) for t in self.state],
            "own_table": self.own_table,
            "strategy": self.strategy and self.strategy.text,
            "details": [list(cells) for cells in self.details],
            "span": self.span and _span(self.span),
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """An object's plan: operators, inputs first, what becomes of the last one, notes.

    `result` is the last line (`Materialize`, `Sink`, `View`, `Result` or a declaration) and
    `result_details` what stands beside it; `transform` is what a source makes of its rows, `before`
    are other objects of the same statement. `str()` gives the text form.
    """

    name: str | None
    kind: str
    nodes: tuple[ExplainedNode, ...]
    result: str
    result_details: tuple[str, ...]
    notes: tuple[Note, ...] = ()
    lines: tuple[str, ...] = ()
    transform: TransformParts | None = None
    before: tuple[Explanation, ...] = ()

    def __str__(self) -> str:
        return "\n\n".join([*map(str, self.before), render(self)])

    def to_json(self) -> str:
        """Return the JSON form as text."""
        return json.dumps(self.as_dict(), default=str)

    def to_html(self) -> str:
        """Return the text form for a page or a notebook."""
        return as_html(str(self))

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form as a dictionary."""
        return {
            "name": self.name,
            "kind": self.kind,
            "nodes": [node.as_dict() for node in self.nodes],
            "result": self.result,
            "result_details": list(self.result_details),
            "lines": list(self.lines),
            "transform": self.transform and self.transform.as_dict(),
            "notes": [{"code": note.code, "text": note.text} for note in self.notes],
            **({"before": [other.as_dict() for other in self.before]} if self.before else {}),
        }


def as_html(text: str) -> str:
    """Return the text of an explanation for a page or a notebook."""
    return f'<pre class="floodmark-explain">{escape(text)}</pre>'


def explain_object(found: AnalysedObject, pipeline: Pipeline) -> Explanation:
    """Return the explanation of an object of a pipeline."""
    notes = advise(found, pipeline)
    if found.plan is None:
        return _declaration(found, pipeline, notes)
    keeps = found.kind is Kind.MATERIALIZED_VIEW and not found.refreshes
    beside = _beside(found.plan) if keeps else None
    owner = None if found.refreshes else found.name
    place = Place(found.plan, labels_of(found.plan.root), _kinds(pipeline), owner, beside,
                  stores=found.kind is not Kind.SINK)  # fmt: skip
    nodes = tuple(_node(node, place, pipeline) for node in found.plan.nodes)
    top = visible(nodes, nodes[-1].identifier)
    word, details = _ending(found, pipeline)
    result = f"{word[0]}[{top}] {word[1]}"
    return Explanation(found.name, found.kind.value, nodes, result, details, notes)


def _beside(plan: AnalysedPlan) -> n.Node | None:
    """Return the node whose state is in the own table of a view."""
    return own_rows(plan.root) or own_table(plan.root)


def explain_plan(
    plan: AnalysedPlan, pipeline: Pipeline | None = None, *, owner: str | None = None
) -> Explanation:
    """Return the explanation of a query.

    Without an `owner` it runs once, at the last sealed epoch; with one, state and strategies are
    those of an object of that name that keeps the query's result up to date.
    """
    kinds = {} if pipeline is None else _kinds(pipeline)
    place = Place(plan, labels_of(plan.root), kinds, owner)
    nodes = tuple(_node(node, place, pipeline) for node in plan.nodes)
    top = visible(nodes, nodes[-1].identifier)
    how = "computed once" if owner is None else f"kept by {owner}"
    return Explanation(None, "query", nodes, f"Result[{top}]", (how,))


def visible(nodes: tuple[ExplainedNode, ...], identifier: str) -> str:
    """Return the identifier that the text form shows for a node: a plain one is its input."""
    known = {node.identifier: node for node in nodes}
    while known[identifier].plain:
        (identifier,) = known[identifier].inputs
    return identifier


def _kinds(pipeline: Pipeline) -> dict[str, str]:
    return {o.key: _WORDS.get(o.kind, "Scan") for o in pipeline.objects.values()}


def _node(node: n.Node, place: Place, pipeline: Pipeline | None) -> ExplainedNode:
    known = place.plan[node]
    inputs = tuple(place.plan[child] for child in node.inputs)
    text = describe(node, place)
    kept = place.owner is not None
    return ExplainedNode(
        identifier=known.identifier,
        operator=text.operator,
        arguments=text.arguments,
        inputs=tuple(i.identifier for i in inputs),
        columns=node.schema,
        stream_key=known.stream_key,
        mode=known.mode,
        watermarks=_watermarks(node, place, pipeline),
        state=known.state if kept else (),
        strategy=strategy.derive(node, tuple(i.mode for i in inputs)) if kept else None,
        details=text.details,
        emits_on_close=isinstance(node, n.CloseAggregate | n.CloseSession | n.SortBuffer),
        plain=is_plain(node, place.labels),
        span=node.span,
        unique_keys=known.unique_keys,
        upsert_keys=known.upsert_keys,
        dependencies=known.dependencies,
        monotone=tuple((c, f"{o}.{shown(origin)}") for c, (o, origin) in known.monotone.items()),
        own_table=known.own_table,
    )


def _watermarks(node: n.Node, place: Place, pipeline: Pipeline | None) -> tuple[str, ...]:
    columns = [w.column for w in place.plan[node].watermarks]
    if isinstance(node, n.Scan) and pipeline is not None and node.object in pipeline.objects:
        declared = pipeline[node.object].declared
        if declared is not None:
            return tuple(_delayed(w) for w in declared.watermarks if w.column in columns)
    if isinstance(node, n.Tumble | n.Hop):
        # What the operator adds is what the reader looks for.
        columns.sort(key=lambda c: c not in (node.start, node.end))
    return tuple(place.labels[node][c] for c in columns)


def _delayed(mark: WatermarkInfo) -> str:
    match mark.expr:
        case Call(function="-", args=(ColumnRef(), Literal() as delay)) if (
            delay.type.kind is TypeKind.INTERVAL and delay.value is not None
        ):
            return f"{shown(mark.column)} - {delay_text(delay.value)}"
        case ColumnRef():
            return shown(mark.column)
        case _:
            return f"{shown(mark.column)} as {to_text(mark.expr)}"


def _ending(found: AnalysedObject, pipeline: Pipeline) -> tuple[tuple[str, str], tuple[str, ...]]:
    match found.kind:
        case Kind.SINK if found.outside is not None:
            return ("Sink", f"{found.name} to {found.outside.connector}"), _written(found.outside)
        case Kind.SINK:
            assert found.object.target is not None
            target = pipeline[found.object.target]
            key = ", ".join(shown(c) for c in target.relation.primary_key)
            how = f"writes by key [{key}]" if key else "appends rows"
            return ("Sink", f"{found.name} into {target.name}"), (how, *_owned(found, target))
        case Kind.VIEW:
            return ("View", found.name), ("not stored",)
        case _:
            refreshed = ("refreshed in full",) if found.refreshes else ()
            return ("Materialize", found.name), ("conflict behaviour: no check", *refreshed)


def _owned(sink: AnalysedObject, target: AnalysedObject) -> tuple[str, ...]:
    """Return which columns a sink owns, if it does."""
    mine = [owner for owner in target.owners if owner.name == sink.object.stored_key]
    return tuple(f"owns {', '.join(map(shown, one.columns))}: deletes clear them" for one in mine)


def _written(outside: Outside) -> tuple[str, ...]:
    """Return how a sink writes to the outside; where, is in its statement."""
    key = ", ".join(shown(c) for c in outside.key)
    how = {SinkType.UPSERT: f"writes by key [{key}]", SinkType.RETRACT: "writes all changes"}
    return (how.get(outside.type, "appends rows"), outside.encode)


def _declaration(found: AnalysedObject, pipeline: Pipeline, notes: tuple[Note, ...]) -> Explanation:
    declared = found.declared
    assert declared is not None
    inputs = _inputs(found, pipeline)
    ids = ", ".join(node.identifier for node in inputs)
    word = "Source" if found.kind is Kind.SOURCE else "Materialize"
    relation = found.relation
    details = [str(relation.mode), f"key [{', '.join(shown(c) for c in relation.stream_key)}]"]
    if declared.transform is not None and relation.watermarks:
        details.append("watermark " + ", ".join(shown(c) for c, _ in relation.watermarks))
    elif declared.transform is None and relation.watermarks:
        details.append("watermark " + ", ".join(_marks(declared)))
    if found.kind is Kind.TABLE:
        details.append(f"conflict behaviour: {_conflict(declared)}")
    return Explanation(
        found.name,
        found.kind.value,
        inputs,
        f"{word}[{ids}] {found.name}",
        tuple(details),
        notes,
        (*_column_lines(declared), *ttl_lines(declared)),
        parts_of(declared, relation),
    )


def _inputs(found: AnalysedObject, pipeline: Pipeline) -> tuple[ExplainedNode, ...]:
    """Return what a source or table gathers: its connector, DML, the sinks into it."""
    declared, relation = found.declared, found.relation
    assert declared is not None
    words = []
    if declared.connector is not None:
        form = f"{declared.connector}, FORMAT {declared.format} ENCODE {declared.encode}"
        if declared.connector == DELTA:
            form = f"{DELTA}, {dict(declared.options).get('mode', 'append')}"
        words.append(("Connector", form, _delivered(relation, declared)))
    if found.kind is Kind.TABLE:
        words.append(
            ("Dml", "INSERT" if declared.append_only else "INSERT, UPDATE, DELETE", relation)
        )
    feeders = [pipeline[key] for key in found.feeders if key in pipeline.objects]
    words += [("Sink", o.name, o.relation) for o in feeders]
    return tuple(
        ExplainedNode(f"r{i}", word, text, (), r.columns, r.stream_key, r.mode,
                      _marks(declared) if declared.transform is not None else ())
        for i, (word, text, r) in enumerate(words)
    )  # fmt: skip


def _marks(declared: Declared) -> tuple[str, ...]:
    return tuple(map(_delayed, declared.watermarks))


def _delivered(relation: Relation, declared: Declared) -> Relation:
    """Return the relation of the rows as they come, before a transformation."""
    if declared.transform is None:
        return relation
    columns = tuple(Field(c.name, c.type, not c.not_null) for c in declared.columns)
    mode = ChangelogMode.APPEND_ONLY if declared.append_only else ChangelogMode.RETRACT
    key = declared.primary_key or (ROW_ID,)
    return replace(relation, columns=columns, stream_key=key, mode=mode)


def _conflict(declared: Declared) -> str:
    return declared.conflict.action.value.lower() if declared.primary_key else "no check"


def _column_lines(declared: Declared) -> tuple[str, ...]:
    """Return a line for every column whose value is computed."""
    lines = []
    for column in declared.columns:
        head = f"{shown(column.name)} {type_text(column.type)}"
        if column.generated is not None:
            lines.append(f"{head} as {to_text(column.generated)}")
        elif column.default is not None:
            lines.append(f"{head} default {to_text(column.default)}")
        elif column.metadata is not None:
            lines.append(f"{head} from {column.metadata}")
    return tuple(lines)


def _keys(keys: Keys) -> list[list[str]]:
    return [[shown(c) for c in sorted(key)] for key in keys]


def _dependency(rule: Dependency) -> dict[str, Any]:
    given, settled = (sorted(shown(c) for c in side) for side in (rule.given, rule.settled))
    return {"given": given, "settled": settled}


def _field(field: Field) -> dict[str, Any]:
    return {"name": shown(field.name), "type": str(field.type), "nullable": field.nullable}


def _state(table: StateTable) -> dict[str, Any]:
    key = [shown(c) for c in table.key]
    cleaned_by = table.cleaned_by and shown(table.cleaned_by)
    return {"name": table.name, "role": table.role, "key": key, "cleaned_by": cleaned_by}


def _span(span: Span) -> dict[str, Any]:
    return {"file": span.file, "line": span.line, "column": span.column, "text": span.text}
