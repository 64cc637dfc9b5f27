"""What every node is, and the two shapes most of them have: one input, or a left and a right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from floodmark.errors import Span
from floodmark.plan.expr.expressions import AggCall, ColumnRef, Expr
from floodmark.plan.expr.window_values import WindowCall
from floodmark.scalar.types import Field, Kind, Schema

PassedColumns = Mapping[str, ColumnRef]
"""By column of a node: the column of its input that it passes on."""
_LOOSE = (
    Kind.REAL, Kind.DOUBLE, Kind.INTERVAL, Kind.JSONB, Kind.LIST, Kind.STRUCT, Kind.MAP
)  # fmt: skip


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

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """Return the node's scalar expressions, those of its inputs left out."""
        return ()

    @property
    def reads(self) -> frozenset[str] | None:
        """Return the columns that the node reads to do its work; None where it reads whole rows.

        They are whole where rows are compared, or ordered by all that people see.
        """
        return None

    @property
    def pushable_columns(self) -> Sequence[PassedColumns | None]:
        """Return, for each input, the columns by whose values rows can be dropped there as well."""
        return [None for _ in self.inputs]

    @property
    def positional_columns(self) -> Sequence[tuple[str, ...]] | None:
        """Return the columns of each input that meet by position; None where they do not."""
        return None

    @property
    def identity_columns(self) -> Sequence[tuple[str, ...]]:
        """Return the columns of each input that are equal in rows which the node makes one of."""
        return [() for _ in self.inputs]

    @property
    def limits_rows(self) -> bool:
        """Tell whether some rows are left out because of the order alone."""
        return False

    @property
    def generated_columns(self) -> Mapping[str, AggCall | WindowCall | str]:
        """Return the columns that have names of the planner's, and what they are in SQL."""
        return {}

    def may_give(self, below: Sequence[bool]) -> bool:
        """Tell whether there can be rows; `below` tells the same of each input."""
        return any(below)

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


def same_columns(node: Node, names: Iterable[str] | None = None) -> PassedColumns:
    """Return a node's columns as a node above has them that passes them on; all without names."""
    wanted = node.names if names is None else tuple(names)
    return {f.name: ColumnRef(f.type, f.name) for f in node.schema if f.name in wanted}


def alike_columns(columns: PassedColumns) -> PassedColumns:
    """Return the columns that can group rows where a condition says the same of all of a group.

    Equal values must look the same: both zeros are equal, and 30 days are a month.
    """
    return {c: e for c, e in columns.items() if e.type.kind not in _LOOSE}


def columns_by_position(shown: Sequence[Field], own: Sequence[Field]) -> PassedColumns:
    """Return columns of an input by those of the output that stand in their places."""
    pairs = zip(shown, own, strict=True)
    return {a.name: ColumnRef(b.type, b.name) for a, b in pairs}


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
