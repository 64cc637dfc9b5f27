"""One plan in one epoch: the changes of its root, from the changes and versions of its inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from floodmark.changelog import ERROR, WEIGHT
from floodmark.dataflow.operators import (
    aggregate,
    close_aggregate,
    close_session,
    dispatch,
    dynamic_filter,
    full_join,
    growing_series,
    join,
    lookup_join,
    materialize_project,
    over,
    session,
    set_operation,
    sort_buffer,
    temporal_filter,
    top_n,
    union_all,
    values,
)
from floodmark.dataflow.operators.context import FileFilter, Inputs, Origin, Stages
from floodmark.dataflow.parts import Parts
from floodmark.plan import nodes as n
from floodmark.scalar.functions.volatile import RowSeed
from floodmark.scalar.types import INT, Field
from floodmark.spark.rows import Rows, empty, set_weight
from floodmark.spark.types import ident
from floodmark.spark.user_functions import register
from floodmark.stream.operators.lower import StreamPlan
from floodmark.stream.properties.bounds import EVERYWHERE, Bounds
from floodmark.stream.properties.dynamic_filter import is_dynamic_filter
from floodmark.stream.properties.expressions_of import expressions_of
from floodmark.tables import bounds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_CHEAP = (n.Scan, n.Values, n.Project, n.Filter, n.Tumble, n.Hop, n.ProjectSet, n.UnionAll)
"""Nodes whose changes can as well be computed twice as written and read back, if their inputs'
can."""


Read = Callable[[n.Scan | n.Aggregate, FileFilter | None], "DataFrame | None"]
"""Reads rows at rest, of an object or the groups of an aggregate."""


class Scans(Inputs, Protocol):
    """What the scans of a plan read in one epoch; None is an empty relation."""

    now: int
    origin: Origin

    def changes(self, scan: n.Scan) -> Rows | None:
        """Return what the epoch changed in an object."""

    def before(self, scan: n.Scan, keeps: FileFilter | None = None) -> DataFrame | None:
        """Return the object's rows before the epoch, at least those of the files that matter."""

    def after(self, scan: n.Scan, keeps: FileFilter | None = None) -> DataFrame | None:
        """Return the object's rows after the epoch, at least those of the files that matter."""


