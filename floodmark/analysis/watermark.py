"""Watermark columns of every edge, in groups of one origin.

A watermark W on a column promises that no later change of either sign is below W. This file says
which columns carry one; `floodmark.reference.watermarks` computes the values, epoch by epoch.
"""

from __future__ import annotations

from collections.abc import Callable

from floodmark.analysis.determinism import reads_now
from floodmark.analysis.interval_join import distances
from floodmark.analysis.monotonicity import monotone_column
from floodmark.plan import nodes as n
from floodmark.plan.nodes import WatermarkColumn

Watermarks = tuple[WatermarkColumn, ...]


def derive(node: n.Node, inputs: tuple[Watermarks, ...]) -> Watermarks:
    """Return the watermark columns of a node's output from those of its inputs."""
    match node:
        case n.Scan():
            return node.watermarks
        case n.Values() | n.SetOperation():
            return ()
        case n.Project() | n.MaterializeProject():
            return _project(node, inputs[0])
        case n.Tumble() | n.Hop():
            own = [w for w in inputs[0] if w.column == node.time]
            windows = [WatermarkColumn(c, w.group) for w in own for c in (node.start, node.end)]
            return (*inputs[0], *windows)
        case n.UnionAll():
            return _union(inputs)
        case n.Join():
            return _join(node, *inputs)
        case n.LookupJoin():
            return inputs[0]
        case n.Aggregate():
            return _among(inputs[0], node.group)
        case n.CloseAggregate():
            return _among(inputs[0], (node.window,))
        case n.SortBuffer():
            return _among(inputs[0], (node.column,))
        case n.TopN():
            return _among(inputs[0], node.group)
        case n.OverWindow():
            return _among(inputs[0], node.partition)
        case n.Session():
            return ()
        case n.Filter() if reads_now(node.predicate):
            return ()
        case n.TemporalFilter():
            return inputs[0] if node.upper is None else ()
        case _:
            return inputs[0]


def _among(watermarks: Watermarks, columns: tuple[str, ...]) -> Watermarks:
    return tuple(w for w in watermarks if w.column in columns)


def _project(node: n.Project | n.MaterializeProject, watermarks: Watermarks) -> Watermarks:
    groups = {w.column: w.group for w in watermarks}
    origins = ((name, monotone_column(expr)) for name, expr in node.columns)
    return tuple(WatermarkColumn(name, groups[c]) for name, c in origins if c in groups)


def _union(inputs: tuple[Watermarks, ...]) -> Watermarks:
    groups: list[dict[str, str]] = [{w.column: w.group for w in side} for side in inputs]
    shared = [w.column for w in inputs[0] if all(w.column in side for side in groups)]
    return tuple(WatermarkColumn(c, "+".join(sorted({g[c] for g in groups}))) for c in shared)


def _join(node: n.Join, left: Watermarks, right: Watermarks) -> Watermarks:
    """An equi pair with a watermark on both sides carries the minimum, where it is preserved.

    So does a time that the condition keeps at a distance of one of the other side.
    """
    lefts = {w.column: w.group for w in left}
    rights = {w.column: w.group for w in right}
    out: list[WatermarkColumn] = []
    for a, b in node.equi:
        if a not in lefts or b not in rights:
            continue
        group = "+".join(sorted({lefts[a], rights[b]}))
        keep: list[tuple[str, Callable[[n.JoinKind], bool]]] = [
            (a, lambda kind: not kind.pads_left),
            (b, lambda kind: not kind.pads_right),
        ]
        out += [WatermarkColumn(c, group) for c, ok in keep if ok(node.kind)]
    both, done = lefts | rights, {w.column for w in out}
    for far in distances(node):
        if far.column not in done and far.column in both and far.other in both:
            group = "+".join(sorted({both[far.column], both[far.other]}))
            out.append(WatermarkColumn(far.column, group))
            done.add(far.column)
    names = {f.name for f in node.schema}
    return tuple(w for w in out if w.column in names)
