"""What every node is, and the two shapes most of them have: one input, or a left and a right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace

from floodmark.errors import Span
from floodmark.plan.expr.expressions import ColumnRef, Expr
from floodmark.scalar.types import Field, Schema


@dataclass(frozen=True, slots=True)
class Node:
    """A relational operator; `span` is where it stands in the SQL.

    A node keeps its columns and its hash: plans are deep, and both are asked for at every level.
    """

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)
    _schema: Schema | None = field(default=None, init=False, compare=False, repr=False)
    _hash: int | None = field(default=None, init=False, compare=False, repr=False)

    def __init_subclass__(cls) -> None:
        # Each dataclass would make a hash of its own, that walks the whole plan at each call.
        cls.__hash__ = Node.__hash__  # type: ignore[method-assign]

    def __hash__(self) -> int:
        if self._hash is None:
            compared = tuple(getattr(self, f.name) for f in fields(self) if f.compare)
            object.__setattr__(self, "_hash", hash((type(self), compared)))
        assert self._hash is not None
        return self._hash

    @property
    def inputs(self) -> tuple[Node, ...]:
        """Return the input nodes, left to right."""
        return ()

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """Return the node over other inputs, as many as it has."""
        assert not inputs
        return self

    @property
    def schema(self) -> Schema:
        """Return the output columns."""
        if self._schema is None:
            object.__setattr__(self, "_schema", self.output())
        assert self._schema is not None
        return self._schema

    def output(self) -> Schema:
        """Derive the output columns from those of the inputs."""
        raise NotImplementedError

    def field(self, name: str) -> Field:
        """Return the output column of that name."""
        return next(f for f in self.schema if f.name == name)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the output columns."""
        return tuple(f.name for f in self.schema)

    @property
    def identity(self) -> tuple[tuple[str, Expr], ...]:
        """Return the columns as a projection has them that passes all on."""
        return tuple((f.name, ColumnRef(f.type, f.name)) for f in self.schema)


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """A node over one input; its columns are the input's unless it says otherwise."""

    input: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        (child,) = inputs
        return replace(self, input=child)

    def output(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """A node over a left and a right input."""

    left: Node
    right: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        left, right = inputs
        return replace(self, left=left, right=right)


def check_unique(schema: Schema) -> None:
    """Fail where two columns have one name."""
    names = [f.name for f in schema]
    assert len(set(names)) == len(names), f"column names repeat: {names}"


def check_reads(node: Node, names: Iterable[str], schema: Schema) -> None:
    """Fail where a node reads a column that a schema does not have."""
    missing = set(names) - {f.name for f in schema}
    assert not missing, f"{type(node).__name__} reads unknown columns {sorted(missing)}"


def walk(node: Node) -> Iterator[Node]:
    """Yield the node and everything below it, inputs first, each place once."""
    for child in node.inputs:
        yield from walk(child)
    yield node
