"""The flat text form of an explanation: one line per operator, cells in columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from floodmark.changelog import is_hidden
from floodmark.plan.expr.printing import shown

if TYPE_CHECKING:
    from floodmark.stream.explain.explained import ExplainedNode, Explanation

_NARROWEST = (42, 14, 23)
_INDENT = " " * 8
_GAP = 3
_SHOWN = 2
"""Alternative keys that the text form shows; JSON has all."""


def render(explanation: Explanation) -> str:
    """Return the text of an explanation, without a newline at the end."""
    nodes = [node for node in explanation.nodes if not node.plain]
    names = _shown_as(explanation)
    rows = [(node, _cells(node, names)) for node in nodes]
    last = (explanation.result, *explanation.result_details)
    widths = _widths([cells for _, cells in rows], last)
    lines: list[str] = []
    for node, cells in rows:
        lines.append(_line(cells, widths))
        lines += [_detail(cells, widths) for cells in node.details]
    lines.append(_line(last, widths))
    lines += [_INDENT + line for line in explanation.lines]
    if explanation.transform is not None:
        lines += [_INDENT + line for line in explanation.transform.lines]
    lines += [f"note  {note.code}  {note.text}" for note in explanation.notes]
    return "\n".join(lines)


def _shown_as(explanation: Explanation) -> dict[str, str]:
    """Map every identifier to the one that is shown: a plain projection stands for its input."""
    names: dict[str, str] = {}
    for node in explanation.nodes:
        names[node.identifier] = names[node.inputs[0]] if node.plain else node.identifier
    return names


def _cells(node: ExplainedNode, names: dict[str, str]) -> tuple[str, ...]:
    inputs = f"[{', '.join(names[i] for i in node.inputs)}]" if node.inputs else ""
    head = f"{node.identifier} := {node.operator}{inputs} {node.arguments}".rstrip()
    key = _keys(node)
    if node.emits_on_close:
        return head, str(node.mode), key, "emits on window close"
    marks = (f"watermark {', '.join(node.watermarks)}",) if node.watermarks else ()
    return head, str(node.mode), key, *marks


def _keys(node: ExplainedNode) -> str:
    """Return the stream key, and unique keys of visible columns that do not contain it."""
    known = set(node.stream_key)
    visible = (key for key in node.unique_keys if not any(is_hidden(c) for c in key))
    others = [key for key in visible if key and not known <= key]
    texts = [f", unique [{', '.join(shown(c) for c in sorted(key))}]" for key in others[:_SHOWN]]
    unique = "".join([*texts, *([", …"] if len(others) > _SHOWN else [])])
    return f"key [{', '.join(shown(c) for c in node.stream_key)}]{unique}"


def _widths(rows: list[tuple[str, ...]], last: tuple[str, ...]) -> tuple[int, ...]:
    heads = [*rows, last[:1]]
    longest = (max((len(r[i]) for r in heads if i < len(r)), default=0) for i in range(3))
    return tuple(max(w + _GAP, least) for w, least in zip(longest, _NARROWEST, strict=True))


def _line(cells: tuple[str, ...], widths: tuple[int, ...]) -> str:
    text = ""
    for i, cell in enumerate(cells[:-1]):
        width = widths[i] if i < len(widths) else 0
        text += cell.ljust(max(width, len(cell) + _GAP))
    return text + cells[-1]


def _detail(cells: tuple[str, ...], widths: tuple[int, ...]) -> str:
    first, middle, right = widths
    return _line((_INDENT + cells[0], *cells[1:]), (first, middle + right))
