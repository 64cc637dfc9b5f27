"""What joins and lookups share: keys and dependencies of pairs of rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from floodmark.plan import nodes as n
from floodmark.plan.expr.determinism import is_volatile
from floodmark.plan.expr.expressions import Expr, UserCall, columns_of, walk
from floodmark.plan.expr.injective import injective_column
from floodmark.plan.expr.printing import to_text
from floodmark.stream.operators.base import Key, StreamOperator, WatermarkValues
from floodmark.stream.operators.texts import first_unstable, fit_head
from floodmark.stream.printing.description import Description
from floodmark.stream.properties.functional_dependencies import (
    Dependencies,
    Dependency,
    each_other,
    equalities,
)
from floodmark.stream.properties.highest_values import highest_of_inputs
from floodmark.stream.properties.key_sets import Keys, KeySet, with_equals
from floodmark.stream.properties.lineage import Lineage
from floodmark.stream.properties.monotonicity import Origins
from floodmark.stream.properties.stream_key import distinct, left_row, tells_padding

P = TypeVar("P", bound=n.Pairing, covariant=True)
REDUCING = (n.JoinKind.SEMI, n.JoinKind.ANTI)
"""The kinds that keep or drop left rows, and show no right one."""


class StreamPairing(StreamOperator[P], family=True):
    """Pairs of a left and a right row.

    A property of the right side does not always hold for the pairs: a right row of a lookup may
    change before the next left row finds it.
    """

    @property
    @abstractmethod
    def lasts(self) -> bool:
        """Tell whether all pairs are of the same right rows: those at one time."""

    def derive_dependencies(self) -> Sequence[Dependency]:
        """Return the dependencies of the pairs: those of each side, and the join's equalities."""
        node = self.node
        rules = _side_rules(self.left.dependencies, node.left, padded=node.kind.pads_left)
        if node.kind in REDUCING:
            return rules
        if self.lasts:
            rules += _side_rules(self.right.dependencies, node.right, padded=node.kind.pads_right)
        if node.kind is n.JoinKind.INNER:
            rules += [rule for a, b in node.equi for rule in each_other(a, b)]
            rules += [] if node.residual is None else equalities(node.residual)
        return rules

    def derive_unique_keys(self) -> Sequence[KeySet]:
        """Return the unique keys of the pairs.

        One side's key is enough where the other side matches at most once and the side is never
        padded. Columns of an equality stand for each other, except on a padded side.
        """
        node, left, right = self.node, self.left.unique_keys, self.right.unique_keys
        if node.kind in REDUCING:
            return left
        lefts, rights = {a for a, _ in node.equi}, {b for _, b in node.equi}
        keys = _both(node, left, right)
        if not node.kind.pads_left and any(key <= rights for key in right):
            keys += left
        once = not node.kind.pads_right and any(key <= lefts for key in left)
        if once and self.lasts:
            keys += right
        padded = node.kind.pads_left or node.kind.pads_right
        return keys if padded else with_equals(keys, node.equi)

    def upsert_keys_of(
        self, left: Keys, right: Keys, *, unique_left: bool, unique_right: bool
    ) -> Sequence[KeySet]:
        """Return Flink's keys of the pairs; `unique_…` tell which side is matched once at most."""
        node = self.node
        if node.kind in REDUCING:
            return left
        keys = [a | b for a in left for b in right]
        if unique_right and not node.kind.pads_left:
            keys += left
        if unique_left and not node.kind.pads_right:
            keys += right
        return _substitute_equals(node, keys)

    def derive_uses(self) -> int:
        return 4

    def column_origins(self, inputs: Sequence[Lineage]) -> Lineage:
        left, right = inputs
        both = {**left, **right}
        return {name: both[name] for name in self.names}

    def derive_monotone(self) -> Origins:
        left = {} if self.node.kind.pads_left else self.left.monotone
        right = {} if self.node.kind.pads_right else self.right.monotone
        both = {**left, **right}
        return {c: both[c] for c in self.names if c in both}

    @property
    def released_by(self) -> tuple[StreamOperator[n.Node], str] | None:
        return None

    def other_bound(self, column: str) -> str | None:
        return None

    def propagate_highest(
        self, inputs: Sequence[WatermarkValues], now: datetime
    ) -> WatermarkValues:
        return highest_of_inputs(inputs, self.names)

    def head(self, names: Mapping[str, str]) -> Description:
        """Return the kind and the condition in words."""
        node = self.node
        pairs = [f"{names[a]} = {names[b]}" for a, b in node.equi]
        where = [to_text(node.residual, names, in_and=bool(pairs))] if node.residual else []
        if not pairs and not where:
            arguments = "cross" if node.kind is n.JoinKind.INNER else f"{node.kind.value} on true"
        else:
            arguments = f"{node.kind.value} on {' AND '.join([*pairs, *where])}"
        return fit_head(type(node).__name__, arguments)

    def unstable_expression(self) -> Expr | None:
        return first_unstable(() if self.node.residual is None else (self.node.residual,))


