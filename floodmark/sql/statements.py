"""The statements: what a piece of SQL text asks for, before any name is looked up.

Queries and scalar expressions are sqlglot expressions; their shapes are listed in
`floodmark.sql`. Names are folded as PostgreSQL folds them (unquoted: lower case).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from floodmark.errors import FloodmarkError, Span
from floodmark.sql.parts import (
    Assignment as Assignment,
    ColumnDef as ColumnDef,
    ConflictAction as ConflictAction,
    ConflictClause as ConflictClause,
    ExplainFormat as ExplainFormat,
    FormatEncode as FormatEncode,
    IncludeColumn as IncludeColumn,
    KindWord as KindWord,
    ObjectName as ObjectName,
    Option as Option,
    Parameter as Parameter,
    PrimaryKey as PrimaryKey,
    Statement as Statement,
    Transform as Transform,
    TypeName as TypeName,
    Volatility as Volatility,
    WatermarkDef as WatermarkDef,
)
from floodmark.sql.row_statements import (
    Begin as Begin,
    Commit as Commit,
    CopyFrom as CopyFrom,
    CopyTo as CopyTo,
    Delete as Delete,
    Insert as Insert,
    Rollback as Rollback,
    Update as Update,
)


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
class RefusedDefinition(Definition):
    """A definition at rest that this version cannot read: what it defines, and why."""

    kind: KindWord
    into: ObjectName | None = None
    refused: FloodmarkError = field(compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Alter(Statement):
    """An ALTER statement; `kind` is None for `ALTER x RESUME` without a kind word.

    With `missing_ok`, IF EXISTS, there is nothing to do where the object is not there.
    """

    kind: KindWord | None
    name: ObjectName
    missing_ok: bool = False


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
class AlterColumns(Alter):
    """`ALTER TABLE t ADD COLUMN c …, DROP COLUMN d, …`: several changes, one after the other."""

    actions: tuple[AlterAddColumn | AlterDropColumn, ...]


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
class AlterReset(Alter):
    """`ALTER … RESET (key, …)`: options that are not given any more."""

    names: tuple[str, ...]


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
    """`ALTER SOURCE s REBASE`: go on with what functions of its TRANSFORM USING mean now."""


@dataclass(frozen=True, kw_only=True)
class Drop(Statement):
    """`DROP …`, of one object or of `others`, too; `with_rows` takes sinks' rows out as well.

    `takes` are, by place, the parameters that are written behind functions.
    """

    kind: KindWord
    name: ObjectName
    others: tuple[ObjectName, ...] = ()
    takes: tuple[tuple[Parameter, ...] | None, ...] = ()
    if_exists: bool = False
    cascade: bool = False
    with_rows: bool = False


@dataclass(frozen=True, kw_only=True)
class Select(Statement):
    """A query on its own; `WITH x AS CHANGELOG FROM t` is part of the query."""

    query: exp.Expression


@dataclass(frozen=True, kw_only=True)
class Explain(Statement):
    """`EXPLAIN [(…)] {statement | [kind] name}`: a statement or a name is set."""

    statement: Statement | None = None
    name: ObjectName | None = None
    kind: KindWord | None = None
    format: ExplainFormat = ExplainFormat.TEXT
    state: bool = False


@dataclass(frozen=True, kw_only=True)
class Show(Statement):
    """`SHOW what [name] [LIKE pattern]`.

    `what` is in upper case: TABLES, SINKS, CREATE (then `kind` and `name` are set), or a setting's
    name in lower case with `is_setting`.
    """

    what: str
    name: ObjectName | None = None
    kind: KindWord | None = None
    like: str | None = None
    is_setting: bool = False


@dataclass(frozen=True, kw_only=True)
class Describe(Statement):
    """`DESCRIBE [kind] x`."""

    name: ObjectName
    kind: KindWord | None = None


@dataclass(frozen=True, kw_only=True)
class Flush(Statement):
    """`FLUSH`: seal the rows that wait."""


@dataclass(frozen=True, kw_only=True)
class SetOption(Statement):
    """`SET name = value`; the name in lower case, None as value means DEFAULT."""

    name: str
    value: str | None
