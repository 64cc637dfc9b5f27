"""Objects of the catalog, which a plan reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from floodmark.changelog import ROW_ID, ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Expr
from floodmark.stream.operators.base import Key, WatermarkValues
from floodmark.stream.operators.linear import Linear
from floodmark.stream.printing.description import Description, NodePlace
from floodmark.stream.printing.labels import Labels
from floodmark.stream.properties.bounds import Bounds, ByColumn, T
from floodmark.stream.properties.determinism_check import Cause, Columns, DeterminismCheck
from floodmark.stream.properties.functional_dependencies import Dependency
from floodmark.stream.properties.key_sets import KeySet
from floodmark.stream.properties.lineage import Lineage
from floodmark.stream.properties.monotonicity import Origins
from floodmark.stream.properties.state import StateTable
from floodmark.stream.properties.strategy import Method, Strategy
from floodmark.stream.properties.watermark import Watermarks


class StreamScan(Linear[n.Scan]):
    """An object's changes in an epoch; their properties come from the object."""

    NODE = n.Scan

    @staticmethod
    def key_of(node: n.Scan, keys: tuple[Key, ...]) -> Key:
        return node.stream_key

    def derive_mode(self) -> ChangelogMode:
        return self.node.mode

    def derive_insert_only(self) -> bool:
        return self.node.mode is ChangelogMode.APPEND_ONLY

    def derive_watermarks(self) -> Watermarks:
        return Watermarks(self.node.watermarks)

    def derive_dependencies(self) -> Sequence[Dependency]:
        return ()

    def derive_unique_keys(self) -> Sequence[KeySet]:
        return (frozenset(self.node.stream_key),)

    def derive_upsert_keys(self) -> Sequence[KeySet]:
        """The engine's own row ids are no declared key."""
        key = self.node.stream_key
        return () if ROW_ID in key else (frozenset(key),)

    def derive_monotone(self) -> Origins:
        object_ = self.node.object
        return {f.name: (object_, f.name) for f in self.node.schema if f.type.is_orderable}

    def derive_arrangement(self) -> bool:
        return True

    def derive_strategy(self) -> Strategy:
        return Method.READ

    def derive_state(self) -> tuple[StateTable, ...]:
        return ()

    def other_bound(self, column: str) -> str | None:
        return None

    def propagate(self, inputs: Sequence[WatermarkValues], now: datetime) -> WatermarkValues:
        known = inputs[0]
        return {w.column: known[w.column] for w in self.node.watermarks if w.column in known}

    def column_origins(self, inputs: Sequence[Lineage]) -> Lineage:
        return {name: frozenset({(self.node.object, name)}) for name in self.names}

    @property
    def is_scanned(self) -> bool:
        """Tell whether rows are those of one object."""
        return True

    def input_bounds(self, within: ByColumn[T]) -> Sequence[ByColumn[T]]:
        return ()

    def propagate_highest(
        self, inputs: Sequence[WatermarkValues], now: datetime
    ) -> WatermarkValues:
        return self.propagate(inputs, now)

    def change_bounds(self, inputs: Sequence[Bounds | None]) -> Bounds | None:
        return inputs[0]

    def describe(self, names: Mapping[str, str], place: NodePlace) -> Description:
        return Description(place.kinds.get(self.node.object, "Scan"), self.node.object)

    @property
    def title(self) -> str:
        return f'"{self.node.object}"'

    def advise(self, labels: Labels) -> Sequence[tuple[str, str]]:
        return ()

    def check_determinism(
        self, required: Columns, needed: Columns, check: DeterminismCheck
    ) -> None:
        node = self.node
        columns = [c for c in node.metadata if c in required]
        if columns and check.changes_pass and not check.appends(node):
            check.report(Cause.METADATA, node, columns, ())

    def unstable_expression(self) -> Expr | None:
        return None
