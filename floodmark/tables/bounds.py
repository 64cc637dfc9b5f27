"""Bounds: where the values of columns lie, from the statistics of files to a node's output.

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
    among,
    enclosing,
    hop_bounds,
    hull,
    projection_bounds,
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


def of_changes(node: n.Node, scanned: Callable[[n.Scan], Bounds | None]) -> Bounds | None:
    """Return the bounds of a node's changes in an epoch, None when it has none.

    `scanned` gives those of the changes of an object. They hold for old and new rows alike.
    """
    match node:
        case n.Scan():
            return scanned(node)
        case n.Project() | n.Filter() | n.Tumble() | n.Hop() | n.MaterializeProject():
            found = of_changes(node.input, scanned)
            return None if found is None else _row_local(node, found)
        case n.GrowingSeries():
            return {}
        case n.ProjectSet():
            return of_changes(node.input, scanned)
        case n.LookupJoin():
            return of_changes(node.left, scanned)
        case n.UnionAll():
            return _union(node, [of_changes(branch, scanned) for branch in node.branches])
        case n.Join():
            sides = [of_changes(side, scanned) for side in (node.left, node.right)]
            return join_bounds(node, sides[0], sides[1])
        case n.Aggregate() | n.TopN():
            found = of_changes(node.input, scanned)
            return None if found is None else among(found, node.group)
        case n.OverWindow():
            found = of_changes(node.input, scanned)
            return None if found is None else among(found, node.partition)
        case _:
            return {}


def keeper(node: n.Node, wanted: Bounds) -> Callable[[DataFile], bool]:
    """Return the test whether a file of what row-local nodes read can give rows within bounds.

    `node` is a scan, or an aggregate whose groups are read, or one with projections, filters and
    windows of fixed size above.
    """

    def keeps(file: DataFile) -> bool:
        found = _of_file(node, file)
        return all(
            found[name][0] <= high and low <= found[name][1]
            for name, (low, high) in wanted.items()
            if name in found
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


def is_row_local(node: n.Node) -> bool:
    """Tell whether a node reads files, with nothing but row-local nodes above it."""
    while isinstance(node, n.Project | n.Filter | n.Tumble | n.Hop | n.ProjectSet):
        node = node.input
    return isinstance(node, n.Scan | n.Aggregate)


def of_branch(node: n.UnionAll, branch: n.Node, wanted: Bounds) -> Bounds:
    """Return bounds of a union's columns as those of one branch."""
    names = dict(zip(node.branches[0].names, branch.names, strict=True))
    return {names[name]: bounds for name, bounds in wanted.items() if name in names}


def of_sides(node: n.Join, wanted: Bounds) -> tuple[Bounds, Bounds]:
    """Return which rows of each side the joined rows within bounds come from.

    A side that can be padded is bounded by its keys only: without a row that it has, the other
    side's rows would be padded.
    """
    left, right = among(wanted, node.left.names), among(wanted, node.right.names)
    keys_left = {a: wanted[b] for a, b in node.equi if b in wanted and not node.kind.pads_right}
    keys_right = {b: wanted[a] for a, b in node.equi if a in wanted and not node.kind.pads_left}
    return (
        keys_left if node.kind.pads_left else {**keys_left, **left},
        keys_right if node.kind.pads_right else {**keys_right, **right},
    )


def _row_local(
    node: n.Project | n.Filter | n.Tumble | n.Hop | n.MaterializeProject, found: Bounds
) -> Bounds:
    match node:
        case n.Filter():
            return found
        case n.Tumble():
            return tumble_bounds(node, found)
        case n.Hop():
            return hop_bounds(node, found)
        case n.Project() | n.MaterializeProject():
            return projection_bounds(node.columns, found)


def _union(node: n.UnionAll, branches: Sequence[Bounds | None]) -> Bounds | None:
    present = [
        {name: found[c] for name, c in zip(node.branches[0].names, branch.names, strict=True)
         if c in found}
        for branch, found in zip(node.branches, branches, strict=True)
        if found is not None
    ]  # fmt: skip
    return hull(present) if present else None


def join_bounds(node: n.Join, left: Bounds | None, right: Bounds | None) -> Bounds | None:
    """Return the bounds of a join's changes: of keys those of both sides.

    Where one side alone changes, that side's values are known unless they are padding in a row that
    comes or goes with them; its partners' are unknown.
    """
    if left is None and right is None:
        return None
    out: dict[str, tuple[Any, Any]] = {}
    if right is None and left is not None and not node.kind.pads_left:
        out.update(left)
    if left is None and right is not None and not node.kind.pads_right:
        out.update(right)
    for a, b in node.equi:
        sides = [s.get(c) for s, c in ((left, a), (right, b)) if s is not None]
        both = enclosing(sides)
        if both is None:
            continue
        if not node.kind.pads_left:
            out[a] = both
        if not node.kind.pads_right:
            out[b] = both
    return among(out, node.names)
