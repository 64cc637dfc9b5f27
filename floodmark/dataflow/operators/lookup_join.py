"""Lookup join: each left row is joined with the right side as of the epoch in which it comes.

Changes of the right side change nothing that was looked up. A new left row is looked up once. A
left row that goes takes back the pairs that were stored for it. Where the object's own table has
these pairs, the row travels as its key (`Rows.replacing`) up to the root. Where the right side
promises never to change, it is looked up again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from floodmark.changelog import EPOCH, ERROR, WEIGHT
from floodmark.connectors.lookup.rows import keys_of
from floodmark.dataflow.context import EpochContext, Input
from floodmark.dataflow.operators.join import failing_residual, inner_or_left_join, nulls
from floodmark.dataflow.stored_values import consolidate, expired_values, replaced_rows
from floodmark.plan import nodes as n
from floodmark.scalar.types import BIGINT, Field, Schema
from floodmark.spark import keyed
from floodmark.spark.rows import ERROR_FIELD, ERROR_TYPE, Rows, epoch_expr
from floodmark.spark.types import ident
from floodmark.stream.operators.lookup_join import StreamLookupJoin
from floodmark.stream.properties.state import StateTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_NO_ERROR = f"CAST(NULL AS {ERROR_TYPE}) AS {ERROR}"


def delta(op: StreamLookupJoin, inputs: Sequence[Input], ctx: EpochContext) -> Rows | None:
    """Return the changes of the join."""
    left, right = inputs
    rows, frame = left.rows, consolidate(left)
    if rows is None or frame is None:
        return None
    lookup = _Lookup(op, left, right, ctx)
    if op.looked_up is not None:
        return lookup.from_state(op.looked_up, frame, inserts=rows.inserts)
    if rows.inserts or left.operator.append_only:
        return lookup.rows(lookup.pairs(frame, before=False), inserts=rows.inserts)
    if op.own_table:
        return lookup.keys_and_new_rows(rows, frame)
    assert op.node.static and not rows.replacing, op.node
    return lookup.again(frame)


@dataclass(frozen=True)
class _Lookup:
    """A lookup join in one epoch."""

    op: StreamLookupJoin
    left: Input
    right: Input
    ctx: EpochContext

    @property
    def node(self) -> n.LookupJoin:
        """Return the logical join."""
        return self.op.node

    @property
    def may_fail(self) -> bool:
        """Tell whether ON can refuse a pair."""
        return failing_residual(self.node, self.ctx.now) is not None

    def rows(self, *parts: DataFrame | None, inserts: bool = False) -> Rows | None:
        """Return pairs as changes; None where there are none."""
        present = [part for part in parts if part is not None]
        if not present:
            return None
        both = reduce(lambda a, b: a.unionAll(b), present)
        return Rows(both, failing=self.may_fail, inserts=inserts)

    def pairs(self, left: DataFrame, *, before: bool) -> DataFrame | None:
        """Return the pairs of left rows, and their padding; None where there are none."""
        node, now = self.node, self.ctx.now
        if node.external is not None:
            return inner_or_left_join(node, left, self._fetch(node.external, left), now)
        lie = self.left.bounds
        within = {b: lie[a] for a, b in node.equi if a in lie}
        right = self.right.rows_before(within) if before else self.right.rows_after(within)
        if right is not None and node.kind is n.JoinKind.LEFT and self.ctx.inputs.few:
            right = _rows_of_keys(node, left, right)
        return inner_or_left_join(node, left, right, now)

    def _fetch(self, scan: n.Scan, left: DataFrame) -> DataFrame | None:
        """Ask what is kept elsewhere for the left rows' keys; stored pairs keep the answer, too."""
        node, ctx = self.node, self.ctx
        assert node.lookup_columns is not None
        table, kept = self.op.fetched, self.op.looked_up is None
        rows = ctx.stages.lookup_rows(table.name, ctx.inputs.lookup(scan), scan.columns, kept=kept)
        asked = [a for a, _ in node.equi]
        fetched = rows.fetch(lambda: keys_of(left, asked), node.lookup_columns)
        return None if fetched is None else self.right.rows_from_scan(fetched)

    def keys_and_new_rows(self, rows: Rows, frame: DataFrame) -> Rows:
        """Return old rows as their keys: the object's own table has their pairs."""
        new = self.pairs(frame.where(f"{WEIGHT} > 0"), before=False)
        old = self._pad(frame.where(f"{WEIGHT} < 0"))
        both = old if new is None else old.unionAll(new)
        assert not self.may_fail
        unknown = rows.unknown | frozenset(self.node.right.names)
        return Rows(both, replacing=True, unknown=unknown)

    def _pad(self, left: DataFrame) -> DataFrame:
        """Return left rows with NULL in the right columns."""
        error = [_NO_ERROR] if self.may_fail else []
        columns = [*map(ident, self.node.left.names), *nulls(self.node.right)]
        return left.selectExpr(*columns, WEIGHT, *error)

    def again(self, frame: DataFrame) -> Rows | None:
        """Look old rows up as they were, before the epoch: a table may be filled meanwhile."""
        if all(self.ctx.inputs.bounds(scan) is None for scan in n.scans(self.node.right)):
            return self.rows(self.pairs(frame, before=False))
        new = self.pairs(frame.where(f"{WEIGHT} > 0"), before=False)
        return self.rows(new, self.pairs(frame.where(f"{WEIGHT} < 0"), before=True))

    def from_state(self, table: StateTable, frame: DataFrame, *, inserts: bool) -> Rows | None:
        """Store the pairs of new rows by the left side's key; old rows take theirs back."""
        ctx = self.ctx
        schema = _schema(self.node, table.key, table.cleaned_by)
        state = ctx.stages.value_table(table.name, schema)
        new, old = frame.where(f"{WEIGHT} > 0"), frame.where(f"{WEIGHT} < 0")

        def fresh() -> DataFrame:
            pairs = self.pairs(new, before=False)
            if pairs is None:
                pairs = self._pad(new.where("FALSE"))
            names = [ident(f.name) for f in schema if f.name not in (ERROR, EPOCH)]
            error = ERROR if self.may_fail else _NO_ERROR
            return pairs.selectExpr(*names, error, epoch_expr(state.epoch))

        leaving = replaced_rows(self.left, frame, ctx)
        before = None if ctx.inputs.fills else state.rows_before(leaving.within)
        stored = state.keep(fresh, leaving, expired_values(self.left, table.cleaned_by, ctx))
        sides = ((new, stored), (old, before))
        parts = [self._find_pairs(rows, kept) for rows, kept in sides if kept is not None]
        return self.rows(*parts, inserts=inserts)

    def _find_pairs(self, left: DataFrame, stored: DataFrame) -> DataFrame:
        """Return the pairs that are stored for left rows."""
        rights = [ident(c) for c in self.node.right.names]
        error = [ERROR] if self.may_fail else []
        key = self.left.operator.stream_key
        paired = keyed.inner_join(left, stored, key, [*rights, *error])
        return paired.selectExpr(*map(ident, self.op.names), WEIGHT, *error)


def _rows_of_keys(node: n.LookupJoin, left: DataFrame, right: DataFrame) -> DataFrame:
    """Return the right rows of the left rows' keys.

    Spark cannot broadcast the preserved side of an outer join: it would shuffle the whole right.
    """
    from pyspark.sql import functions as F

    names = [(a, b, f"__k{i}") for i, (a, b) in enumerate(node.equi)]
    keys = left.selectExpr(*(f"{ident(a)} AS {k}" for a, _, k in names)).distinct()
    condition = " AND ".join(f"{ident(b)} = {k}" for _, b, k in names)
    return right.join(F.broadcast(keys), F.expr(condition), "left_semi")


def _schema(node: n.LookupJoin, key: tuple[str, ...], cleaned_by: str | None) -> Schema:
    carried = [node.left.field(c) for c in key]
    if cleaned_by is not None and cleaned_by not in key:
        carried.append(node.left.field(cleaned_by))
    rights = [Field(f.name, f.type) for f in node.right.schema]
    return (*carried, *rights, ERROR_FIELD, Field(EPOCH, BIGINT, nullable=False))
