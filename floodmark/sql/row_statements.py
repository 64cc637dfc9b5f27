"""Statements that change rows, move them between tables and files, or bound a transaction."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from floodmark.errors import Span
from floodmark.sql.parts import Assignment, ObjectName, Option, Statement


@dataclass(frozen=True, kw_only=True)
class Insert(Statement):
    """`INSERT INTO t [(columns)] query`; a DEFAULT in VALUES is `exp.Var(this="DEFAULT")`."""

    table: ObjectName
    query: exp.Expression
    columns: tuple[str, ...] = ()
    column_spans: tuple[Span, ...] = field(default=(), compare=False, repr=False)
    returning: tuple[exp.Expression, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Update(Statement):
    """`UPDATE t [AS a] SET … [FROM …] [WHERE …]`; `from_` is an `exp.Select` of FROM and joins."""

    table: ObjectName
    assignments: tuple[Assignment, ...]
    alias: str | None = None
    from_: exp.Expression | None = None
    where: exp.Expression | None = None
    returning: tuple[exp.Expression, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Delete(Statement):
    """`DELETE FROM t [AS a] [USING …] [WHERE …]`; `using` is an `exp.Select` of FROM and joins."""

    table: ObjectName
    alias: str | None = None
    using: exp.Expression | None = None
    where: exp.Expression | None = None
    returning: tuple[exp.Expression, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CopyFrom(Statement):
    """`COPY t [(columns)] FROM 'file' [WITH (…)]`."""

    table: ObjectName
    path: str
    columns: tuple[str, ...] = ()
    column_spans: tuple[Span, ...] = field(default=(), compare=False, repr=False)
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CopyTo(Statement):
    """`COPY {t [(columns)] | (query)} TO 'file' [WITH (…)]`; a table is the query that reads it.

    `table` is set if no columns are named: its generated columns are left out.
    """

    query: exp.Expression
    path: str
    options: tuple[Option, ...] = ()
    table: ObjectName | None = None


@dataclass(frozen=True, kw_only=True)
class Begin(Statement):
    """`BEGIN`: what follows up to COMMIT is one epoch."""


@dataclass(frozen=True, kw_only=True)
class Commit(Statement):
    """`COMMIT`."""


@dataclass(frozen=True, kw_only=True)
class Rollback(Statement):
    """`ROLLBACK`."""
