"""Nodes that look at one row at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from floodmark.plan.expr.expressions import ColumnRef, Expr, columns_of, plain_columns
from floodmark.plan.nodes.base import (
    PassedColumns,
    Unary,
    check_reads,
    check_unique,
    same_columns,
)
from floodmark.scalar.types import BIGINT, Field, Kind, Schema


@dataclass(frozen=True, slots=True)
class Project(Unary):
    """Computes columns, row by row."""

    columns: tuple[tuple[str, Expr], ...]

    def __post_init__(self) -> None:
        check_unique(self.schema)
        for _, expr in self.columns:
            check_reads(self, columns_of(expr), self.input.schema)

    def output(self) -> Schema:
        return _output_fields(self.columns, self.input.schema)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(expr for _, expr in self.columns)

    @property
    def reads(self) -> frozenset[str]:
        return frozenset[str]().union(*map(columns_of, self.expressions))

    @property
    def pushable_columns(self) -> Sequence[PassedColumns]:
        return [{c: e for c, e in self.columns if isinstance(e, ColumnRef)}]

    @property
    def plain_columns(self) -> dict[str, str]:
        """Map input columns to the (first) output column that passes them on unchanged."""
        return plain_columns(self.columns)

    @property
    def renames(self) -> bool:
        """Tell whether it passes all columns of its input on, and makes no others."""
        alike = all(isinstance(expr, ColumnRef) for _, expr in self.columns)
        return alike and self.plain_columns.keys() == set(self.input.names)


@dataclass(frozen=True, slots=True)
class MaterializeProject(Unary):
    """A project whose volatile columns are stored by the input's stream key.

    An insert, and the new row of an update, evaluates every column and stores those in `stored`; an
    update evaluates anew even where no argument changed. A delete, and the old row of an update,
    takes `stored` from the state and computes the other columns, which depend on the row alone.
    Where the state is: `StreamOperator.state` has one table with the columns in `stored`, keyed by
    the input's stream key, and cleaned by the input's watermark if it has one. Where
    `StreamOperator.own_table` is set there is no such table: old rows leave with NULL in `stored`
    and pass the filters above. The root replaces each by the row that its own table has for the
    stream key. A row that is not there was never emitted. A column that fails puts the new row
    aside, and its old row is then absent from the state.
    """

    columns: tuple[tuple[str, Expr], ...]
    stored: tuple[str, ...]

    def __post_init__(self) -> None:
        check_unique(self.schema)
        check_reads(self, self.stored, self.schema)
        for _, expr in self.columns:
            check_reads(self, columns_of(expr), self.input.schema)

    def output(self) -> Schema:
        return _output_fields(self.columns, self.input.schema)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(expr for _, expr in self.columns)


@dataclass(frozen=True, slots=True)
class Filter(Unary):
    """Keeps the rows for which the predicate is TRUE."""

    predicate: Expr

    def __post_init__(self) -> None:
        check_reads(self, columns_of(self.predicate), self.input.schema)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.predicate,)

    @property
    def reads(self) -> frozenset[str]:
        return columns_of(self.predicate)


@dataclass(frozen=True, slots=True)
class TemporalFilter(Unary):
    """Keeps a row while `condition`, which reads the epoch's time, is TRUE.

    That is from the largest of `lower_bounds` on, and before the smallest of `upper_bounds`. There
    is at least one bound, a TIMESTAMPTZ over the row. A row with a bound of NULL never comes.
    """

    condition: Expr
    lower_bounds: tuple[Expr, ...]
    upper_bounds: tuple[Expr, ...]

    def __post_init__(self) -> None:
        check_reads(self, columns_of(self.condition), self.input.schema)
        for bound in self.bounds:
            assert bound.type.kind is Kind.TIMESTAMPTZ, bound.type
            check_reads(self, columns_of(bound), self.input.schema)
        assert self.bounds

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.condition, *self.bounds)

    @property
    def bounds(self) -> tuple[Expr, ...]:
        """Return all bounds, the lower ones first."""
        return (*self.lower_bounds, *self.upper_bounds)


@dataclass(frozen=True, slots=True)
class ProjectSet(Unary):
    """Repeats each row for every element of an ARRAY; `ordinal` counts them from 1.

    The element is the one column in `outputs`; with `unpacks` it is a STRUCT and its fields are.
    NULL and an empty array give no row; with `outer` one, with NULL in `outputs` and ordinal 0.
    """

    call: Expr
    outputs: tuple[str, ...]
    ordinal: str
    unpacks: bool = False
    outer: bool = False

    def __post_init__(self) -> None:
        assert self.call.type.element is not None, self.call.type
        assert len(self.outputs) == (len(self.call.type.element.fields) if self.unpacks else 1)
        check_unique(self.schema)
        check_reads(self, columns_of(self.call), self.input.schema)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.call,)

    @property
    def reads(self) -> frozenset[str]:
        return columns_of(self.call)

    @property
    def pushable_columns(self) -> Sequence[PassedColumns]:
        return [same_columns(self.input)]

    def output(self) -> Schema:
        element = self.call.type.element
        assert element is not None
        types = [f.type for f in element.fields] if self.unpacks else [element]
        made = (Field(name, type_) for name, type_ in zip(self.outputs, types, strict=True))
        return (*self.input.schema, *made, Field(self.ordinal, BIGINT, False))


@dataclass(frozen=True, slots=True)
class GrowingSeries(ProjectSet):
    """Repeats each row for the values of a series that ends at the epoch's time.

    The call is `generate_series(start, f(now()), step)`: values come as time passes, and stay.
    """

    @property
    def start(self) -> Expr:
        """Return the first value."""
        return self.call.children[0]


def _output_fields(columns: Sequence[tuple[str, Expr]], below: Schema) -> Schema:
    """Return the fields of computed columns: what is passed on as it is keeps NOT NULL."""
    nullable = {f.name: f.nullable for f in below}
    return tuple(
        Field(name, e.type, not isinstance(e, ColumnRef) or nullable.get(e.name, True))
        for name, e in columns
    )
