"""Watermark columns of every edge, in groups of one origin.

A watermark W on a column promises that no later change of either sign is below W, and that it is
never NULL. Where a join pads rows, one column of a pair carries the promise in each row: what
chooses between the two, `coalesce(l.w, r.w)`, carries it again. This file says which columns carry
one; `floodmark.stream.properties.watermark_values` computes the values, epoch by epoch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from floodmark.errors import BindError
from floodmark.plan import nodes as n
from floodmark.plan.declared import Declared
from floodmark.plan.expr.determinism import reads_now
from floodmark.plan.nodes import WatermarkColumn
from floodmark.plan.rules.interval_join import distances
from floodmark.scalar.types import Kind
from floodmark.stream.properties.look_ahead import look_ahead
from floodmark.stream.properties.monotonicity import monotone_column, monotone_columns
from floodmark.stream.properties.window_bounds import closing


@dataclass(frozen=True, slots=True)
class WatermarkPair:
    """Two columns of which one at least is not NULL; neither is ever below the watermark."""

    first: str
    second: str
    group: str


@dataclass(frozen=True, slots=True)
class Watermarks:
    """The columns that carry a watermark, and the pairs of columns that carry one together."""

    columns: tuple[WatermarkColumn, ...] = ()
    pairs: tuple[WatermarkPair, ...] = ()


def check_declared(declared: Declared) -> None:
    """Raise E0244 for a declared watermark that does not follow its column.

    The greatest value of the column gives the greatest of the expression: one is computed from the
    other, epoch by epoch.
    """
    for mark in declared.watermarks:
        if monotone_column(mark.expr) == mark.column:
            continue
        delay = "10" if mark.expr.type.is_numeric else "INTERVAL '5 seconds'"
        raise BindError(
            "E0244",
            f'the watermark of "{mark.column}" must follow that column: never fall where it '
            "rises, and depend on nothing else",
            span=mark.expr.span,
            hint=f"{mark.column}, less one constant (without months): {mark.column} - {delay}",
        )


def derive(node: n.Node, inputs: tuple[Watermarks, ...]) -> Watermarks:
    """Return the watermark columns of a node's output from those of its inputs."""
    match node:
        case n.Scan():
            return Watermarks(node.watermarks)
        case n.Values():
            return Watermarks()
        case n.SetOperation():
            return _set(node, *inputs)
        case n.Project() | n.MaterializeProject():
            return _project(node, inputs[0])
        case n.Tumble() | n.Hop():
            known = inputs[0]
            own = [w for w in known.columns if w.column == node.time]
            windows = [WatermarkColumn(c, w.group) for w in own for c in (node.start, node.end)]
            return Watermarks((*known.columns, *windows), known.pairs)
        case n.UnionAll():
            return _union(inputs)
        case n.Join():
            return _join(node, *inputs)
        case n.LookupJoin():
            return inputs[0]
        case n.Aggregate():
            return among(inputs[0], node.group)
        case n.CloseAggregate():
            return among(inputs[0], closing(node))
        case n.SortBuffer():
            return among(inputs[0], (node.column,))
        case n.TopN():
            return among(inputs[0], node.group)
        case n.OverWindow():
            return _over(node, inputs[0])
        case n.Session():
            return _session(node, inputs[0])
        case n.Filter() if reads_now(node.predicate):
            return Watermarks()
        case n.TemporalFilter():
            return among(inputs[0], _comes_by(node))
        case n.GrowingSeries():
            # Values come when their time has come, wherever the watermark is by then.
            return Watermarks()
        case _:
            return inputs[0]


def among(known: Watermarks, columns: tuple[str, ...]) -> Watermarks:
    return Watermarks(
        tuple(w for w in known.columns if w.column in columns),
        tuple(p for p in known.pairs if p.first in columns and p.second in columns),
    )


def _over(node: n.OverWindow, known: Watermarks) -> Watermarks:
    """The time of ORDER BY carries one where calls look ahead for a fixed time at most.

    Beyond it, nothing that comes later changes what they say of a row.
    """
    ahead = look_ahead(node)
    kept = among(known, node.partition).columns
    if ahead is None:
        return Watermarks(kept)
    time = node.order[0].column
    own = tuple(w for w in known.columns if w.column == time)
    if node.closes is not None:
        closes = (WatermarkColumn(node.closes, w.group) for w in own)
        return Watermarks((*kept, *closes))
    inexact = node.input.field(time).type.kind in (Kind.REAL, Kind.DOUBLE)
    if ahead.counts or (ahead.distance and inexact):
        return Watermarks(kept)
    return Watermarks(among(known, (*node.partition, time)).columns)


