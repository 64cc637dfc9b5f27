"""The inputs of one join, and which of their rows it reads again."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from floodmark.dataflow.context import EpochContext, Input, keys_to_read
from floodmark.dataflow.key_sets import ALL_KEYS, KeySets, key_sets, select_values
from floodmark.dataflow.key_sources import scan_columns
from floodmark.plan.rules.interval_join import all_distances
from floodmark.stream.operators.join import StreamJoin
from floodmark.stream.properties.bounds import Bounds, hull
from floodmark.stream.properties.strategy import Method, RecomputeMatches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class JoinSides:
    """What a join asks of its inputs in one epoch; None is an empty relation.

    `kept` is the side whose rows are kept, padded or not, `other` the other one. `matches` says for
    which of its rows matches are recomputed; None where none are.
    """

    def __init__(self, op: StreamJoin, left: Input, right: Input, ctx: EpochContext) -> None:
        self.op = op
        self.node = op.node
        self.ctx = ctx
        how = op.strategy
        self.matches = how if isinstance(how, RecomputeMatches) else None
        self._is_exact = how is Method.EXACT
        keeps_right = self.matches is not None and self.matches.kept == "right"
        self.kept, self.other = (right, left) if keeps_right else (left, right)
        self._pairs = op.node.equi if self.matches is None else self.matches.pairs

    def delta(self, side: Input) -> DataFrame | None:
        """Return the changes of an input without failing rows.

        They are written first where they are read again: for keys, or for the matches of the other
        side. So are those that were joined and meet a large table: Spark has to know that they are
        few, to send them to its rows.
        """
        if side.rows is None:
            return None
        sides = (self.kept, self.other)
        keys = {read: self._keys(read, side) for read in sides}
        again = any(select_values(of) for of in keys.values())
        again |= self.matches is not None and side is self.other
        if not again and not side.operator.is_scanned and not self.ctx.inputs.fills:
            again = any(self.reads_whole(read, side) for read in sides if read is not side)
        return side.materialize() if again else side.single_use()

    def reads_whole(self, side: Input, near: Input) -> bool:
        """Tell whether a large table is read whole for an input's rows that match changes."""
        return not side.finds(self._keys(side, near))

    def old(self, side: Input, near: Input) -> DataFrame | None:
        """Return the input's rows before the epoch, at least those that match changes of `near`."""
        return side.rows_before(self._matching(side), self._keys(side, near))

    def new(self, side: Input, near: Input) -> DataFrame | None:
        """Return the input's rows after the epoch, at least those that match changes of `near`."""
        if self.ctx.inputs.fills:
            return side.initial_rows()
        return side.rows_after(self._matching(side), self._keys(side, near))

    def _keys(self, side: Input, near: Input) -> KeySets:
        """Return the keys by which an input is read for changes of `near`."""
        columns = [(self._column(pair, side), self._column(pair, near)) for pair in self._pairs]
        if near.rows is None or not columns:
            return ALL_KEYS
        if self._meets_once(side, near):
            return ALL_KEYS

        def look() -> KeySets:
            changes = None if side is near and self.matches is None else near.materialize()
            return ALL_KEYS if changes is None else key_sets(changes, columns)

        return keys_to_read(side, {mine: [(near, theirs)] for mine, theirs in columns}, look)

    def _column(self, pair: tuple[str, str], side: Input) -> str:
        return pair[0] if side is self.kept else pair[1]

    def _meets_once(self, side: Input, near: Input) -> bool:
        """Tell whether rows of a table meet changes of another one here alone.

        Then one pass over them is all there is; the changes are broadcast as they are.
        """
        if self.matches is not None or not side.operator.is_scanned:
            return False
        reads, inputs = self.ctx.keyed_reads, self.ctx.inputs
        mine = [self._column(pair, side) for pair in self._pairs]
        found = (at for column in mine for at in scan_columns(side.operator, column))
        return near.operator.is_scanned and not any(reads.is_shared(inputs, *at) for at in found)

    def keep(self) -> None:
        """Record both arrangements, also where the join did not need their new rows."""
        for side in (self.kept, self.other):
            side.keep(self._matching(side))

    def _matching(self, side: Input) -> Bounds:
        """Return where the keys lie for which an input is read again: those that change.

        By exact delta a side is read for the other one's changes; matches depend on both.
        """
        mine, theirs = self.kept.bounds, self.other.bounds
        of_kept = {b: mine[a] for a, b in self._pairs if a in mine}
        of_other = {b: theirs[b] for _, b in self._pairs if b in theirs}
        equal = {a: of_other[b] for a, b in self._pairs if b in of_other}
        if self._is_exact:
            return {**self._near(side), **(equal if side is self.kept else of_kept)}
        if side is self.kept:
            return equal
        sides = ((self.kept, of_kept), (self.other, of_other))
        return hull([b for changed, b in sides if changed.rows is not None])

    def _near(self, side: Input) -> Bounds:
        """Return where times lie that are at a distance from those that change beside them."""
        lie = (self.other if side is self.kept else self.kept).bounds
        lows: dict[str, Any] = {}
        highs: dict[str, Any] = {}
        with suppress(OverflowError):
            for far in all_distances(self.node):
                if far.is_in_time and far.other in lie:
                    lows[far.column] = far.least(lie[far.other][0])
                if far.is_in_time and far.column in lie:
                    highs[far.other] = far.greatest(lie[far.column][1])
        own = (c for c in lows if c in highs and c in side.operator.names)
        return {c: (lows[c], highs[c]) for c in own}
