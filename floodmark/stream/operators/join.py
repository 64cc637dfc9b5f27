"""Join: pairs of rows that are there on both sides, and rows without a match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.determinism import is_deterministic
from floodmark.plan.expr.expressions import columns_of
from floodmark.plan.rules.interval_join import distances, shift_to_kind
from floodmark.scalar.functions.comparison import order_key
from floodmark.stream.operators.base import Key, WatermarkValues
from floodmark.stream.operators.pairing import (
    REDUCING,
    StreamPairing,
    pair_key,
    unsupported_subquery,
)
from floodmark.stream.operators.texts import side_lines
from floodmark.stream.printing.description import Description, NodePlace
from floodmark.stream.printing.labels import Labels
from floodmark.stream.properties.bounds import Bounds, ByColumn, T, enclosing, restrict_bounds
from floodmark.stream.properties.cleaning import Cleaning, join_cleaning
from floodmark.stream.properties.determinism_check import NONE, Cause, Columns, DeterminismCheck
from floodmark.stream.properties.dynamic_filter import is_dynamic_filter
from floodmark.stream.properties.functional_dependencies import Dependency
from floodmark.stream.properties.key_sets import KeySet
from floodmark.stream.properties.nondeterministic_exprs import (
    nondeterministic_exprs,
    nontemporal_exprs,
)
from floodmark.stream.properties.state import OwnTableState, StateTable
from floodmark.stream.properties.strategy import (
    Method,
    RecomputeMatches,
    RecomputeScopes,
    ScopeKind,
    Strategy,
)
from floodmark.stream.properties.watermark import (
    WatermarkPair,
    Watermarks,
    merge_groups,
    restrict_watermarks,
)
from floodmark.stream.properties.watermark_values import values_among


class StreamJoin(StreamPairing[n.Join]):
    """Pairs of an inner join by exact delta; padded rows and matches are recomputed by key."""

    NODE = n.Join

    @property
    def lasts(self) -> bool:
        return True

    @staticmethod
    def key_of(node: n.Join, keys: tuple[Key, ...]) -> Key:
        return pair_key(node, keys, lasts=True)

    def derive_mode(self) -> ChangelogMode:
        appends = all(side.append_only for side in self.inputs)
        inner = self.node.kind is n.JoinKind.INNER
        return ChangelogMode.APPEND_ONLY if inner and appends else ChangelogMode.RETRACT

    def derive_insert_only(self) -> bool:
        unpadded = self.node.kind in (n.JoinKind.INNER, n.JoinKind.SEMI)
        return unpadded and all(side.insert_only for side in self.inputs)

    def derive_watermarks(self) -> Watermarks:
        """An equi pair with a watermark on both sides carries the minimum, where it is not padded.

        So does a time that the condition keeps at a distance of one of the other side.
        """
        node = self.node
        lefts, rights = ({w.column: w.group for w in side.watermarks} for side in self.inputs)
        columns: list[n.WatermarkColumn] = []
        pairs: list[WatermarkPair] = []
        for a, b in node.equi:
            if a not in lefts or b not in rights:
                continue
            group = merge_groups((lefts[a], rights[b]))
            padded = ((a, node.kind.pads_left), (b, node.kind.pads_right))
            columns += [n.WatermarkColumn(c, group) for c, pads in padded if not pads]
            if node.kind.pads_left or node.kind.pads_right:
                pairs.append(WatermarkPair(a, b, group))
        both, done = lefts | rights, {w.column for w in columns}
        for far in distances(node):
            if far.column not in done and far.column in both and far.other in both:
                group = merge_groups((both[far.column], both[far.other]))
                columns.append(n.WatermarkColumn(far.column, group))
                done.add(far.column)
        return restrict_watermarks(Watermarks(tuple(columns), tuple(pairs)), node.names)

    def derive_dependencies(self) -> Sequence[Dependency]:
        """Of rows that agree in the compared columns of a kept side all have a match, or none."""
        node, rules = self.node, list(super().derive_dependencies())
        one_sided = node.kind in (n.JoinKind.LEFT, n.JoinKind.RIGHT)
        if one_sided and node.residual is None and node.equi:
            ours, theirs = (frozenset(side) for side in zip(*node.equi, strict=True))
            given, settled = (ours, theirs) if node.kind is n.JoinKind.LEFT else (theirs, ours)
            rules.append(Dependency(given, settled))
        return rules

    def derive_upsert_keys(self) -> Sequence[KeySet]:
        """Flink spreads both sides by the compared columns: a key without them is none."""
        lefts = frozenset(a for a, _ in self.node.equi)
        rights = frozenset(b for _, b in self.node.equi)
        left, right = (side.upsert_keys for side in self.inputs)
        return self.upsert_keys_of(
            tuple(key for key in left if key >= lefts),
            tuple(key for key in right if key >= rights),
            unique_left=any(key <= lefts for key in left),
            unique_right=any(key <= rights for key in right),
        )

    def derive_arrangement(self) -> bool:
        exact = self.node.residual is None or is_deterministic(self.node.residual)
        return exact and all(side.has_arrangement for side in self.inputs)

    def derive_cleaning(self) -> tuple[Cleaning | None, ...]:
        return join_cleaning(self.node, self.left.watermark_names, self.right.watermark_names)

    def derive_strategy(self) -> Strategy:
        pairs = self.node.equi
        match self.node.kind:
            case n.JoinKind.INNER:
                return Method.EXACT
            case n.JoinKind.SEMI if is_dynamic_filter(self.node):
                return Method.DYNAMIC_FILTER
            case n.JoinKind.SEMI | n.JoinKind.ANTI:
                return RecomputeMatches("left", pairs, pads=False)
            case n.JoinKind.LEFT:
                return RecomputeMatches("left", pairs, pads=True)
            case n.JoinKind.RIGHT:
                return RecomputeMatches("right", tuple((b, a) for a, b in pairs), pads=True)
            case n.JoinKind.FULL:
                return RecomputeScopes(ScopeKind.KEYS, _meeting_columns(pairs))

    def derive_needs_all_rows(self) -> bool:
        return True

    def derive_beside(self) -> OwnTableState | None:
        return None

    def derive_state(self) -> tuple[StateTable, ...]:
        return self.arrangements(*(tuple(p[i] for p in self.node.equi) for i in (0, 1)))

    def propagate(self, inputs: Sequence[WatermarkValues], now: datetime) -> WatermarkValues:
        """Return the bounds of pairs; of several for one column each holds, so the highest."""
        left, right = inputs
        types = {f.name: f.type for side in self.node.inputs for f in side.schema}
        out: dict[str, Any] = {}

        def hold(column: str, *values: Any) -> None:
            rank = partial(order_key, type_=types[column])
            bound = min(values, key=rank)
            out[column] = max((out.get(column, bound), bound), key=rank)

        for a, b in self.node.equi:
            if a in left and b in right:
                hold(a, left[a], right[b])
                hold(b, left[a], right[b])
        both = {**left, **right}
        for far in distances(self.node):
            if far.column in both and far.other in both:
                least = shift_to_kind(both[far.other], far.by, far.kind)
                hold(far.column, both[far.column], least)
        return values_among(out, self.names)

    def input_bounds(self, within: ByColumn[T]) -> Sequence[ByColumn[T]]:
        """Return the bounds of each side.

        A side that can be padded is bounded by its keys only: without a row that it has, the other
        side's rows would be padded.
        """
        node, kind = self.node, self.node.kind
        keys_left = {a: within[b] for a, b in node.equi if b in within and not kind.pads_right}
        keys_right = {b: within[a] for a, b in node.equi if a in within and not kind.pads_left}
        left, right = (restrict_bounds(within, side.names) for side in self.inputs)
        return (
            keys_left if kind.pads_left else {**keys_left, **left},
            keys_right if kind.pads_right else {**keys_right, **right},
        )

    def change_bounds(self, inputs: Sequence[Bounds | None]) -> Bounds | None:
        """Return the bounds of the changes: of keys those of both sides.

        Where one side alone changes, that side's values are known unless they are padding in a row
        that comes or goes with them; its partners' are unknown.
        """
        left, right = inputs
        kind = self.node.kind
        if left is None and right is None:
            return None
        out: dict[str, tuple[Any, Any]] = {}
        if right is None and left is not None and not kind.pads_left:
            out.update(left)
        if left is None and right is not None and not kind.pads_right:
            out.update(right)
        for a, b in self.node.equi:
            both = enclosing([s.get(c) for s, c in ((left, a), (right, b)) if s is not None])
            if both is not None:
                out |= {} if kind.pads_left else {a: both}
                out |= {} if kind.pads_right else {b: both}
        return restrict_bounds(out, self.names)

    def describe(self, names: Mapping[str, str], place: NodePlace) -> Description:
        head = self.head(names)
        return Description(head.operator, head.arguments, (*head.details, *side_lines(self, place)))

    @property
    def title(self) -> str:
        return f"the {self.node.kind.value.lower()} join"

    def advise(self, labels: Labels) -> Sequence[tuple[str, str]]:
        text = f"{self.identifier} pairs every row with every row: it has no equality"
        return () if self.node.equi or self._asks_one_row() else (("A105", text),)

    def _asks_one_row(self) -> bool:
        """Tell whether one row of a side is all that a join without an equality asks for."""
        residual = self.node.residual
        read = frozenset[str]() if residual is None else columns_of(residual)
        reduces = self.node.kind in REDUCING and not read & set(self.right.names)
        return reduces or any(not side.stream_key for side in self.inputs)

    def check_determinism(
        self, required: Columns, needed: Columns, check: DeterminismCheck
    ) -> None:
        node = self.node
        updates = not (check.appends(node.left) and check.appends(node.right))
        unpadded = node.kind in (n.JoinKind.INNER, n.JoinKind.SEMI)
        called = () if node.residual is None else nondeterministic_exprs((node.residual,))
        if check.strict and node.residual is not None and node.kind is n.JoinKind.INNER:
            called = nontemporal_exprs(node.residual)
        if called and (updates or not unpadded):
            check.report(Cause.CONDITION, node, (), called)
        tested = NONE if node.residual is None else columns_of(node.residual)
        for side, keys in ((node.left, 0), (node.right, 1)):
            used = tested | {pair[keys] for pair in node.equi}
            names = frozenset(side.names)
            wanted = (needed | used) & names
            part = (required & names) | (check.also(used) & names)
            check.hand(side, part if check.keys(side, wanted) else wanted, wanted)

    def unsupported_part(self) -> str | None:
        return unsupported_subquery(self.node)


def _meeting_columns(equi: Sequence[tuple[str, str]]) -> tuple[Key, Key]:
    """Return the columns of each side by which rows meet, none twice: the other pairs only narrow.

    `ON a = b AND a = c` is true of a column twice.
    """
    pairs: list[tuple[str, str]] = []
    for a, b in equi:
        if all(a != c and b != d for c, d in pairs):
            pairs.append((a, b))
    return tuple(a for a, _ in pairs), tuple(b for _, b in pairs)
