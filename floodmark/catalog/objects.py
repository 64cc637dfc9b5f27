"""The named objects of a catalog, and the relation that queries see of one."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from floodmark.catalog.option_table import SINK_CONNECTORS, OptionPlace, default_of
from floodmark.changelog import ChangelogMode, is_hidden
from floodmark.errors import BindError, NotSupported, Span
from floodmark.scalar.casts import truth_of
from floodmark.scalar.types import Schema
from floodmark.sql import statements as s
from floodmark.sql.normalise import to_sql

DEFAULT_SCHEMA = "public"


class Origin(Enum):
    """Where an object's definition came from."""

    FILE = "file"
    STATEMENT = "statement"


class ObjectKind(Enum):
    """The kinds of objects; the value is what people read."""

    SOURCE = "source"
    TABLE = "table"
    MATERIALIZED_VIEW = "materialized view"
    VIEW = "view"
    SINK = "sink"
    FUNCTION = "function"
    INDEX = "index"


_KIND_OF: dict[type[s.Definition], ObjectKind] = {
    s.CreateSource: ObjectKind.SOURCE,
    s.CreateTable: ObjectKind.TABLE,
    s.CreateTableAs: ObjectKind.TABLE,
    s.CreateMaterializedView: ObjectKind.MATERIALIZED_VIEW,
    s.CreateView: ObjectKind.VIEW,
    s.CreateSink: ObjectKind.SINK,
    s.CreateFunction: ObjectKind.FUNCTION,
    s.CreateAggregate: ObjectKind.FUNCTION,
    s.CreateIndex: ObjectKind.INDEX,
}
_KIND_NAMED = {
    s.KindWord.SOURCE: ObjectKind.SOURCE,
    s.KindWord.TABLE: ObjectKind.TABLE,
    s.KindWord.MATERIALIZED_VIEW: ObjectKind.MATERIALIZED_VIEW,
    s.KindWord.VIEW: ObjectKind.VIEW,
    s.KindWord.SINK: ObjectKind.SINK,
    s.KindWord.FUNCTION: ObjectKind.FUNCTION,
    s.KindWord.AGGREGATE: ObjectKind.FUNCTION,
    s.KindWord.INDEX: ObjectKind.INDEX,
}


@dataclass(frozen=True)
class SourcePart:
    """Which output of a CREATE SOURCE with several outputs an object is; `group` is the source.

    `output` is the statement as it would be for this output alone.
    """

    group: str
    output: s.CreateSource


@dataclass(frozen=True)
class CatalogObject:
    """A declared object: its statement, where it came from, and the names it reads.

    `reads` are the keys of the relations of its query and of the functions that its expressions
    call; `target` is the table that a sink writes. `sql` is the text that was written; where that
    makes several objects, `statement` is what stands for this one, and `part` is set. `filed` is
    what its file says where a statement has altered it since, and `filed_as` the key that it has
    there if it has been renamed. `stored` is the name under which its rows lie, where that is not
    its own any more. `sees` has, by relation, the columns that the definition knows of: those that
    came later are not in its `*`. `past` are the changes that statements made to its rows, and the
    definition does not tell, oldest first. `resolved` is the place that its relative path stands
    for.
    """

    name: str
    statement: s.Definition
    origin: Origin
    reads: tuple[str, ...] = ()
    target: str | None = None
    sql: str = field(default="", compare=False)
    part: SourcePart | None = None
    filed: str | None = field(default=None, compare=False)
    filed_as: str | None = field(default=None, compare=False)
    stored: str | None = None
    sees: tuple[tuple[str, tuple[str, ...]], ...] = ()
    past: tuple[tuple[str, ...], ...] = ()
    resolved: str | None = None

    @property
    def storage_name(self) -> str:
        """Return the name that it had when its tables began; its schema is still the same."""
        return self.stored or self.name

    @property
    def storage_base(self) -> str:
        """Return the name under which its tables lie in the folders of its schema."""
        return self.storage_name.rpartition(".")[2]

    @property
    def storage_key(self) -> str:
        """Return the key of its rows and commits, which a rename does not change."""
        return key_of(self.storage_name, self.kind)

    @property
    def text(self) -> str:
        """Return the SQL of this object: the written text, or the part for this object."""
        return self.sql if self.part is None else to_sql(self.own_statement)

    @property
    def own_statement(self) -> s.Definition:
        """Return the statement that creates this object, with as few others as possible."""
        return self.statement if self.part is None else self.part.output

    @property
    def kind(self) -> ObjectKind:
        """Return what kind of object it is."""
        return kind_of(self.statement)

    @property
    def key(self) -> str:
        """Return the key in the catalog; sinks and functions have their own name spaces."""
        return key_of(self.name, self.kind)

    @property
    def span(self) -> Span:
        """Return where it is defined: `file` (None without one), `line` and `column` in it."""
        return self.statement.span

    @property
    def schema(self) -> str:
        """Return the schema part of the name."""
        return self.name.rpartition(".")[0] or DEFAULT_SCHEMA

    @property
    def base_name(self) -> str:
        """Return the name without its schema."""
        return self.name.rpartition(".")[2]

    def option(self, name: str, default: str | None = None) -> str | None:
        """Return the value of a WITH option, case-insensitively."""
        options: tuple[s.Option, ...] = getattr(self.statement, "options", ())
        return next((o.value for o in options if o.name.lower() == name), default)

    @property
    def option_place(self) -> OptionPlace:
        """Return the place of its options; that of a sink goes by where it writes."""
        connector = (self.option("connector") or "").lower()
        match self.statement:
            case s.CreateSink() if self.target is not None:
                return OptionPlace.SINK_INTO
            case s.CreateSink():
                return SINK_CONNECTORS.get(connector, OptionPlace.SINK_FILES)
            case s.CreateMaterializedView() | s.CreateView():
                return OptionPlace.MATERIALIZED_VIEW
            case _:
                return OptionPlace.CONNECTED if connector else OptionPlace.TABLE

    def word(self, name: str) -> str | None:
        """Return the word of an option of a few, in lower case, or its default."""
        text = self.option(name, default_of(self.option_place, name))
        return None if text is None else text.lower()

    def is_on(self, name: str) -> bool:
        """Tell whether a boolean WITH option is true, as given or by default."""
        return truth_of(self.option(name, default_of(self.option_place, name)) or "") is True

    @property
    def begins_whole(self) -> bool:
        """Tell whether it starts with the rows that exist already; `snapshot` can say no."""
        return self.word("snapshot") is None or self.is_on("snapshot")


