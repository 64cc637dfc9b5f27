"""The statements: what a piece of SQL text asks for, before any name is looked up.

Queries and scalar expressions are sqlglot expressions; their shapes are listed in
`floodmark.sql`. Names are folded as PostgreSQL folds them (unquoted: lower case).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from sqlglot import exp

from floodmark.errors import Span


class ObjectKind(Enum):
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

    text: str
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
    """`column = value`, or `(c1, c2) = value` with `is_tuple`: value is then a row or a query."""

    columns: tuple[str, ...]
    value: exp.Expression
    is_tuple: bool = False
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
    """`TRANSFORM USING (query)`; `table` and `alias` are set inside FOR TABLES only."""

    query: exp.Expression | None
    table: str | None = None
    alias: str | None = None
    options: tuple[Option, ...] = ()
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


@dataclass(frozen=True, kw_only=True)
class Definition(Statement):
    """A CREATE statement."""

    name: ObjectName
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, kw_only=True)
class CreateSource(Definition):
    """`CREATE SOURCE`; `for_tables` tells that the transforms are a FOR TABLES list."""

    columns: tuple[ColumnDef, ...] = ()
    primary_key: PrimaryKey | None = None
    watermarks: tuple[WatermarkDef, ...] = ()
    append_only: bool = False
    options: tuple[Option, ...] = ()
    format: FormatEncode | None = None
    includes: tuple[IncludeColumn, ...] = ()
    transforms: tuple[Transform, ...] = ()
    for_tables: bool = False


@dataclass(frozen=True, kw_only=True)
class CreateTable(Definition):
    """`CREATE TABLE` with columns; with a connector it takes in data as a source does."""

    columns: tuple[ColumnDef, ...] = ()
    primary_key: PrimaryKey | None = None
    watermarks: tuple[WatermarkDef, ...] = ()
    append_only: bool = False
    conflict: ConflictClause | None = None
    options: tuple[Option, ...] = ()
    format: FormatEncode | None = None
    includes: tuple[IncludeColumn, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CreateTableAs(Definition):
    """`CREATE TABLE … AS query`: `columns` rename the query's outputs."""

    query: exp.Expression
    columns: tuple[str, ...] = ()
    primary_key: PrimaryKey | None = None
    append_only: bool = False
    conflict: ConflictClause | None = None
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CreateMaterializedView(Definition):
    """`CREATE MATERIALIZED VIEW`; `emit_span` is the place of EMIT ON WINDOW CLOSE."""

    query: exp.Expression
    columns: tuple[str, ...] = ()
    emit_on_window_close: bool = False
    emit_span: Span | None = field(default=None, compare=False, repr=False)
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CreateView(Definition):
    """`CREATE VIEW`: a name for a query."""

    query: exp.Expression
    columns: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CreateSink(Definition):
    """`CREATE SINK`; `query` is always set: `FROM v` means `SELECT * FROM v`."""

    query: exp.Expression
    from_relation: ObjectName | None = None
    into: ObjectName | None = None
    target_columns: tuple[str, ...] = ()
    emit_on_window_close: bool = False
    emit_span: Span | None = field(default=None, compare=False, repr=False)
    options: tuple[Option, ...] = ()
    format: FormatEncode | None = None


