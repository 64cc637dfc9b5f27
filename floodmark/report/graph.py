"""The graph of the objects as SVG: columns by distance from the sources, few crossings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from floodmark.analysis.pipeline import AnalysedObject, Pipeline
from floodmark.catalog.objects import Kind

WIDTH, HEIGHT, ACROSS, DOWN, MARGIN = 200, 52, 96, 22, 16
_SWEEPS = 4


@dataclass(frozen=True, slots=True)
class Box:
    """Where an object stands, its upper left corner, in pixels."""

    x: float
    y: float


def draw(pipeline: Pipeline, captions: Mapping[str, str], suspended: frozenset[str]) -> str:
    """Return the SVG; `captions` is the second line of each box."""
    inputs = {key: _inputs(found, pipeline) for key, found in pipeline.objects.items()}
    boxes = _place(inputs)
    width = max((b.x for b in boxes.values()), default=0) + WIDTH + MARGIN
    height = max((b.y for b in boxes.values()), default=0) + HEIGHT + MARGIN
    edges = [_edge(boxes[a], boxes[b]) for b, froms in inputs.items() for a in froms]
    nodes = [
        _node(found, boxes[key], captions.get(key, ""), key in suspended)
        for key, found in pipeline.objects.items()
    ]
    return (
        f'<svg class="graph" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label="objects and what flows between them">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>'
        + "".join(edges + nodes)
        + "</svg>"
    )


def _inputs(found: AnalysedObject, pipeline: Pipeline) -> list[str]:
    return [key for key in (*found.reads, *found.feeders) if key in pipeline.objects]


def _place(inputs: Mapping[str, Sequence[str]]) -> dict[str, Box]:
    """Give every object a column after its inputs, and order columns by where neighbours stand."""
    levels: dict[str, int] = {}
    for key in _ordered(inputs):
        levels[key] = max((levels[i] + 1 for i in inputs[key]), default=0)
    columns: list[list[str]] = [[] for _ in range(max(levels.values(), default=-1) + 1)]
    for key, level in levels.items():
        columns[level].append(key)
    outputs = {key: [k for k, froms in inputs.items() if key in froms] for key in inputs}
    for _ in range(_SWEEPS):
        for column in columns[1:]:
            _sort(column, inputs, columns)
        for column in reversed(columns[:-1]):
            _sort(column, outputs, columns)
    tallest = max((len(column) for column in columns), default=0)
    step = HEIGHT + DOWN
    return {
        key: Box(
            MARGIN + level * (WIDTH + ACROSS),
            MARGIN + (place + (tallest - len(column)) / 2) * step,
        )
        for level, column in enumerate(columns)
        for place, key in enumerate(column)
    }


def _ordered(inputs: Mapping[str, Sequence[str]]) -> list[str]:
    done: list[str] = []
    waiting = list(inputs)
    while waiting:
        ready = [key for key in waiting if all(i in done for i in inputs[key])]
        done += ready
        waiting = [key for key in waiting if key not in ready]
        assert ready, waiting
    return done


def _sort(
    column: list[str], neighbours: Mapping[str, Sequence[str]], columns: list[list[str]]
) -> None:
    """Order a column by the mean relative place of each object's neighbours."""
    place = {k: (i + 0.5) / len(c) for c in columns for i, k in enumerate(c)}
    mean = {
        key: sum(place[n] for n in found) / len(found) if (found := neighbours[key]) else place[key]
        for key in column
    }
    column.sort(key=mean.__getitem__)


def _edge(start: Box, end: Box) -> str:
    x1, y1 = start.x + WIDTH, start.y + HEIGHT / 2
    x2, y2 = end.x - 2, end.y + HEIGHT / 2
    bend = min(ACROSS, x2 - x1) / 2
    # A long edge leaves its column straight and bends where it arrives.
    turn = max(x1, x2 - ACROSS)
    line = f"L{turn:.0f} {y1:.0f}" if turn > x1 else ""
    curve = f"C{turn + bend:.0f} {y1:.0f} {x2 - bend:.0f} {y2:.0f} {x2:.0f} {y2:.0f}"
    return f'<path class="edge" d="M{x1:.0f} {y1:.0f}{line}{curve}" marker-end="url(#tip)"/>'


def _node(found: AnalysedObject, box: Box, caption: str, suspended: bool) -> str:
    mode = "suspended" if suspended else str(found.relation.mode)
    round_ = HEIGHT / 2 if found.kind is Kind.SINK else 8
    name = found.name if len(found.name) <= 24 else found.name[:23] + "…"
    text = f"{found.kind.value} · {caption}" if caption else found.kind.value
    return (
        f'<a href="#{escape(anchor(found.key))}" class="node {mode}">'
        f"<title>{escape(found.name)}: {found.kind.value}, {mode}</title>"
        f'<rect x="{box.x:.0f}" y="{box.y:.0f}" width="{WIDTH}" height="{HEIGHT}" rx="{round_}"/>'
        f'<text class="name" x="{box.x + WIDTH / 2:.0f}" y="{box.y + 22:.0f}">{escape(name)}</text>'
        f'<text class="caption" x="{box.x + WIDTH / 2:.0f}" y="{box.y + 39:.0f}">{escape(text)}'
        "</text></a>"
    )


def anchor(key: str) -> str:
    """Return the id of an object's part of the page."""
    return "object-" + "".join(c if c.isalnum() else "-" for c in key)
