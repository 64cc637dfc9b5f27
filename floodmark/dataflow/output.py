"""The output of one operator in one epoch: its changes, and its rows before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from floodmark.cached import cached_property
from floodmark.changelog import WEIGHT
from floodmark.dataflow import batch, dispatch
from floodmark.dataflow.context import EpochContext, Input
from floodmark.dataflow.key_sets import ALL_KEYS, KeySets, Sources, select_sources
from floodmark.dataflow.key_sources import KeySources, large_side, scan_columns
from floodmark.dataflow.keyed_reads import KeyedRows
from floodmark.dataflow.other_updates import OtherUpdates
from floodmark.dataflow.plan_splitter import PlanSplitter
from floodmark.plan import nodes as n
from floodmark.scalar.types import INT, Field
from floodmark.spark.rows import Rows
from floodmark.spark.types import ident
from floodmark.stream.operators import Operator
from floodmark.stream.operators.aggregate import StreamAggregate
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.scan import StreamScan
from floodmark.stream.properties.bounds import EVERYWHERE, Bounds
from floodmark.tables.bounds import FileFilter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class OperatorOutput:
    """Computed when it is first asked for, and once; `readers` are the operators above, each as
    often as it reads this one."""

    def __init__(
        self,
        operator: Operator,
        inputs: Sequence[Input],
        ctx: EpochContext,
        parts: PlanSplitter,
        keys: KeySources,
        others: OtherUpdates,
        outputs: Mapping[n.Node, OperatorOutput],
    ) -> None:
        self.operator = operator
        self.inputs = inputs
        self.readers: list[Operator] = []
        self._ctx = ctx
        self._parts = parts
        self._keys = keys
        self._others = others
        self._outputs = outputs
        self._is_materialized = False
        self._met = 0

    @cached_property
    def rows(self) -> Rows | None:
        """Return the changes, None when there are none."""
        rows = self._delta
        if rows is None or not self._is_written_first(rows):
            return rows
        frame = self.materialize()
        return None if frame is None else replace(rows, frame=frame, failing=False, has_kinds=False)

    def advance(self) -> None:
        """Compute the changes even if no operator above reads them: due rows leave their table."""
        _ = self.rows

    @cached_property
    def _delta(self) -> Rows | None:
        return self._net_changes or self._own_changes

    @cached_property
    def _own_changes(self) -> Rows | None:
        return dispatch.delta(self.operator, self.inputs, self._ctx)

    @cached_property
    def _net_changes(self) -> Rows | None:
        """The changes without updates of other columns, None where these are not looked for."""
        rows = self._own_changes
        return None if rows is None else self._others.cancel(self.operator, rows, self.readers)

    def _is_written_first(self, rows: Rows) -> bool:
        """Tell whether changes are written first: large ones, and where several would refuse.

        So are those of which perhaps none is left.
        """
        several = rows.failing and len(self.readers) > 1
        sparse = self._net_changes is not None
        return several or sparse or self._parts.are_large(rows, self.readers)

    def materialize(self) -> DataFrame | None:
        """Return the changes without failing rows, cheap to read more than once."""
        self._is_materialized = True
        return self._frame

    @cached_property
    def _frame(self) -> DataFrame | None:
        rows = self._delta
        if rows is None:
            return None
        if not rows.failing and self.is_cheap and not self._is_written_first(rows):
            return rows.frame.selectExpr(*self._columns, WEIGHT)
        columns = (*self.operator.node.schema, Field(WEIGHT, INT, nullable=False))
        name = f"{self.operator.identifier}_changes"
        return self._ctx.stages.settle(name, rows, columns)

    def single_use(self) -> DataFrame | None:
        """Return the changes without failing rows, for an operator that reads them once."""
        rows = self.rows
        if rows is None:
            return None
        if rows.failing or self._is_materialized or len(self.readers) > 1:
            return self.materialize()
        return rows.frame.selectExpr(*self._columns, WEIGHT)

    def initial_rows(self) -> DataFrame | None:
        """Return all rows in an epoch that fills, to be read once."""
        rows, frame = self.rows, self.single_use()
        if rows is None or frame is None or not rows.inserts:
            return self.rows_after()
        return frame.selectExpr(*self._columns)

    @property
    def _columns(self) -> list[str]:
        return [ident(name) for name in self.operator.names]

    @cached_property
    def is_cheap(self) -> bool:
        """Tell whether the changes can as well be computed twice as written and read back.

        Those that are computed row by row can, if their inputs' can. Of groups is written already
        which ones the epoch touches.
        """
        op, stages = self.operator, self._ctx.stages
        if op.uses == 1:
            return all(self._outputs[below].is_cheap for below in op.node.inputs)
        groups = isinstance(op, StreamAggregate)
        return groups and stages.lasting and op.own_table is None

    def sources(self, column: str) -> Sources | None:
        """Return where a column's values in the changes are found; None where nothing tells."""
        return self._keys.trace_changes(self.operator, column)

    def finds(self, keys: KeySets) -> bool:
        """Tell whether its rows are read by keys, or are few: see `Input.finds`."""
        op, ctx = self.operator, self._ctx
        if isinstance(op, StreamScan):
            few = ctx.inputs.bytes_at_rest(op.node) < ctx.inputs.limits.reread_bytes
            return few or self._find(op, keys) is not None
        near = self._keys.complete_keys(op, op.input_bounds(keys))
        below = (self._outputs[i] for i in op.node.inputs)
        return all(output.finds(theirs) for output, theirs in zip(below, near, strict=True))

    def _find(self, op: StreamScan, keys: KeySets) -> KeyedRows | None:
        """Return a table's rows that have keys; None where it is not read by them."""
        sources = select_sources(keys)
        if not sources:
            return None
        ctx, read = self._ctx, self._keys.plan_read(op, sources)
        return ctx.keyed_reads.rows(read, ctx.inputs, ctx.stages)

    @property
    def is_changed(self) -> bool:
        """Tell whether the epoch may change rows; nothing is computed for it."""
        return self._bounds is not None

    @property
    def bounds(self) -> Bounds:
        """Return where the values of the changes lie."""
        return self._bounds or EVERYWHERE

    @cached_property
    def _bounds(self) -> Bounds | None:
        """The bounds of the changes, None where there are none."""
        op = self.operator
        if isinstance(op, StreamScan):
            return op.change_bounds([self._ctx.inputs.bounds(op.node)])
        return op.change_bounds([self._outputs[below]._bounds for below in op.node.inputs])

    def rows_before(
        self, within: Bounds = EVERYWHERE, keys: KeySets = ALL_KEYS
    ) -> DataFrame | None:
        """Return the rows before the epoch, read again: see `Input.rows_before`."""
        return None if self._ctx.inputs.fills else self._reread(within, keys, after=False)

    def rows_after(self, within: Bounds = EVERYWHERE, keys: KeySets = ALL_KEYS) -> DataFrame | None:
        """Return the rows after the epoch, read again: see `Input.rows_before`."""
        return self._reread(within, keys, after=True)

    def _reread(self, within: Bounds, keys: KeySets, *, after: bool) -> DataFrame | None:
        ctx = self._ctx

        def leaf(
            op: StreamOperator[Any], within: Bounds, keeps: FileFilter | None, keys: KeySets
        ) -> batch.Leaf | None:
            found = self._find(op, keys) if isinstance(op, StreamScan) else None
            if found is not None:
                return batch.Leaf(found.load(ctx.inputs, op.names, after=after))
            narrow = ctx.narrow(op, keys)
            if narrow is None:
                return batch.Leaf(None)
            return dispatch.at_rest(op, self._outputs[op.node], ctx, keeps, narrow, after=after)

        def finish(op: StreamOperator[Any], rows: DataFrame | None) -> DataFrame | None:
            output = self._outputs[op.node]
            return self._parts.write_large(output.operator, rows, output.readers)

        spark = ctx.inputs.spark
        plan = self.operator
        complete = self._complete_keys
        return batch.rows_in_bounds(plan, within, leaf, spark, ctx.now, finish, keys, complete)

    def _complete_keys(
        self, op: StreamOperator[Any], keys: Sequence[KeySets], input_rows: batch.RowsOfInput
    ) -> tuple[Sequence[KeySets], Mapping[int, DataFrame | None]]:
        """Return the keys of an operator's inputs, and the rows of one that gives another some.

        Of a large side of a join that is read whole, the rows are looked for that a small side
        meets: it is written first.
        """
        keys, ctx = self._keys.complete_keys(op, keys), self._ctx
        few = ctx.inputs.few and not ctx.inputs.fills
        large = large_side(op, ctx.inputs.bytes_at_rest, ctx.inputs.limits) if few else None
        if large is None or self._outputs[op.node.inputs[large.place]].finds(keys[large.place]):
            return keys, {}
        rows = input_rows(large.other, keys[large.other])
        self._met += 1
        name = f"{self.operator.identifier}_meets{self._met}"
        schema = op.inputs[large.other].node.schema
        written = None if rows is None else ctx.stages.write(name, rows, schema)
        if written is None:
            return keys, {large.other: None}
        met = dict(keys[large.place])
        for mine, theirs in large.pairs:
            columns = scan_columns(op.inputs[large.place], mine)
            if all(ctx.keyed_reads.pays(ctx.inputs, *at, written.count) for at in columns):
                met[mine] = written.key_column(theirs)
        completed = [met if place == large.place else keys[place] for place in (0, 1)]
        return completed, {large.other: written.rows}