SINK_PREFIX = "sink:"
FUNCTION_PREFIX = "function:"


def kind_of(statement: s.Definition) -> ObjectKind:
    """Return the kind of object that a statement defines; E0341 where there is none yet."""
    kind = _KIND_OF.get(type(statement))
    if isinstance(statement, s.RefusedDefinition):
        kind = _KIND_NAMED.get(statement.kind)
    if kind is None:
        raise not_available(statement)
    return kind


def syntax_kind(statement: s.Definition) -> s.KindWord:
    """Return the kind as CREATE, DROP and SHOW CREATE write it: aggregates are one of their own."""
    if isinstance(statement, s.CreateAggregate):
        return s.KindWord.AGGREGATE
    if isinstance(statement, s.RefusedDefinition):
        return statement.kind
    kind = kind_of(statement)
    return next(written for written, of in _KIND_NAMED.items() if of is kind)


def check_kind(obj: CatalogObject, kind: s.KindWord | None, name: s.ObjectName) -> None:
    """Raise E0203 where a statement says another kind than an object has, or is a part of."""
    kinds = (syntax_kind(obj.statement), syntax_kind(obj.own_statement))
    if kind is not None and kind not in kinds:
        raise BindError(
            "E0203",
            f'"{obj.name}" is a {kinds[-1].value.lower()}',
            span=name.span,
            hint=f"say {kinds[-1].value} {obj.name}",
        )


def kind_of_word(statement: s.Drop | s.Alter) -> ObjectKind | None:
    """Return the kind of object that a DROP or ALTER names; E0341 for one that there is not yet."""
    if statement.kind is None:
        return None
    kind = _KIND_NAMED.get(statement.kind)
    if kind is None:
        raise not_available(statement)
    return kind


def not_available(statement: s.Statement) -> NotSupported:
    """Return the error for a statement about a schema, the one kind that no object has."""
    return NotSupported(
        "E0341",
        f"{statement.words} changes nothing: a schema is the part of a name before the dot",
        span=statement.span,
        hint="leave it out; CREATE TABLE s.t needs nothing before it",
    )


def key_of(name: str, kind: ObjectKind) -> str:
    """Return the catalog key of an object.

    >>> key_of("t", ObjectKind.SINK), key_of("f", ObjectKind.FUNCTION)
    ('sink:t', 'function:f')
    """
    prefix = {ObjectKind.SINK: SINK_PREFIX, ObjectKind.FUNCTION: FUNCTION_PREFIX}.get(kind, "")
    return prefix + name


def name_of(key: str) -> str:
    """Return the name of the object that a key stands for.

    >>> name_of("sink:t")
    't'
    """
    return key.removeprefix(SINK_PREFIX).removeprefix(FUNCTION_PREFIX)


def title_of(key: str) -> str:
    """Return a name that tells a sink or function from a relation of that name.

    >>> title_of("t"), title_of("sink:t")
    ('t', 'sink t')
    """
    return key.replace(":", " ", 1) if key.startswith((SINK_PREFIX, FUNCTION_PREFIX)) else key


def catalog_name(name: s.ObjectName) -> str:
    """Return the catalog's form of a written name: the default schema is left out."""
    return str(name) if name.schema not in (None, DEFAULT_SCHEMA) else name.name


@dataclass(frozen=True)
class Relation:
    """An object as queries see it: columns, stream key, changelog mode and watermarks.

    `columns` has the visible columns first, then hidden key columns. `watermarks` maps a column to
    the group of its origin. `primary_key` is set where the user declared one. `metadata` are
    columns that each message brings about itself; `static` promises that the rows never change.
    Rows of an `external` one are stored elsewhere and looked up by key. With `drops_silently`, rows
    end without a change.
    """

    name: str
    kind: ObjectKind
    columns: Schema
    stream_key: tuple[str, ...]
    mode: ChangelogMode
    watermarks: tuple[tuple[str, str], ...] = ()
    primary_key: tuple[str, ...] = ()
    metadata: tuple[str, ...] = field(default=(), repr=False)
    static: bool = field(default=False, repr=False)
    external: bool = field(default=False, repr=False)
    drops_silently: bool = field(default=False, repr=False)

    @property
    def visible(self) -> Schema:
        """Return the columns that `*` stands for."""
        return tuple(c for c in self.columns if not is_hidden(c.name))
