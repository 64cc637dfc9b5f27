"""The result of EXPLAIN as values, and its text and JSON forms."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from typing import Any

from floodmark.changelog import ChangelogMode, is_hidden
from floodmark.errors import Span
from floodmark.plan.expr.printing import show_name
from floodmark.scalar.types import Field, Schema
from floodmark.stream.explain.explain_transform import TransformParts
from floodmark.stream.lint.advice import Note
from floodmark.stream.printing.strategies import strategy_text
from floodmark.stream.properties.functional_dependencies import NOTHING, Dependencies, Dependency
from floodmark.stream.properties.key_sets import Keys
from floodmark.stream.properties.state import StateTable
from floodmark.stream.properties.strategy import Strategy

_NARROWEST = (42, 14, 23)
_INDENT = " " * 8
_GAP = 3
_SHOWN = 2
"""Alternative keys that the text form shows; JSON has all."""


@dataclass(frozen=True, slots=True)
class ExplainedNode:
    """One operator with the properties of its output.

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
    strategy: Strategy | None = None
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
            "stream_key": [show_name(c) for c in self.stream_key],
            "unique_keys": _keys(self.unique_keys),
            "upsert_keys": _keys(self.upsert_keys),
            "constants": sorted(show_name(c) for c in self.dependencies.constants),
            "dependencies": [_dependency(rule) for rule in self.dependencies.rules],
            "monotone": {show_name(c): origin for c, origin in self.monotone},
            "mode": str(self.mode),
            "watermarks": list(self.watermarks),
            "emits_on_close": self.emits_on_close,
            "state": [_state(t) for t in self.state],
            "own_table": self.own_table,
            "strategy": self.strategy and strategy_text(self.strategy),
            "details": [list(cells) for cells in self.details],
            "span": self.span and _span(self.span),
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """An object's plan: operators, inputs first, the use of the last one's rows, notes.

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
    return [[show_name(c) for c in sorted(key)] for key in keys]


def _dependency(rule: Dependency) -> dict[str, Any]:
    given, settled = (
        sorted(show_name(c) for c in side) for side in (rule.determinant, rule.dependent)
    )
    return {"given": given, "settled": settled}


def _field(field: Field) -> dict[str, Any]:
    return {"name": show_name(field.name), "type": str(field.type), "nullable": field.nullable}


def _state(table: StateTable) -> dict[str, Any]:
    key = [show_name(c) for c in table.key]
    cleaned_by = table.cleaned_by and show_name(table.cleaned_by)
    return {"name": table.name, "role": table.role, "key": key, "cleaned_by": cleaned_by}


def _span(span: Span) -> dict[str, Any]:
    return {"file": span.file, "line": span.line, "column": span.column, "text": span.text}


def render(explanation: Explanation) -> str:
    """Return the text of an explanation, without a newline at the end."""
    nodes = [node for node in explanation.nodes if not node.plain]
    names = _visible_identifiers(explanation)
    rows = [(node, _cells(node, names)) for node in nodes]
    last = (explanation.result, *explanation.result_details)
    widths = _widths([cells for _, cells in rows], last)
    lines: list[str] = []
    for node, cells in rows:
        lines.append(_row(cells, widths))
        lines += [_detail_row(cells, widths) for cells in node.details]
    lines.append(_row(last, widths))
    lines += [_INDENT + line for line in explanation.lines]
    if explanation.transform is not None:
        lines += [_INDENT + line for line in explanation.transform.lines]
    lines += [f"note  {note.code}  {note.text}" for note in explanation.notes]
    return "\n".join(lines)


def _visible_identifiers(explanation: Explanation) -> dict[str, str]:
    """Map every identifier to the one that is shown: a plain projection stands for its input."""
    names: dict[str, str] = {}
    for node in explanation.nodes:
        names[node.identifier] = names[node.inputs[0]] if node.plain else node.identifier
    return names


def _cells(node: ExplainedNode, names: dict[str, str]) -> tuple[str, ...]:
    inputs = f"[{', '.join(names[i] for i in node.inputs)}]" if node.inputs else ""
    head = f"{node.identifier} := {node.operator}{inputs} {node.arguments}".rstrip()
    key = _key_text(node)
    if node.emits_on_close:
        return head, str(node.mode), key, "emits on window close"
    marks = (f"watermark {', '.join(node.watermarks)}",) if node.watermarks else ()
    return head, str(node.mode), key, *marks


def _key_text(node: ExplainedNode) -> str:
    """Return the stream key, and unique keys of visible columns that do not contain it."""
    known = set(node.stream_key)
    visible = (key for key in node.unique_keys if not any(is_hidden(c) for c in key))
    others = [key for key in visible if key and not known <= key]
    texts = [
        f", unique [{', '.join(show_name(c) for c in sorted(key))}]" for key in others[:_SHOWN]
    ]
    unique = "".join([*texts, *([", …"] if len(others) > _SHOWN else [])])
    return f"key [{', '.join(show_name(c) for c in node.stream_key)}]{unique}"


def _widths(rows: list[tuple[str, ...]], last: tuple[str, ...]) -> tuple[int, ...]:
    heads = [*rows, last[:1]]
    longest = (max((len(r[i]) for r in heads if i < len(r)), default=0) for i in range(3))
    return tuple(max(w + _GAP, least) for w, least in zip(longest, _NARROWEST, strict=True))


def _row(cells: tuple[str, ...], widths: tuple[int, ...]) -> str:
    text = ""
    for i, cell in enumerate(cells[:-1]):
        width = widths[i] if i < len(widths) else 0
        text += cell.ljust(max(width, len(cell) + _GAP))
    return text + cells[-1]


def _detail_row(cells: tuple[str, ...], widths: tuple[int, ...]) -> str:
    first, middle, right = widths
    return _row((_INDENT + cells[0], *cells[1:]), (first, middle + right))
