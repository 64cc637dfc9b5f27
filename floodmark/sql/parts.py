"""What statements are made of: names, types, columns, options, clauses."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum

from sqlglot import exp

from floodmark.errors import Span


class KindWord(Enum):
    """What a name in the catalog can stand for; the value is its spelling in SQL."""

    SOURCE = "SOURCE"
    TABLE = "TABLE"
    MATERIALIZED_VIEW = "MATERIALIZED VIEW"
    VIEW = "VIEW"
    SINK = "SINK"
    FUNCTION = "FUNCTION"
    AGGREGATE = "AGGREGATE"
    INDEX = "INDEX"
    SCHEMA = "SCHEMA"


class ConflictAction(Enum):
    """What happens to a row whose primary key is there already."""

    DO_NOTHING = "DO NOTHING"
    UPDATE_FULL = "DO UPDATE FULL"
    UPDATE_IF_NOT_NULL = "DO UPDATE IF NOT NULL"
    UPDATE_SET = "DO UPDATE SET"


class Volatility(Enum):
    """What a user's function promises about equal arguments."""

    IMMUTABLE = "IMMUTABLE"
    STABLE = "STABLE"
    VOLATILE = "VOLATILE"


class ExplainFormat(Enum):
    """How EXPLAIN prints."""

    TEXT = "TEXT"
    JSON = "JSON"
    HTML = "HTML"


@dataclass(frozen=True, slots=True)
class ObjectName:
    """The name of an object, with at most one schema qualifier."""

    name: str
    schema: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return self.name if self.schema is None else f"{self.schema}.{self.name}"


@dataclass(frozen=True, slots=True)
class TypeName:
    """A type as it was written: its text and its sqlglot form."""

    text: str = field(compare=False)
    type: exp.DataType
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Option:
    """One `key = value` of a WITH list; the value is its text without quotes."""

    name: str
    value: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ColumnDef:
    """A column of a definition.

    `type` is None only for a generated or CTAS column whose type follows from its expression;
    `metadata_from` is the key of METADATA FROM, or the column's own name when only METADATA stands.
    """

    name: str
    type: TypeName | None
    not_null: bool = False
    default: exp.Expression | None = None
    generated: exp.Expression | None = None
    metadata_from: str | None = None
    primary_key: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PrimaryKey:
    """The declared primary key: its columns in the order they were written."""

    columns: tuple[str, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class WatermarkDef:
    """`WATERMARK FOR column AS expression [WITH TTL]`."""

    column: str
    expression: exp.Expression
    with_ttl: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Assignment:
    """`column = value`, or `(c1, c2) = value` with `is_tuple`: value is then a row or a query.

    `tables` are the names that stand before columns, as in `t.column = value`.
    """

    columns: tuple[str, ...]
    value: exp.Expression
    is_tuple: bool = False
    tables: tuple[str, ...] = field(default=(), compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ConflictClause:
    """The conflict behaviour of a table; WITH VERSION COLUMN alone means UPDATE_FULL."""

    action: ConflictAction
    assignments: tuple[Assignment, ...] = ()
    where: exp.Expression | None = None
    version_columns: tuple[str, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FormatEncode:
    """`FORMAT f ENCODE e [(options)]`, both words in upper case."""

    format: str
    encode: str | None = None
    options: tuple[Option, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class IncludeColumn:
    """`INCLUDE kind [AS name]`: kind is in upper case, `INGESTION TIMESTAMP` or `KEY`."""

    kind: str
    name: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Transform:
    """`TRANSFORM USING (query)`; inside FOR TABLES also what stands around it.

    `table` and `alias` are names, `name_span` the place of the one that the output has; the other
    three are its own columns, with key and watermarks, where it has some.
    """

    query: exp.Expression | None
    table: str | None = None
    alias: str | None = None
    columns: tuple[ColumnDef, ...] = ()
    primary_key: PrimaryKey | None = None
    watermarks: tuple[WatermarkDef, ...] = ()
    options: tuple[Option, ...] = ()
    name_span: Span | None = field(default=None, compare=False, repr=False)
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter or a result column of a function."""

    name: str | None
    type: TypeName
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Statement:
    """Any statement; `span` covers it whole, without the semicolon."""

    span: Span = field(compare=False, repr=False)

    @property
    def sql(self) -> str:
        """Return the text as it was written."""
        return self.span.text

    @property
    def words(self) -> str:
        """Return what kind of statement it is, in words of SQL: DROP SCHEMA, ALTER TABLE RENAME."""
        first, *rest = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(self).__name__).upper().split()
        kind = getattr(self, "kind", None)
        return " ".join((first, *([kind.value] if kind is not None else []), *rest))
