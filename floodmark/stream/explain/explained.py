"""What EXPLAIN says of a plan, as values and in its forms."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from typing import Any

from floodmark.changelog import ChangelogMode
from floodmark.errors import Span
from floodmark.plan.expr.printing import shown
from floodmark.scalar.types import Field, Schema
from floodmark.stream.explain.explain_text import render
from floodmark.stream.explain.explain_transform import TransformParts
from floodmark.stream.lint.advice import Note
from floodmark.stream.properties import strategy
from floodmark.stream.properties.functional_dependencies import NOTHING, Dependencies, Dependency
from floodmark.stream.properties.key_sets import Keys
from floodmark.stream.properties.state import StateTable


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