@dataclass(frozen=True, kw_only=True)
class CreateFunction(Definition):
    """`CREATE FUNCTION`: scalar with `returns`, table function with `returns_table`."""

    parameters: tuple[Parameter, ...]
    language: str
    body: str
    returns: TypeName | None = None
    returns_table: tuple[Parameter, ...] = ()
    volatility: Volatility | None = None
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CreateAggregate(Definition):
    """`CREATE AGGREGATE`: a user's aggregate over a group's ordered values."""

    parameters: tuple[Parameter, ...]
    language: str
    body: str
    returns: TypeName
    volatility: Volatility | None = None
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CreateIndex(Definition):
    """`CREATE INDEX`: a clustering hint; `keys` are `exp.Ordered`."""

    table: ObjectName
    keys: tuple[exp.Expression, ...]
    include: tuple[str, ...] = ()
    distributed_by: tuple[exp.Expression, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CreateSchema(Definition):
    """`CREATE SCHEMA`."""


@dataclass(frozen=True, kw_only=True)
class Alter(Statement):
    """An ALTER statement; `kind` is None for `ALTER x RESUME` without a kind word."""

    kind: ObjectKind | None
    name: ObjectName


@dataclass(frozen=True, kw_only=True)
class AlterAddColumn(Alter):
    """`ALTER TABLE t ADD COLUMN c … [ON CONFLICT …]`."""

    column: ColumnDef
    conflict: ConflictClause | None = None
    if_not_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class AlterDropColumn(Alter):
    """`ALTER TABLE t DROP COLUMN c [CASCADE]`."""

    column: str
    cascade: bool = False
    if_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class AlterRename(Alter):
    """`ALTER … RENAME TO new_name`."""

    new_name: str


@dataclass(frozen=True, kw_only=True)
class AlterRenameColumn(Alter):
    """`ALTER TABLE t RENAME COLUMN c TO d`."""

    column: str
    new_name: str


@dataclass(frozen=True, kw_only=True)
class AlterWatermark(Alter):
    """`ALTER TABLE t ALTER WATERMARK FOR c AS …`."""

    watermark: WatermarkDef


@dataclass(frozen=True, kw_only=True)
class AlterConflict(Alter):
    """`ALTER TABLE t ON CONFLICT …`."""

    conflict: ConflictClause


@dataclass(frozen=True, kw_only=True)
class AlterSet(Alter):
    """`ALTER … SET (key = value, …)`."""

    options: tuple[Option, ...]


@dataclass(frozen=True, kw_only=True)
class AlterQuery(Alter):
    """`ALTER SINK k AS query` and `ALTER MATERIALIZED VIEW v AS query`."""

    query: exp.Expression
    emit_on_window_close: bool = False
    emit_span: Span | None = field(default=None, compare=False, repr=False)
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AlterToTable(Alter):
    """`ALTER MATERIALIZED VIEW v TO TABLE`."""


@dataclass(frozen=True, kw_only=True)
class AlterResume(Alter):
    """`ALTER x RESUME`: go on after a suspension."""


@dataclass(frozen=True, kw_only=True)
class AlterRebase(Alter):
    """`ALTER SOURCE s REBASE`: accept that the outside data was rewritten."""


@dataclass(frozen=True, kw_only=True)
class Drop(Statement):
    """`DROP …`; `with_rows` takes a sink's rows out of its target too."""

    kind: ObjectKind
    name: ObjectName
    if_exists: bool = False
    cascade: bool = False
    with_rows: bool = False


@dataclass(frozen=True, kw_only=True)
class Insert(Statement):
    """`INSERT INTO t [(columns)] query`; a DEFAULT in VALUES is `exp.Var(this="DEFAULT")`."""

    table: ObjectName
    query: exp.Expression
    columns: tuple[str, ...] = ()
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
class Copy(Statement):
    """`COPY t [(columns)] {FROM | TO} 'file' [WITH (…)]`."""

    table: ObjectName
    path: str
    is_import: bool
    columns: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Begin(Statement):
    """`BEGIN`: what follows up to COMMIT is one epoch."""


@dataclass(frozen=True, kw_only=True)
class Commit(Statement):
    """`COMMIT`."""


@dataclass(frozen=True, kw_only=True)
class Rollback(Statement):
    """`ROLLBACK`."""


@dataclass(frozen=True, kw_only=True)
class Select(Statement):
    """A query on its own; `WITH x AS CHANGELOG FROM t` is part of the query."""

    query: exp.Expression


@dataclass(frozen=True, kw_only=True)
class Explain(Statement):
    """`EXPLAIN [(…)] {statement | name}`: exactly one of the two is set."""

    statement: Statement | None = None
    name: ObjectName | None = None
    format: ExplainFormat = ExplainFormat.TEXT
    state: bool = False
    changelog: bool = False


@dataclass(frozen=True, kw_only=True)
class Show(Statement):
    """`SHOW what [name] [LIKE pattern]`.

    `what` is in upper case: TABLES, SINKS, CREATE (then `kind` and `name` are set), or a setting's
    name in lower case with `is_setting`.
    """

    what: str
    name: ObjectName | None = None
    kind: ObjectKind | None = None
    like: str | None = None
    is_setting: bool = False


@dataclass(frozen=True, kw_only=True)
class Describe(Statement):
    """`DESCRIBE x`."""

    name: ObjectName


@dataclass(frozen=True, kw_only=True)
class Flush(Statement):
    """`FLUSH`: seal what is waiting."""


@dataclass(frozen=True, kw_only=True)
class SetOption(Statement):
    """`SET name = value`; the name in lower case, None as value means DEFAULT."""

    name: str
    value: str | None