def _comes_by(node: n.TemporalFilter) -> tuple[str, ...]:
    """Return the column by which alone rows come as time passes, if none goes.

    No row comes later whose time has come: the lower of that time and the watermark is not passed.
    """
    columns = {monotone_column(lower) for lower in node.lowers}
    (column,) = columns if len(columns) == 1 else (None,)
    times = (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ)
    if column is None or node.uppers or node.input.field(column).type.kind not in times:
        return ()
    return (column,)


def _session(node: n.Session, known: Watermarks) -> Watermarks:
    """The end of a session carries the watermark of its time, neither start nor time do.

    A row that comes later is at the watermark or above; of each session that it changes, whether it
    prolongs, merges or, taken back, splits it, the end before and after is not below the row.
    """
    own = (w for w in known.columns if w.column == node.time)
    ends = (WatermarkColumn(node.end, w.group) for w in own)
    return Watermarks((*among(known, node.partition).columns, *ends))


def _project(node: n.Project | n.MaterializeProject, known: Watermarks) -> Watermarks:
    """An expression that follows bounded columns carries one, where one of them is not NULL."""
    whole = {w.column: w.group for w in known.columns}
    bounded = {c: p.group for p in known.pairs for c in (p.first, p.second)} | whole
    columns: list[WatermarkColumn] = []
    alone: dict[str, str] = {}
    for name, expr in node.columns:
        read = monotone_columns(expr)
        if not read or not read <= set(bounded):
            continue
        if read & set(whole) or any({p.first, p.second} <= read for p in known.pairs):
            columns.append(WatermarkColumn(name, merged(bounded[c] for c in read)))
        if len(read) == 1:
            alone.setdefault(min(read), name)
    pairs = (p for p in known.pairs if p.first in alone and p.second in alone)
    kept = (WatermarkPair(alone[p.first], alone[p.second], p.group) for p in pairs)
    return Watermarks(tuple(columns), tuple(kept))


def merged(groups: Iterable[str]) -> str:
    return "+".join(sorted({one for group in groups for one in group.split("+")}))


def _union(inputs: tuple[Watermarks, ...]) -> Watermarks:
    groups: list[dict[str, str]] = [{w.column: w.group for w in side.columns} for side in inputs]
    shared = [w.column for w in inputs[0].columns if all(w.column in side for side in groups)]
    return Watermarks(tuple(WatermarkColumn(c, merged(g[c] for g in groups)) for c in shared))


def _set(node: n.SetOperation, left: Watermarks, right: Watermarks) -> Watermarks:
    """Columns that meet by position carry one where both do: equal rows are equal in them."""
    lefts, rights = ({w.column: w.group for w in side.columns} for side in (left, right))
    met = [(a, b) for a, b in node.pairs if a in lefts and b in rights]
    return Watermarks(tuple(WatermarkColumn(a, merged((lefts[a], rights[b]))) for a, b in met))


def _join(node: n.Join, left: Watermarks, right: Watermarks) -> Watermarks:
    """An equi pair with a watermark on both sides carries the minimum: each where it is not padded.

    So does a time that the condition keeps at a distance of one of the other side.
    """
    lefts = {w.column: w.group for w in left.columns}
    rights = {w.column: w.group for w in right.columns}
    columns: list[WatermarkColumn] = []
    pairs: list[WatermarkPair] = []
    for a, b in node.equi:
        if a not in lefts or b not in rights:
            continue
        group = merged((lefts[a], rights[b]))
        padded = ((a, node.kind.pads_left), (b, node.kind.pads_right))
        columns += [WatermarkColumn(c, group) for c, pads in padded if not pads]
        if node.kind.pads_left or node.kind.pads_right:
            pairs.append(WatermarkPair(a, b, group))
    both, done = lefts | rights, {w.column for w in columns}
    for far in distances(node):
        if far.column not in done and far.column in both and far.other in both:
            group = merged((both[far.column], both[far.other]))
            columns.append(WatermarkColumn(far.column, group))
            done.add(far.column)
    return among(Watermarks(tuple(columns), tuple(pairs)), node.names)
