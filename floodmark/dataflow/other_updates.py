"""Updates of columns that a plan does not read: left out before tables are read for them.

Often nothing is left. Then no row of the other inputs is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from floodmark.cached import cached_property
from floodmark.dataflow.inputs import EpochInputs
from floodmark.dataflow.materialize import cancel, has_map
from floodmark.plan import nodes as n
from floodmark.plan.rules.read_columns import Columns
from floodmark.spark.rows import Rows
from floodmark.stream.operators import Operator
from floodmark.stream.operators.lower import StreamPlan
from floodmark.stream.properties.state import OwnTableState

_OF_GROUPS = ("accumulators", "distinct values")
"""The roles of state without rows of the input."""


class OtherUpdates:
    """The updates that one plan can do without in one epoch."""

    def __init__(self, plan: StreamPlan, inputs: EpochInputs) -> None:
        self._plan = plan
        self._inputs = inputs

    def cancel(self, op: Operator, rows: Rows, readers: Iterable[Operator]) -> Rows | None:
        """Return an operator's changes without them; None where they are not looked for.

        They are where the `readers` read a large table for the rows of one object.
        """
        inputs, node = self._inputs, op.node
        if rows.inserts or rows.failing or rows.unknown or inputs.fills or not inputs.few:
            return None
        above = [reader.node for reader in readers if reader.needs_all_rows]
        least = inputs.limits.reread_bytes
        if not op.is_scanned or not any(inputs.bytes_at_rest(reader) >= least for reader in above):
            return None
        (scan,) = n.scans(node)
        if not inputs.has_updates(scan.object):
            return None
        read = frozenset(op.stream_key) | self._read[node]
        others = [name for name in op.names if name not in read]
        if not others and rows.consolidated and not rows.narrowed:
            return None
        compared = tuple(field for field in node.schema if field.name in read)
        if any(has_map(field.type) for field in compared):
            return None
        frame = cancel(rows.frame, compared, op.stream_key, others)
        return replace(rows, frame=frame, consolidated=True, narrowed=bool(others))

    @cached_property
    def _read(self) -> Mapping[n.Node, Columns]:
        """The columns that are read of each node.

        All of them, where an operator keeps rows: those that go have to equal those that came.
        """
        held = (t.role for op in self._plan.operators.values() for t in op.state)
        owned = (op.own_table for op in self._plan.operators.values())
        if all(role in _OF_GROUPS for role in held) and set(owned) <= {None, OwnTableState.GROUPS}:
            return self._plan.read_columns
        return {node: frozenset(node.names) for node in self._plan.nodes}
