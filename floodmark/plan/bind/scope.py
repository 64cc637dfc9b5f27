"""Names in scope while a query is bound: columns of a relation, and those of a FROM."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from floodmark.changelog import is_hidden
from floodmark.errors import BindError, NotSupported, Span
from floodmark.plan.expr.expressions import ColumnRef, Expr
from floodmark.scalar.types import Schema, SqlType

ALIASES: Mapping[str, str] = {"_row_id": "__row_id"}
"""Hidden columns that people may name, by what they write."""


class Scope(Protocol):
    """The columns that an expression may name."""

    def resolve(self, table: str | None, column: str, span: Span | None) -> Expr:
        """Return the column, or raise a `BindError` for an unknown or ambiguous name."""


@dataclass(frozen=True, slots=True)
class SchemaScope:
    """The columns of one relation; `alias` is the table name that may stand before them."""

    schema: Schema
    alias: str | None = None

    def resolve(self, table: str | None, column: str, span: Span | None) -> ColumnRef:
        """Return the column; an unknown one is E0261, a foreign table name E0262."""
        if table is not None and table != self.alias:
            raise BindError(
                "E0262",
                f'"{table}" is not a relation here',
                span=span,
                hint=self.alias and f"the columns are those of {self.alias}",
            )
        for known in self.schema:
            if known.name == column:
                return ColumnRef(known.type, known.name, span=span)
        names = [f.name for f in self.schema]
        near = difflib.get_close_matches(column, names, n=3) or names[:12]
        raise BindError(
            "E0261",
            f'column "{column}" is not known here',
            span=span,
            hint="there is " + ", ".join(near),
        )


@dataclass(frozen=True, slots=True)
class Column:
    """A column as the query names it, and the unique name it has in the plan."""

    name: str
    plan_name: str
    type: SqlType

    def rename(self, names: Mapping[str, str]) -> Column:
        """Return the column with another plan name."""
        return Column(self.name, names.get(self.plan_name, self.plan_name), self.type)


@dataclass(frozen=True, slots=True)
class Source:
    """One relation of FROM: its alias and its columns, hidden ones included.

    `value` names the one column for which the alias of a function stands, too; `key` are the plan
    names of a table's primary key, which settles its other columns.
    """

    alias: str
    columns: tuple[Column, ...]
    value: str | None = None
    key: tuple[str, ...] = ()

    @property
    def visible(self) -> tuple[Column, ...]:
        """Return the columns that `*` stands for."""
        return tuple(c for c in self.columns if not is_hidden(c.name))

    def rename(self, names: Mapping[str, str]) -> Source:
        """Return the source with other plan names."""
        columns = tuple(c.rename(names) for c in self.columns)
        key = tuple(names.get(name, name) for name in self.key)
        return Source(self.alias, columns, self.value, key)


OUTER = "__outer:"
"""Stands before the name of a column of the query around a subquery."""


class CorrelationError(NotSupported):
    """A subquery reads a column of the query around it where it cannot be joined by that."""


@dataclass(frozen=True, slots=True)
class OuterScope:
    """The columns of the query around a subquery; `allowed` where the subquery may name them."""

    scope: QueryScope
    allowed: bool = False

    def resolve(self, table: str | None, column: str, unknown: BindError) -> ColumnRef:
        """Return the column under its outer name; `unknown` is raised where there is none."""
        try:
            ref = self.scope.resolve(table, column, unknown.span)
        except BindError:
            raise unknown from None
        if self.allowed and not ref.name.startswith(OUTER):
            return ColumnRef(ref.type, OUTER + ref.name, span=unknown.span)
        raise CorrelationError(
            "E0325",
            f'a subquery cannot read "{column}" of the query around it in this place',
            span=unknown.span,
            hint="compare it in the WHERE of the subquery: … WHERE inner.k = outer.k",
        )


@dataclass(frozen=True, slots=True)
class QueryScope:
    """The relations of one FROM; `columns` are those that a name of its own reaches.

    They stand in the order of `*`. USING makes one of two; relations keep their own.
    """

    sources: tuple[Source, ...] = ()
    columns: tuple[Column, ...] = ()
    outer: OuterScope | None = None

    @classmethod
    def from_sources(cls, *sources: Source) -> QueryScope:
        """Return the scope of relations that stand side by side."""
        return cls(sources, tuple(c for source in sources for c in source.columns))

    def join(self, other: QueryScope, span: Span | None) -> QueryScope:
        """Return the scope with the relations of another one to the right of its own.

        Raises E0238 for a name that both have.
        """
        names = {s.alias for s in self.sources if s.alias}
        for source in other.sources:
            if source.alias in names:
                raise BindError(
                    "E0238",
                    f'the name "{source.alias}" is used by two relations of this FROM clause',
                    span=span,
                    hint=f"give one of them an alias: … AS {source.alias}2",
                )
        sources, columns = (*self.sources, *other.sources), (*self.columns, *other.columns)
        return QueryScope(sources, columns, self.outer)

    def rename(self, names: Mapping[str, str]) -> QueryScope:
        """Return the scope with other plan names."""
        sources = tuple(s.rename(names) for s in self.sources)
        return QueryScope(sources, tuple(c.rename(names) for c in self.columns), self.outer)

    def resolve(self, table: str | None, column: str, span: Span | None) -> ColumnRef:
        """Return the column that a name stands for.

        Raises E0206 for an unknown column, E0207 for an ambiguous one, E0208 for an unknown table.
        """
        try:
            return self.own(table, column, span)
        except BindError as error:
            own = table is not None and any(s.alias == table for s in self.sources)
            if self.outer is None or error.code not in ("E0206", "E0208") or own:
                raise
            return self.outer.resolve(table, column, error)

    def own(self, table: str | None, column: str, span: Span | None) -> ColumnRef:
        """Return the column as `resolve`, of this FROM alone."""
        wanted = ALIASES.get(column, column)
        columns = self._columns_of(table, span)
        matches = [c for c in columns if c.name == wanted]
        if len(matches) > 1:
            aliases = [s.alias for s in self.sources if _has(s, wanted)]
            places = ", ".join(f"{alias}.{wanted}" for alias in aliases)
            hint = (
                f"write one of {places}"
                if len(aliases) > 1
                else f"give its columns other names: AS {aliases[0]}(…)"
            )
            raise BindError("E0207", f'column "{column}" is ambiguous', span=span, hint=hint)
        if table is None and not matches:
            named = [s for s in self.sources if s.alias == column and s.value is not None]
            matches = [c for s in named for c in s.columns if c.name == s.value]
        if len(matches) != 1:
            raise unknown_column(column, _visible(columns), span)
        return ColumnRef(matches[0].type, matches[0].plan_name, span=span)

    def star(self, table: str | None, span: Span | None) -> tuple[Column, ...]:
        """Return the columns of `*` or `t.*`, in order."""
        return tuple(c for c in self._columns_of(table, span) if not is_hidden(c.name))

    def columns_by_key(self, plan_names: Collection[str]) -> tuple[Column, ...]:
        """Return the columns of the relations whose primary key is among the columns."""
        keyed = (s for s in self.sources if s.key and {*s.key} <= {*plan_names})
        return tuple(c for source in keyed for c in source.columns)

    def _columns_of(self, table: str | None, span: Span | None) -> tuple[Column, ...]:
        if table is None:
            return self.columns
        return tuple(c for source in self._find_sources(table, span) for c in source.columns)

    def _find_sources(self, table: str, span: Span | None) -> tuple[Source, ...]:
        named = tuple(s for s in self.sources if s.alias == table)
        if not named:
            near = difflib.get_close_matches(table, [s.alias for s in self.sources], n=3)
            known = near or [s.alias for s in self.sources]
            raise BindError(
                "E0208",
                f'"{table}" is not a relation of this FROM clause',
                span=span,
                hint="it has " + ", ".join(known) if known else None,
            )
        return named


def _visible(columns: Iterable[Column]) -> list[str]:
    return [c.name for c in columns if not is_hidden(c.name)]


def _has(source: Source, name: str) -> bool:
    return any(c.name == name for c in source.columns)


def unknown_column(name: str, known: Iterable[str], span: Span | None) -> BindError:
    """Return the error for a column that is not in scope, with the nearest names."""
    names = list(dict.fromkeys(known))
    near = difflib.get_close_matches(name, names, n=3)
    has = "it has " + ", ".join(names[:12]) if names else "nothing here has columns: add FROM"
    hint = "did you mean " + ", ".join(near) + "?" if near else has
    return BindError("E0206", f'column "{name}" does not exist', span=span, hint=hint)
