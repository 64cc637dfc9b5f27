"""Lookup join: each left row is joined with the right side as of the epoch in which it comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import columns_of
from floodmark.stream.operators.base import Key, WatermarkValues
from floodmark.stream.operators.pairing import StreamPairing, pair_key, unsupported_subquery
from floodmark.stream.operators.texts import state_cells
from floodmark.stream.printing.description import Description, NodePlace
from floodmark.stream.printing.labels import Labels
from floodmark.stream.properties.bounds import Bounds, ByColumn, T
from floodmark.stream.properties.cleaning import Cleaning
from floodmark.stream.properties.determinism_check import NONE, Cause, Columns, DeterminismCheck
from floodmark.stream.properties.key_sets import KeySet
from floodmark.stream.properties.nondeterministic_exprs import nondeterministic_exprs
from floodmark.stream.properties.state import OwnTableState, StateTable
from floodmark.stream.properties.strategy import Method, Strategy
from floodmark.stream.properties.watermark import Watermarks


class StreamLookupJoin(StreamPairing[n.LookupJoin]):
    """Left rows with their matches; later changes of the right side do not change them."""

    NODE = n.LookupJoin

    @property
    def lasts(self) -> bool:
        return self.node.static

    @staticmethod
    def key_of(node: n.LookupJoin, keys: tuple[Key, ...]) -> Key:
        return pair_key(node, keys, lasts=False)

    def derive_mode(self) -> ChangelogMode:
        return self.left.mode

    def derive_insert_only(self) -> bool:
        return self.left.insert_only

    def derive_watermarks(self) -> Watermarks:
        return self.left.marks

    def derive_upsert_keys(self) -> Sequence[KeySet]:
        rights = frozenset(b for _, b in self.node.equi)
        left, right = (side.upsert_keys for side in self.inputs)
        once = self.node.residual is None and any(key <= rights for key in right)
        return self.upsert_keys_of(left, right, unique_left=False, unique_right=once)

    def derive_arrangement(self) -> bool:
        """Rows cannot be read again, because the right side may have changed since the lookup."""
        return False

    def derive_cleaning(self) -> tuple[Cleaning | None, ...]:
        return (None, None)

    def derive_strategy(self) -> Strategy:
        return Method.LOOKED_UP_ONCE

    def derive_needs_all_rows(self) -> bool:
        return False

    def derive_beside(self) -> OwnTableState | None:
        return None

    @property
    def looked_up(self) -> StateTable | None:
        """Return the table of what was looked up, kept as long as the left row; or None."""
        if not self.node.stored or self.left.append_only or self.own_table:
            return None
        column = next((w.column for w in self.left.watermarks), None)
        name = f"{self.identifier}_lookup"
        return StateTable(name, "looked-up rows", self.left.stream_key, column)

    @property
    def fetched(self) -> StateTable:
        """Return the table of what an epoch asks of an object that is kept elsewhere."""
        asked = tuple(b for _, b in self.node.equi)
        return StateTable(f"{self.identifier}_fetched", "an epoch's fetched rows", asked, None)

    def derive_state(self) -> tuple[StateTable, ...]:
        if self.looked_up is not None:
            return (self.looked_up,)
        return () if self.node.external is None else (self.fetched,)

    def propagate(self, inputs: Sequence[WatermarkValues], now: datetime) -> WatermarkValues:
        return inputs[0]

    def input_bounds(self, within: ByColumn[T]) -> Sequence[ByColumn[T]]:
        return {}, {}

    def change_bounds(self, inputs: Sequence[Bounds | None]) -> Bounds | None:
        return inputs[0]

    def describe(self, names: Mapping[str, str], place: NodePlace) -> Description:
        head = self.head(names)
        cells = state_cells(self, place)
        unstored = "not stored" if self.node.external is None else "asked elsewhere, by key"
        kept = "stored: what was looked up" if self.node.stored else unstored
        details = ((kept, *cells),) if cells else ()
        return Description(head.operator, head.arguments, (*head.details, *details))

    @property
    def title(self) -> str:
        return "the lookup join"

    def advise(self, labels: Labels) -> Sequence[tuple[str, str]]:
        text = f"{self.identifier} looks its right side up at the epoch's cut"
        return () if self.node.static else (("A113", f"depends on where epochs are cut: {text}"),)

    def check_determinism(
        self, required: Columns, needed: Columns, check: DeterminismCheck
    ) -> None:
        node = self.node
        lefts, rights = (frozenset(side.names) for side in node.inputs)
        tested = NONE if node.residual is None else columns_of(node.residual)
        used = tested | {a for a, _ in node.equi}
        looked_up = (needed | tested | {b for _, b in node.equi}) & rights
        check.check_lookup(node.right, looked_up)
        wanted = (needed | used) & lefts
        if check.appends(node.left) or not (required or check.strict):
            check.hand(node.left, NONE, wanted)
            return
        called = () if node.residual is None else nondeterministic_exprs((node.residual,))
        if called:
            check.report(Cause.CONDITION, node, (), called)
        if self._must_store(required & rights, looked_up, check):
            check.store(node)
        check.hand(node.left, (required & lefts) | (check.also(used) & lefts), wanted)

    def _must_store(self, required: Columns, needed: Columns, check: DeterminismCheck) -> bool:
        node = self.node
        if node.stored or node.static:
            return False
        keys = frozenset(b for _, b in node.equi)
        unique = [key for key in check.keys(node.right, needed) if key <= keys]
        if check.strict:
            return bool(required) or not unique or node not in check.own_table_nodes
        return bool(required) and not any(required <= key for key in unique)

    def unsupported_part(self) -> str | None:
        grouped = any(isinstance(below, n.Aggregate) for below in n.walk(self.node.right))
        if grouped or not self.right.has_arrangement:
            return "a lookup in a query that nothing stores"
        return unsupported_subquery(self.node)
