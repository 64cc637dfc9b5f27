"""UNION ALL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from floodmark.changelog import UNION_KEY, ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Expr
from floodmark.scalar.types import Field
from floodmark.stream.operators.base import Key, WatermarkValues
from floodmark.stream.operators.linear import Linear
from floodmark.stream.printing.description import Description, NodePlace
from floodmark.stream.printing.labels import Labels
from floodmark.stream.properties.bounds import Bounds, ByColumn, T, hull
from floodmark.stream.properties.determinism_check import Columns, DeterminismCheck
from floodmark.stream.properties.functional_dependencies import Dependency
from floodmark.stream.properties.highest_values import highest
from floodmark.stream.properties.key_sets import KeySet
from floodmark.stream.properties.lineage import Lineage, origins_by_position
from floodmark.stream.properties.monotonicity import Origins
from floodmark.stream.properties.state import StateTable
from floodmark.stream.properties.strategy import Method, Strategy
from floodmark.stream.properties.watermark import Watermarks, merge_groups
from floodmark.stream.properties.watermark_values import lowest


class StreamUnionAll(Linear[n.UnionAll]):
    """All rows of all inputs, identified by a hidden ordinal of the input."""

    NODE = n.UnionAll

    @staticmethod
    def key_of(node: n.UnionAll, keys: tuple[Key, ...]) -> Key:
        aligned = tuple(c for c in node.names if c.startswith(UNION_KEY))
        return (*(aligned or keys[0]), node.ordinal)

    def derive_mode(self) -> ChangelogMode:
        return ChangelogMode.worst(*(i.mode for i in self.inputs))

    def derive_insert_only(self) -> bool:
        return all(i.insert_only for i in self.inputs)

    def derive_watermarks(self) -> Watermarks:
        groups = [{w.column: w.group for w in i.watermarks} for i in self.inputs]
        shared = [c for c in groups[0] if all(c in branch for branch in groups)]
        return Watermarks(
            tuple(n.WatermarkColumn(c, merge_groups(g[c] for g in groups)) for c in shared)
        )

    def derive_dependencies(self) -> Sequence[Dependency]:
        """Rows of different inputs need not agree."""
        return ()

    def derive_unique_keys(self) -> Sequence[KeySet]:
        """A branch and a key of that branch: the columns meet by name."""
        keys = [i.unique_keys for i in self.inputs]
        if not all(keys):
            return ()
        shared = set(keys[0]).intersection(*keys[1:])
        every = frozenset[str]().union(*(alternatives[0] for alternatives in keys))
        return [key | {self.node.ordinal} for key in (*shared, every)]

    def derive_upsert_keys(self) -> Sequence[KeySet]:
        return ()

    def derive_monotone(self) -> Origins:
        return {}

    def derive_arrangement(self) -> bool:
        return all(i.has_arrangement for i in self.inputs)

    def derive_strategy(self) -> Strategy:
        return Method.EXACT

    def derive_state(self) -> tuple[StateTable, ...]:
        return ()

    def other_bound(self, column: str) -> str | None:
        return None

    def propagate(self, inputs: Sequence[WatermarkValues], now: datetime) -> WatermarkValues:
        """Return the lowest watermark of each column that carries one in all inputs."""
        columns = self._by_place(inputs)
        return {f.name: lowest(values, f.type) for f, values in columns if None not in values}

    def propagate_highest(
        self, inputs: Sequence[WatermarkValues], now: datetime
    ) -> WatermarkValues:
        columns = (
            (f, [v for v in values if v is not None]) for f, values in self._by_place(inputs)
        )
        return {f.name: highest(known, f.type) for f, known in columns if known}

    def _by_place(self, inputs: Sequence[WatermarkValues]) -> Iterator[tuple[Field, list[Any]]]:
        """Yield the columns, each with its value in every input; None where there is none."""
        for position, field in enumerate(self.node.branches[0].schema):
            names = (i.names[position] for i in self.inputs)
            yield field, [known.get(c) for known, c in zip(inputs, names, strict=True)]

    def column_origins(self, inputs: Sequence[Lineage]) -> Lineage:
        return origins_by_position(self.names, self.node.positional_columns, inputs)

    def input_bounds(self, within: ByColumn[T]) -> Sequence[ByColumn[T]]:
        """The columns meet by place."""
        wanted = [within.get(name) for name in self.inputs[0].names]
        sides = (zip(i.names, wanted, strict=True) for i in self.inputs)
        return [{c: ends for c, ends in side if ends is not None} for side in sides]

    def change_bounds(self, inputs: Sequence[Bounds | None]) -> Bounds | None:
        columns = self.inputs[0].names
        present = [
            {name: known[c] for name, c in zip(columns, i.names, strict=True) if c in known}
            for i, known in zip(self.inputs, inputs, strict=True)
            if known is not None
        ]
        return hull(present) if present else None

    def describe(self, names: Mapping[str, str], place: NodePlace) -> Description:
        return Description("UnionAll", "")

    @property
    def title(self) -> str:
        return "the union"

    def advise(self, labels: Labels) -> Sequence[tuple[str, str]]:
        return ()

    def check_determinism(
        self, required: Columns, needed: Columns, check: DeterminismCheck
    ) -> None:
        for branch in self.node.branches:
            check.hand(branch, required, needed)

    def unstable_expression(self) -> Expr | None:
        return None
