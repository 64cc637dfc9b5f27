"""Nodes that combine inputs whose columns meet by position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from floodmark.changelog import is_hidden
from floodmark.plan.nodes.base import (
    Binary,
    Node,
    PassedColumns,
    alike_columns,
    columns_by_position,
)
from floodmark.scalar.types import BIGINT, Field, Schema


@dataclass(frozen=True, slots=True)
class UnionAll(Node):
    """All rows of all inputs; inputs have equal schemas, `ordinal` names the hidden input index."""

    branches: tuple[Node, ...]
    ordinal: str

    def __post_init__(self) -> None:
        first = [(f.name, f.type) for f in self.branches[0].schema]
        assert all([(f.name, f.type) for f in b.schema] == first for b in self.branches[1:])

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.branches

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        return replace(self, branches=tuple(inputs))

    @property
    def positional_columns(self) -> Sequence[tuple[str, ...]]:
        return [branch.names for branch in self.branches]

    @property
    def pushable_columns(self) -> Sequence[PassedColumns]:
        first = self.branches[0].schema
        return [columns_by_position(first, b.schema) for b in self.branches]

    def output(self) -> Schema:
        merged = tuple(
            Field(fields[0].name, fields[0].type, any(f.nullable for f in fields))
            for fields in zip(*(b.schema for b in self.branches), strict=True)
        )
        return (*merged, Field(self.ordinal, BIGINT, nullable=False))


class SetKind(Enum):
    """The set operations besides UNION ALL."""

    INTERSECT = "intersect"
    EXCEPT = "except"


@dataclass(frozen=True, slots=True)
class SetOperation(Binary):
    """INTERSECT or EXCEPT [ALL]; the visible columns meet by position, hidden ones take no part.

    Of ALL, `copy` names the hidden number, from 1, of each of the rows that are equal.
    """

    kind: SetKind
    all: bool
    copy: str = field(default="__copy", kw_only=True)

    def __post_init__(self) -> None:
        left, right = ([f.type for f in _visible(side)] for side in self.inputs)
        assert left == right, f"the sides differ: {left} and {right}"

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return the columns of the left and the right side that meet."""
        return tuple(zip(*self.positional_columns, strict=True))

    @property
    def positional_columns(self) -> Sequence[tuple[str, ...]]:
        return [tuple(f.name for f in _visible(side)) for side in self.inputs]

    @property
    def identity_columns(self) -> Sequence[tuple[str, ...]]:
        return [side.names for side in self.inputs]

    @property
    def pushable_columns(self) -> Sequence[PassedColumns]:
        left, right = (_visible(side) for side in self.inputs)
        return [alike_columns(columns_by_position(left, own)) for own in (left, right)]

    def may_give(self, below: Sequence[bool]) -> bool:
        return below[0] if self.kind is SetKind.EXCEPT else all(below)

    def output(self) -> Schema:
        shown = _visible(self.left)
        return (*shown, Field(self.copy, BIGINT, nullable=False)) if self.all else shown


def _visible(node: Node) -> Schema:
    return tuple(f for f in node.schema if not is_hidden(f.name))