def pair_key(node: n.Pairing, keys: tuple[Key, ...], *, lasts: bool) -> Key:
    """Return the stream key of pairs.

    A side whose rows have at most one partner identifies the pair alone. Otherwise the key has both
    keys and the equi columns; of two equal columns it has the preserved one, or the left one. A row
    that was looked up may have changed before the next one finds it: its key alone tells nothing.
    """
    left, right = keys
    if node.kind in REDUCING:
        return left
    left_equi = _injective_columns(node.left, {a for a, _ in node.equi})
    right_equi = _injective_columns(node.right, {b for _, b in node.equi})
    if set(right) <= right_equi and not node.kind.pads_left:
        return left
    if lasts and set(left) <= left_equi and not node.kind.pads_right:
        return right
    if node.kind is n.JoinKind.FULL:
        note = () if (column := left_row(node)) is None else (column,)
        return distinct(*note, *left, *right, *(c for pair in node.equi for c in pair))
    if node.kind is n.JoinKind.RIGHT:
        stands_for = dict(node.equi)
        return distinct(*(stands_for.get(c, c) for c in left), *right, *(b for _, b in node.equi))
    stands_for = {b: a for a, b in node.equi}
    return distinct(*left, *(stands_for.get(c, c) for c in right), *(a for a, _ in node.equi))


def unsupported_subquery(node: n.Pairing) -> str | None:
    """Return what Spark cannot ask of a pair: it asks for one row at a time, or above the join."""
    if node.residual is None:
        return None
    if is_volatile(node.residual):
        return "a volatile condition of an outer join that reads both sides"
    calls = (part for part in walk(node.residual) if isinstance(part, UserCall))
    sides = [set(side.names) for side in node.inputs]
    if node.kind is not n.JoinKind.INNER and any(
        all(columns_of(call) & side for side in sides) for call in calls
    ):
        return "a condition of an outer join in which a function of yours takes both sides"
    return None


def _injective_columns(node: n.Node, columns: set[str]) -> set[str]:
    """Return the columns, and those that they are injective casts of: `ON q.big = u.k::bigint`."""
    if not isinstance(node, n.Project):
        return columns
    origins = {name: injective_column(expr) for name, expr in node.columns}
    known = {origin for name in columns if (origin := origins[name]) is not None}
    below = _injective_columns(node.input, known)
    return columns | {name for name, origin in origins.items() if origin in below}


def _both(node: n.Pairing, left: Keys, right: Keys) -> list[KeySet]:
    """Return both keys; of a full join only where two padded rows cannot both have NULL in all."""
    keys = [a | b for a in left for b in right]
    if node.kind is not n.JoinKind.FULL:
        return keys
    note = left_row(node)
    with_side = [key if note is None else key | {note} for key in keys]
    return [k for k in (*keys, *with_side) if note in k or tells_padding(node, k)]


def _side_rules(side: Dependencies, node: n.Node, *, padded: bool) -> list[Dependency]:
    """Return a side's rules; of a padded one those that NULLs follow, too.

    They do where a given column is NULL in padded rows alone.
    """
    never = {f.name for f in node.schema if not f.nullable}
    return [rule for rule in side.rules if not padded or rule.determinant & never]


def _substitute_equals(node: n.Pairing, keys: list[KeySet]) -> list[KeySet]:
    """Close the keys under the join's equalities, never onto a column that can be padded."""
    if node.kind is n.JoinKind.INNER:
        return with_equals(keys, node.equi)
    preserved = {
        n.JoinKind.LEFT: set(node.left.names),
        n.JoinKind.RIGHT: set(node.right.names),
    }.get(node.kind, set())
    both = with_equals(keys, node.equi)
    return [key for key in both if key in keys or _new_columns(key, keys) <= preserved]


def _new_columns(key: KeySet, keys: list[KeySet]) -> KeySet:
    """Return the columns that a substitution brought in, seen from the nearest original key."""
    return min((key - known for known in keys), key=len)