class Evaluation:
    """Computes changes; a node that occurs twice in a plan is computed once."""

    def __init__(self, plan: StreamPlan, inputs: Scans, stages: Stages) -> None:
        self.plan = plan
        self.inputs = inputs
        self.stages = stages
        self.now = inputs.now
        self._changes: dict[n.Node, Rows | None] = {}
        self._materialized: dict[n.Node, DataFrame | None] = {}
        self._bounds: dict[n.Node, Bounds] = {}
        self._readers = Counter(child for node in {*plan.nodes} for child in node.inputs)
        self._parts = Parts({*plan.nodes}, stages)
        register(inputs.spark, (e for node in plan.nodes for e in expressions_of(node)))

    def root(self) -> Rows | None:
        """Return the changes of the plan's root; what is due is made in every case."""
        for node in self.plan.nodes:
            if isinstance(node, n.TemporalFilter | n.GrowingSeries):
                self.delta(node)
        return self.delta(self.plan.root)

    def delta(self, node: n.Node) -> Rows | None:
        """Return the changes of a node in this epoch, None when there are none."""
        if node not in self._changes:
            rows = self._changes[node] = self._delta(node)
            if rows is not None and self._is_written_first(node, rows):
                settled = self.materialized_delta(node)
                self._changes[node] = (
                    None
                    if settled is None
                    else replace(rows, frame=settled, failing=False, kinded=False)
                )
        return self._changes[node]

    def _is_written_first(self, node: n.Node, rows: Rows) -> bool:
        """Tell whether changes are written first: large ones, and where several would refuse."""
        several = rows.failing and self._readers[node] > 1
        return several or self._parts.are_large(node, rows)

    def _delta(self, node: n.Node) -> Rows | None:
        match node:
            case n.Scan():
                return self.inputs.changes(node)
            case n.Values():
                if not self.inputs.fills:
                    return None
                return values.delta(node, self.inputs.spark, self.now)
            case n.Join(kind=n.JoinKind.FULL):
                return full_join.delta(node, self)
            case n.Join() if is_dynamic_filter(node):
                return dynamic_filter.delta(node, self)
            case n.Join():
                return join.delta(node, self)
            case n.Aggregate():
                return aggregate.delta(node, self.delta(node.input), self)
            case n.CloseAggregate():
                return close_aggregate.delta(node, self)
            case n.SortBuffer():
                return sort_buffer.delta(node, self)
            case n.MaterializeProject():
                return materialize_project.delta(node, self.delta(node.input), self)
            case n.SetOperation():
                return set_operation.delta(node, self)
            case n.CloseSession():
                return close_session.delta(node, self)
            case n.Session():
                return session.delta(node, self)
            case n.OverWindow():
                return over.delta(node, self)
            case n.TopN():
                return top_n.delta(node, self)
            case n.TemporalFilter():
                return temporal_filter.delta(node, self.delta(node.input), self)
            case n.GrowingSeries():
                return growing_series.delta(node, self.delta(node.input), self)
            case n.LookupJoin():
                return lookup_join.delta(node, self.delta(node.left), self)
            case _:
                return dispatch.row_local(node, [*map(self.delta, node.inputs)], self)

    def name(self, node: n.Node) -> str:
        """Return the node's name in the plan, `r0`, `r1`, …"""
        return self.plan[node].identifier

    def materialized_delta(self, node: n.Node) -> DataFrame | None:
        """Return the changes of a node without failing rows, cheap to read more than once."""
        if node not in self._materialized:
            self._materialized[node] = self._materialize(node)
        return self._materialized[node]

    def single_use_delta(self, node: n.Node) -> DataFrame | None:
        """Return the changes of a node without failing rows, for a reader who reads them once."""
        rows = self.delta(node)
        if rows is None:
            return None
        if rows.failing or node in self._materialized or self._readers[node] > 1:
            return self.materialized_delta(node)
        return rows.frame.selectExpr(*map(ident, node.names), WEIGHT)

    def initial_rows(self, node: n.Node) -> DataFrame | None:
        """Return all rows of a re-readable node in an epoch that fills, to be read once."""
        rows, frame = self.delta(node), self.single_use_delta(node)
        if rows is None or frame is None or not rows.inserts:
            return self.after(node)
        return frame.selectExpr(*map(ident, node.names))

    def _materialize(self, node: n.Node) -> DataFrame | None:
        rows = self.delta(node)
        if rows is None:
            return None
        if not rows.failing and self._is_cheap(node) and not self._parts.are_large(node, rows):
            return rows.frame.selectExpr(*map(ident, node.names), WEIGHT)
        columns = (*node.schema, Field(WEIGHT, INT, nullable=False))
        return self.stages.settle(f"{self.name(node)}_changes", rows, columns)

    def _is_cheap(self, node: n.Node) -> bool:
        """Tell whether the changes of a node can as well be computed twice.

        An aggregate has written which groups it touches.
        """
        if isinstance(node, n.Aggregate):
            return self.stages.lasting and self.stages.own_state(node) is None
        return isinstance(node, _CHEAP) and all(map(self._is_cheap, node.inputs))

    def seed(self, node: n.Node, epoch: str | None = None) -> RowSeed:
        """Return what identifies a row of a node, for values that are the same on each replay.

        `epoch` is the column with the epoch in which the row has changed, where rows do.
        """
        key = tuple((c, node.field(c).type) for c in self.plan[node].stream_key)
        origin = self.inputs.origin
        return RowSeed(origin.seed, origin.object, key, epoch)

    def bounds(self, node: n.Node) -> Bounds:
        """Return where the values of a node's changes lie."""
        if node not in self._bounds:
            self._bounds[node] = bounds.of_changes(node, self.inputs.bounds) or {}
        return self._bounds[node]

    def before(self, node: n.Node, within: Bounds = EVERYWHERE) -> DataFrame | None:
        """Return the rows of a re-readable node before the epoch, at least those within bounds."""
        return None if self.inputs.fills else self._rows(node, self._at_rest_before, within)

    def after(self, node: n.Node, within: Bounds = EVERYWHERE) -> DataFrame | None:
        """Return the rows of a re-readable node after the epoch, at least those within bounds."""
        return self._rows(node, self._at_rest_after, within)

    def _at_rest_before(
        self, leaf: n.Scan | n.Aggregate, keeps: FileFilter | None
    ) -> DataFrame | None:
        if isinstance(leaf, n.Aggregate):
            return aggregate.at_rest(leaf, self, keeps, after=False)
        return self.inputs.before(leaf, keeps)

    def _at_rest_after(
        self, leaf: n.Scan | n.Aggregate, keeps: FileFilter | None
    ) -> DataFrame | None:
        if isinstance(leaf, n.Scan):
            return self.inputs.after(leaf, keeps)
        changes = self.delta(leaf)  # Its state is of after the epoch from here on.
        if self.inputs.fills:
            return None if changes is None else self._filled(leaf, changes)
        return aggregate.at_rest(leaf, self, keeps, after=True)

    def _filled(self, leaf: n.Aggregate, changes: Rows) -> DataFrame:
        """Return the rows of an aggregate in its first epoch: all its changes are rows that come.

        What is refused among them is put aside where its changes are read.
        """
        names = [ident(c) for c in leaf.names]
        if changes.failing:
            return changes.frame.where(f"{ERROR} IS NULL").selectExpr(*names)
        settled = self.materialized_delta(leaf)
        assert settled is not None
        return settled.selectExpr(*names)

    def _rows(self, node: n.Node, read: Read, within: Bounds) -> DataFrame | None:
        rows = self._put_together(node, read, within)
        return self._parts.at_rest(node, self.name(node), rows)

    def _put_together(self, node: n.Node, read: Read, within: Bounds) -> DataFrame | None:
        match node:
            case n.UnionAll():
                branches = ((b, bounds.of_branch(node, b, within)) for b in node.branches)
                return self._union(node, [self._rows(b, read, w) for b, w in branches])
            case n.Join():
                sides = zip((node.left, node.right), bounds.of_sides(node, within), strict=True)
                frames = [self._rows(side, read, w) for side, w in sides]
                frames = self._with_empty(node, frames)
            case _ if within and bounds.is_row_local(node):
                return self._local(node, read, bounds.keeper(node, within))
            case n.Scan() | n.Aggregate():
                return read(node, None)
            case _:
                frames = [self._rows(child, read, EVERYWHERE) for child in node.inputs]
        return self._batch(node, frames)

    def _local(self, node: n.Node, read: Read, keeps: FileFilter) -> DataFrame | None:
        if isinstance(node, n.Scan | n.Aggregate):
            return read(node, keeps)
        return self._batch(node, [self._local(child, read, keeps) for child in node.inputs])

    def _batch(self, node: n.Node, frames: list[DataFrame | None]) -> DataFrame | None:
        present = [frame for frame in frames if frame is not None]
        if len(present) < len(frames):
            return None
        return dispatch.batch(node, present, self.inputs.spark, self.now)

    def _with_empty(self, node: n.Join, frames: list[DataFrame | None]) -> list[DataFrame | None]:
        """Return the sides, no rows in the place of one that is not there yet but may be empty."""
        left, right = frames
        if left is None and right is not None and node.kind.pads_left:
            left = empty(self.inputs.spark, node.left)
        if right is None and left is not None and node.keeps_unmatched:
            right = empty(self.inputs.spark, node.right)
        return [left, right]

    def _union(self, node: n.UnionAll, frames: list[DataFrame | None]) -> DataFrame | None:
        """Return the changes of all inputs; None where none changed."""
        if all(frame is None for frame in frames):
            return None
        rows = [None if f is None else Rows(set_weight(f)) for f in frames]
        joined = union_all.delta(node, rows)
        return None if joined is None else joined.frame.drop(WEIGHT)
