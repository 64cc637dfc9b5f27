"""Nodes without an input: an object of the catalog, and constant rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from floodmark.changelog import ChangelogMode
from floodmark.limits import LIMITS
from floodmark.plan.expr.expressions import Expr, Literal
from floodmark.plan.nodes.base import Node, check_reads, check_unique, walk
from floodmark.scalar.types import Schema


@dataclass(frozen=True, slots=True)
class WatermarkColumn:
    """A column that carries a watermark; columns of one group have one origin."""

    column: str
    group: str


@dataclass(frozen=True, slots=True)
class Scan(Node):
    """Reads an object of the catalog: its changes of an epoch, or its rows at a version.

    `metadata` are columns that a message brings about itself (`METADATA FROM`): two messages about
    one row can differ in them. `static` promises that the object does not change. Rows of
    one that is `external` are kept elsewhere, and asked for by key; with `drops_silently`, rows go
    without a change.
    """

    object: str
    columns: Schema
    stream_key: tuple[str, ...]
    mode: ChangelogMode
    watermarks: tuple[WatermarkColumn, ...] = ()
    metadata: tuple[str, ...] = field(default=(), repr=False)
    static: bool = field(default=False, repr=False)
    external: bool = field(default=False, repr=False)
    drops_silently: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        check_unique(self.columns)
        check_reads(self, self.metadata, self.columns)
        check_reads(self, self.stream_key, self.columns)
        check_reads(self, (w.column for w in self.watermarks), self.columns)

    def output(self) -> Schema:
        return self.columns


@dataclass(frozen=True, slots=True)
class Values(Node):
    """A constant relation; each row has an expression per column. Its key is the hidden ordinal."""

    rows: tuple[tuple[Expr, ...], ...]
    columns: Schema

    def __post_init__(self) -> None:
        check_unique(self.columns)
        assert all(len(row) == len(self.columns) for row in self.rows)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(e for row in self.rows for e in row)

    @property
    def is_data(self) -> bool:
        """Tell whether the rows are many constants: Spark would parse them for minutes."""
        many = len(self.rows) >= LIMITS.constant_rows
        return many and all(isinstance(e, Literal) for row in self.rows for e in row)

    def may_give(self, below: Sequence[bool]) -> bool:
        return bool(self.rows)

    def output(self) -> Schema:
        return self.columns


def scans(node: Node) -> tuple[Scan, ...]:
    """Return the object reads below a node, left to right."""
    return tuple(n for n in walk(node) if isinstance(n, Scan))
