"""Nodes that pair rows of two inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, TypeGuard

from floodmark.plan.expr.expressions import Cast, ColumnRef, Expr, columns_of
from floodmark.plan.nodes.base import (
    Binary,
    Node,
    PassedColumns,
    check_reads,
    check_unique,
    same_columns,
)
from floodmark.plan.nodes.row_local import Filter, Project
from floodmark.plan.nodes.sources import Scan, scans
from floodmark.scalar.types import Field, Schema


class JoinKind(Enum):
    """Which rows without a match a join keeps."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"

    @property
    def pads_left(self) -> bool:
        """Tell whether the left columns can be padded with NULL."""
        return self in (JoinKind.RIGHT, JoinKind.FULL)

    @property
    def pads_right(self) -> bool:
        """Tell whether the right columns can be padded with NULL."""
        return self in (JoinKind.LEFT, JoinKind.FULL)


@dataclass(frozen=True, slots=True)
class Pairing(Binary):
    """What joins share: equal `equi` columns, and a `residual` that is TRUE for a pair."""

    KINDS: ClassVar[tuple[JoinKind, ...]] = tuple(JoinKind)
    LOOKS_UP: ClassVar[bool] = False
    """Whether the right side is asked once for each left row, and its changes change nothing."""

    kind: JoinKind
    equi: tuple[tuple[str, str], ...]
    residual: Expr | None = None

    def __post_init__(self) -> None:
        assert self.kind in self.KINDS
        both = (*self.left.schema, *self.right.schema)
        check_unique(both)
        check_reads(self, (a for a, _ in self.equi), self.left.schema)
        check_reads(self, (b for _, b in self.equi), self.right.schema)
        if self.residual is not None:
            check_reads(self, columns_of(self.residual), both)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return () if self.residual is None else (self.residual,)

    @property
    def reads(self) -> frozenset[str]:
        tested = map(columns_of, self.expressions)
        return frozenset(c for pair in self.equi for c in pair).union(*tested)

    @property
    def external(self) -> Scan | None:
        """Return the right side's object where its rows are kept elsewhere, and looked up."""
        return None

    @property
    def lookup_columns(self) -> tuple[str, ...] | None:
        """Return the object's columns that `equi` compares, None where one is an expression.

        A whole number is the same one whatever its width.
        """
        names = {b: b for _, b in self.equi}
        node = self.right
        while isinstance(node, Project | Filter):
            if isinstance(node, Project):
                below = {c: _plain_column(e) for c, e in node.columns}
                if None in (below[c] for c in names.values()):
                    return None
                names = {b: below[c] or c for b, c in names.items()}
            node = node.input
        return tuple(names[b] for _, b in self.equi)

    @property
    def keeps_unmatched(self) -> bool:
        """Tell whether a left row without a match is kept."""
        return self.kind.pads_right or self.kind is JoinKind.ANTI

    @property
    def only_existence(self) -> bool:
        """Tell whether it only matters if the right side of a semi or anti join has any row."""
        reduces = self.kind in (JoinKind.SEMI, JoinKind.ANTI)
        read = frozenset[str]() if self.residual is None else columns_of(self.residual)
        return reduces and not self.equi and not read & set(self.right.names)

    def output(self) -> Schema:
        left, right = self.left.schema, self.right.schema
        if self.kind in (JoinKind.SEMI, JoinKind.ANTI):
            return left
        if self.kind.pads_left:
            left = tuple(Field(f.name, f.type) for f in left)
        if self.kind.pads_right:
            right = tuple(Field(f.name, f.type) for f in right)
        return (*left, *right)


@dataclass(frozen=True, slots=True)
class Join(Pairing):
    """Pairs of rows with equal `equi` columns for which `residual` is TRUE; no `equi` = cross."""

    def may_give(self, below: Sequence[bool]) -> bool:
        left, right = below
        alone = (left and self.keeps_unmatched) or (right and self.kind.pads_left)
        return alone or (left and right and self.kind is not JoinKind.ANTI)


@dataclass(frozen=True, slots=True)
class LookupJoin(Pairing):
    """Looks the right side up at the epoch's cut (`FOR SYSTEM_TIME AS OF PROCTIME()`).

    Changes of the right side change nothing that was looked up. `static` promises that the right
    side never changes: a left row that goes is looked up again. Otherwise a left row that goes
    retracts the pairs that were emitted for it:

    - `stored`: the right columns of every pair are kept by the left side's stream key, and the
      right side's where a left row can match several; they are what a retraction carries.
    - not `stored`, and the left side updates: a retraction is not looked up. It passes once, with
      NULL in the right columns, and the owner's table has the row (`StreamOperator.own_table`).
    """

    KINDS = (JoinKind.INNER, JoinKind.LEFT)
    LOOKS_UP = True

    static: bool = False
    stored: bool = False

    @property
    def pushable_columns(self) -> Sequence[PassedColumns | None]:
        return [same_columns(self.left), None]

    def may_give(self, below: Sequence[bool]) -> bool:
        return below[0]

    @property
    def external(self) -> Scan | None:
        return next((scan for scan in scans(self.right) if scan.external), None)


def is_lookup(node: Node) -> TypeGuard[LookupJoin]:
    """Tell whether a node asks its right side once for each left row."""
    return isinstance(node, Pairing) and node.LOOKS_UP


def _plain_column(expr: Expr) -> str | None:
    match expr:
        case ColumnRef():
            return expr.name
        case Cast(operand=ColumnRef() as column) if expr.type.is_integer and column.type.is_integer:
            return column.name
        case _:
            return None
