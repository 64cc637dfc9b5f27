"""What the two projections share: columns that are computed row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from floodmark.changelog import ChangelogMode, is_hidden
from floodmark.plan import nodes as n
from floodmark.plan.expr.determinism import is_deterministic
from floodmark.plan.expr.expressions import ColumnRef, columns_of
from floodmark.plan.expr.printing import show_name, to_text
from floodmark.scalar.types import Kind, SqlType
from floodmark.stream.operators.base import Key, WatermarkValues
from floodmark.stream.operators.linear import Linear
from floodmark.stream.properties.bounds import Bounds, ByColumn, T, projection_bounds
from floodmark.stream.properties.functional_dependencies import Dependency, each_other
from floodmark.stream.properties.highest_values import highest_result
from floodmark.stream.properties.key_sets import KeySet, project_keys
from floodmark.stream.properties.lineage import Lineage, origins_of
from floodmark.stream.properties.monotonicity import Origins, monotone_column, monotone_columns
from floodmark.stream.properties.stream_key import map_columns
from floodmark.stream.properties.watermark import (
    WatermarkPair,
    Watermarks,
    merge_groups,
)
from floodmark.stream.properties.watermark_values import lowest_result

P = TypeVar("P", bound=n.Project | n.MaterializeProject, covariant=True)


class Projection(Linear[P], family=True):
    """Computed columns; keys, times and what columns settle follow from the expressions."""

    @staticmethod
    def key_of(node: n.Project | n.MaterializeProject, keys: tuple[Key, ...]) -> Key:
        passed = map_columns(node.columns)
        missing = [column for column in keys[0] if column not in passed]
        assert not missing, f"a projection drops key columns {missing}"
        return tuple(passed[column] for column in keys[0])

    def derive_mode(self) -> ChangelogMode:
        return self.input.mode

    def derive_insert_only(self) -> bool:
        return self.input.insert_only

    def derive_watermarks(self) -> Watermarks:
        """An expression that follows bounded columns carries one, where one of them is not NULL."""
        known = self.input.marks
        whole = {w.column: w.group for w in known.columns}
        bounded = {c: p.group for p in known.pairs for c in (p.first, p.second)} | whole
        columns: list[n.WatermarkColumn] = []
        alone: dict[str, str] = {}
        for name, expr in self.node.columns:
            read = monotone_columns(expr)
            if not read or not read <= set(bounded):
                continue
            if read & set(whole) or any({p.first, p.second} <= read for p in known.pairs):
                columns.append(n.WatermarkColumn(name, merge_groups(bounded[c] for c in read)))
            if len(read) == 1:
                alone.setdefault(min(read), name)
        pairs = (p for p in known.pairs if p.first in alone and p.second in alone)
        kept = (WatermarkPair(alone[p.first], alone[p.second], p.group) for p in pairs)
        return Watermarks(tuple(columns), tuple(kept))

    def derive_dependencies(self) -> Sequence[Dependency]:
        return [*self._equality_rules(), *self._expression_rules(), *self._input_rules()]

    def derive_unique_keys(self) -> Sequence[KeySet]:
        return project_keys(self.node.columns, self.input.unique_keys)

    def derive_upsert_keys(self) -> Sequence[KeySet]:
        """The empty key of a single row is not carried on."""
        return [key for key in project_keys(self.node.columns, self.input.upsert_keys) if key]

    def derive_monotone(self) -> Origins:
        below = self.input.monotone
        kept = ((name, monotone_column(expr)) for name, expr in self.node.columns)
        return {name: below[c] for name, c in kept if c is not None and c in below}

    def propagate(self, inputs: Sequence[WatermarkValues], now: datetime) -> WatermarkValues:
        lowest = ((name, lowest_result(expr, inputs[0], now)) for name, expr in self.node.columns)
        return {name: value for name, value in lowest if value is not None}

    def column_origins(self, inputs: Sequence[Lineage]) -> Lineage:
        return {name: origins_of((expr,), inputs[0]) for name, expr in self.node.columns}

    def input_bounds(self, within: ByColumn[T]) -> Sequence[ByColumn[T]]:
        passed = {name: e.name for name, e in self.node.columns if isinstance(e, ColumnRef)}
        return ({passed[c]: ends for c, ends in within.items() if c in passed},)

    def propagate_highest(
        self, inputs: Sequence[WatermarkValues], now: datetime
    ) -> WatermarkValues:
        top = ((name, highest_result(expr, inputs[0], now)) for name, expr in self.node.columns)
        return {name: value for name, value in top if value is not None}

    def change_bounds(self, inputs: Sequence[Bounds | None]) -> Bounds | None:
        return None if inputs[0] is None else projection_bounds(self.node.columns, inputs[0])

    def column_texts(self, names: Mapping[str, str]) -> list[tuple[str, bool]]:
        """Return the columns in words, each with whether its name is one of its own.

        Hidden columns that are only passed on are left out.
        """
        texts = []
        for name, expr in self.node.columns:
            text = to_text(expr, names)
            if is_hidden(name) and isinstance(expr, ColumnRef):
                continue
            named = text != show_name(name)
            texts.append((f"{show_name(name)}: {text}" if named else text, named))
        return texts

    @property
    def _passed_names(self) -> dict[str, str]:
        """Map columns below to the first column that passes them on."""
        kept: dict[str, str] = {}
        for name, expr in self.node.columns:
            if isinstance(expr, ColumnRef):
                kept.setdefault(expr.name, name)
        return kept

    def _equality_rules(self) -> Iterator[Dependency]:
        """Yield that columns which pass the same one on settle each other."""
        kept = self._passed_names
        for name, expr in self.node.columns:
            if isinstance(expr, ColumnRef) and kept[expr.name] != name:
                yield from each_other(kept[expr.name], name)

    def _expression_rules(self) -> Iterator[Dependency]:
        """Yield that a column which is computed from others is settled by them.

        Not by floating-point columns: 0 and -0 are equal, and what is computed from them is not.
        """
        kept, constants = self._passed_names, self.input.dependencies.constants
        loose = {f.name for f in self.node.input.schema if _is_loose(f.type)}
        for name, expr in self.node.columns:
            if isinstance(expr, ColumnRef) or not is_deterministic(expr):
                continue
            reads = columns_of(expr)
            given = reads - constants
            if not reads & loose and given <= kept.keys():
                yield Dependency(frozenset(kept[c] for c in given), frozenset((name,)))

    def _input_rules(self) -> Iterator[Dependency]:
        """Yield the rules of the input with the names that its columns have here."""
        kept, below = self._passed_names, self.input.dependencies
        for rule in below.rules:
            given = rule.determinant - below.constants
            if given <= kept.keys():
                settled = (kept[c] for c in below.closure(rule.determinant) if c in kept)
                yield Dependency(frozenset(kept[c] for c in given), frozenset(settled))


def _is_loose(type_: SqlType) -> bool:
    """Tell whether equal values of a type may look different."""
    inner = [t for t in (type_.element, type_.key, *(f.type for f in type_.fields)) if t]
    return type_.is_float or type_.kind is Kind.INTERVAL or any(map(_is_loose, inner))
