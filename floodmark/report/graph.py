"""The graph of the objects as SVG: columns by distance from the sources, few crossings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from floodmark.catalog.objects import ObjectKind
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline

WIDTH, HEIGHT, ACROSS, DOWN, MARGIN = 200, 52, 96, 22, 16
PASSING = 8
"""The height of the place where an edge passes a column."""
_SWEEPS = 4


@dataclass(frozen=True, slots=True)
class Box:
    """Where an object stands, its upper left corner, in pixels."""

    x: float
    y: float


def draw(pipeline: Pipeline, captions: Mapping[str, str], suspended: frozenset[str]) -> str:
    """Return the SVG; `captions` is the second line of each box."""
    inputs = {key: _inputs(obj, pipeline) for key, obj in pipeline.objects.items()}
    layout = _place(inputs)
    boxes = layout.boxes
    width = max((b.x for b in boxes.values()), default=0) + WIDTH + MARGIN
    places = [*boxes.values(), *(b for bends in layout.bends.values() for b in bends)]
    height = max((b.y for b in places), default=0) + HEIGHT + MARGIN
    edges = [_edge(boxes[a], boxes[b], bends) for (a, b), bends in layout.bends.items()]
    nodes = [
        _node(obj, boxes[key], captions.get(key, ""), key in suspended)
        for key, obj in pipeline.objects.items()
    ]
    return (
        f'<svg class="graph" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label="objects and what flows between them">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>'
        + "".join(edges + nodes)
        + "</svg>"
    )


def _inputs(obj: AnalysedObject, pipeline: Pipeline) -> list[str]:
    names = dict.fromkeys((*obj.reads, *obj.feeders))
    return [key for key in names if key in pipeline.objects]


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where everything stands; `bends` are the points through which a long edge passes."""

    boxes: Mapping[str, Box]
    bends: Mapping[tuple[str, str], tuple[Box, ...]]


def _place(inputs: Mapping[str, Sequence[str]]) -> _Layout:
    """Give every object a column after its inputs, and order columns by where neighbours stand.

    An edge that skips columns has a place of its own in each, so that it goes around the boxes.
    """
    levels: dict[str, int] = {}
    for key in _order_topologically(inputs):
        levels[key] = max((levels[i] + 1 for i in inputs[key]), default=0)
    parents: dict[str, list[str]] = {key: [] for key in inputs}
    chains: dict[tuple[str, str], list[str]] = {}
    for end, froms in inputs.items():
        for start in froms:
            steps = range(levels[start] + 1, levels[end])
            chain = [f"{start}\0{end}\0{level}" for level in steps]
            levels.update(zip(chain, steps, strict=True))
            chains[start, end] = chain
            for child, parent in _steps([start, *chain, end]):
                parents.setdefault(child, []).append(parent)
    places = _positions(_columns(levels, parents))
    boxes = {key: places[key] for key in inputs}
    bends = {edge: tuple(places[k] for k in chain) for edge, chain in chains.items()}
    return _Layout(boxes, bends)


def _steps(path: Sequence[str]) -> list[tuple[str, str]]:
    return [(b, a) for a, b in pairwise(path)]


def _columns(levels: Mapping[str, int], parents: Mapping[str, Sequence[str]]) -> list[list[str]]:
    columns: list[list[str]] = [[] for _ in range(max(levels.values(), default=-1) + 1)]
    for key, level in levels.items():
        columns[level].append(key)
    children: dict[str, list[str]] = {key: [] for key in levels}
    for child, froms in parents.items():
        for parent in froms:
            children[parent].append(child)
    for _ in range(_SWEEPS):
        for column in columns[1:]:
            _sort(column, parents, columns)
        for column in reversed(columns[:-1]):
            _sort(column, children, columns)
    return columns


def _positions(columns: Sequence[Sequence[str]]) -> dict[str, Box]:
    heights = [sum(_height(key) + DOWN for key in column) - DOWN for column in columns]
    tallest = max(heights, default=0)
    out: dict[str, Box] = {}
    for level, (column, height) in enumerate(zip(columns, heights, strict=True)):
        y = MARGIN + (tallest - height) / 2
        for key in column:
            out[key] = Box(MARGIN + level * (WIDTH + ACROSS), y)
            y += _height(key) + DOWN
    return out


def _height(key: str) -> int:
    return PASSING if "\0" in key else HEIGHT


def _order_topologically(inputs: Mapping[str, Sequence[str]]) -> list[str]:
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


def _edge(start: Box, end: Box, bends: Sequence[Box]) -> str:
    """Return the path from box to box; it runs level where it passes a column."""
    x, y = start.x + WIDTH, start.y + HEIGHT / 2
    path = f"M{x:.0f} {y:.0f}"
    for bend in bends:
        path += _curve(x, y, bend.x, bend.y + PASSING / 2) + f"h{WIDTH}"
        x, y = bend.x + WIDTH, bend.y + PASSING / 2
    path += _curve(x, y, end.x - 2, end.y + HEIGHT / 2)
    return f'<path class="edge" d="{path}" marker-end="url(#tip)"/>'


def _curve(x1: float, y1: float, x2: float, y2: float) -> str:
    middle = (x1 + x2) / 2
    return f"C{middle:.0f} {y1:.0f} {middle:.0f} {y2:.0f} {x2:.0f} {y2:.0f}"


def _node(obj: AnalysedObject, box: Box, caption: str, suspended: bool) -> str:
    mode = "suspended" if suspended else str(obj.relation.mode)
    round_ = HEIGHT / 2 if obj.kind is ObjectKind.SINK else 8
    name = obj.name if len(obj.name) <= 24 else obj.name[:23] + "…"
    text = f"{obj.kind.value} · {caption}" if caption else obj.kind.value
    return (
        f'<a href="#{escape(anchor(obj.key))}" class="node {mode}">'
        f"<title>{escape(obj.name)}: {obj.kind.value}, {mode}</title>"
        f'<rect x="{box.x:.0f}" y="{box.y:.0f}" width="{WIDTH}" height="{HEIGHT}" rx="{round_}"/>'
        f'<text class="name" x="{box.x + WIDTH / 2:.0f}" y="{box.y + 22:.0f}">{escape(name)}</text>'
        f'<text class="caption" x="{box.x + WIDTH / 2:.0f}" y="{box.y + 39:.0f}">{escape(text)}'
        "</text></a>"
    )


def anchor(key: str) -> str:
    """Return the id of an object's part of the page."""
    return "object-" + "".join(c if c.isalnum() else "-" for c in key)
