"""Bounds of column values, derived from file statistics up to a node's output.

The bounds of an epoch's changes say which groups and keys it can touch; the bounds that one file
gives a subplan say whether the file matters for them. So the cost of an epoch whose keys are close
in time or order does not grow with the history.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from floodmark.plan import nodes as n
from floodmark.storage.table import DataFile
from floodmark.stream.properties.bounds import (
    Bounds,
    hop_bounds,
    projection_bounds,
    restrict_bounds,
    tumble_bounds,
)


def of_files(files: Sequence[DataFile], names: Sequence[str]) -> Bounds | None:
    """Return the bounds of columns over all rows of some files, None when there are none."""
    if not files:
        return None
    out = {}
    for name in names:
        lows: list[Any] = [file.low.get(name) for file in files]
        highs: list[Any] = [file.high.get(name) for file in files]
        known = None not in lows and None not in highs
        if known and not any(file.nulls.get(name, 1) for file in files):
            out[name] = (min(lows), max(highs))
    return out


def keeper(node: n.Node, wanted: Bounds) -> Callable[[DataFile], bool]:
    """Return the test whether a file of what row-local nodes read can give rows within bounds.

    `node` is a scan, or an aggregate whose groups are read, or one with projections, filters and
    windows of fixed size above.
    """

    def keeps(file: DataFile) -> bool:
        bounds = _of_file(node, file)
        return all(
            bounds[name][0] <= high and low <= bounds[name][1]
            for name, (low, high) in wanted.items()
            if name in bounds
        )

    return keeps


def _of_file(node: n.Node, file: DataFile) -> Bounds:
    """Return the bounds of a row-local node's rows over one file of what it reads."""
    match node:
        case n.Project() | n.Filter() | n.Tumble() | n.Hop():
            return _row_local(node, _of_file(node.input, file))
        case n.ProjectSet():
            return _of_file(node.input, file)
        case n.Aggregate():
            return of_files((file,), node.group) or {}
        case _:
            return of_files((file,), node.names) or {}


def of_branch(node: n.UnionAll, branch: n.Node, wanted: Bounds) -> Bounds:
    """Return bounds of a union's columns as those of one branch."""
    names = dict(zip(node.branches[0].names, branch.names, strict=True))
    return {names[name]: bounds for name, bounds in wanted.items() if name in names}


def of_sides(node: n.Join, wanted: Bounds) -> tuple[Bounds, Bounds]:
    """Return which rows of each side the joined rows within bounds come from.

    A side that can be padded is bounded by its keys only: without a row that it has, the other
    side's rows would be padded.
    """
    left, right = (
        restrict_bounds(wanted, node.left.names),
        restrict_bounds(wanted, node.right.names),
    )
    keys_left = {a: wanted[b] for a, b in node.equi if b in wanted and not node.kind.pads_right}
    keys_right = {b: wanted[a] for a, b in node.equi if a in wanted and not node.kind.pads_left}
    return (
        keys_left if node.kind.pads_left else {**keys_left, **left},
        keys_right if node.kind.pads_right else {**keys_right, **right},
    )


def _row_local(
    node: n.Project | n.Filter | n.Tumble | n.Hop | n.MaterializeProject, bounds: Bounds
) -> Bounds:
    match node:
        case n.Filter():
            return bounds
        case n.Tumble():
            return tumble_bounds(node, bounds)
        case n.Hop():
            return hop_bounds(node, bounds)
        case n.Project() | n.MaterializeProject():
            return projection_bounds(node.columns, bounds)
