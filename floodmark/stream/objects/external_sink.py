"""Sinks to the outside: what the options say, and whether the query's rows can be written so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from os.path import normpath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from floodmark.catalog.objects import CatalogObject
from floodmark.catalog.option_table import (
    FORCED,
    KEEPING,
    SINK_CONNECTORS,
    OptionPlace,
    nearest,
    specs_of,
)
from floodmark.catalog.option_values import Folder, UnfitError
from floodmark.changelog import ChangelogMode, is_hidden
from floodmark.errors import BindError, NotSupported, Span
from floodmark.scalar.types import VARCHAR, Field, Kind, Schema
from floodmark.sql import statements as s
from floodmark.stream.objects.external_sink_types import check_types

if TYPE_CHECKING:
    from floodmark.plan.declaration import Declaration
    from floodmark.stream.operators.lower import StreamPlan

FILES, DELTA = "files", "delta"
OP = "op"
"""VARCHAR: the column with the row kind; `changelog_op` where the query has a column `op`."""
_NOT_YET = ("kafka", "jdbc", "iceberg", "s3", "elasticsearch", "redis")
_SPECS = specs_of(*SINK_CONNECTORS.values(), OptionPlace.SINK_CSV)


class SinkType(StrEnum):
    """What a sink writes: rows; rows by key and deletes; every change."""

    APPEND_ONLY = "append-only"
    UPSERT = "upsert"
    RETRACT = "retract"


@dataclass(frozen=True)
class ExternalSink:
    """A CREATE SINK to the outside, bound.

    `path` is the folder that it lies in, absolute: every connector of sinks has one. `encode` is
    that of files, "parquet" for Delta. `columns` are those of the query; `key` are the columns by
    which rows are replaced, of type upsert. Without `rows_per_file` the warehouse's limits decide.
    """

    connector: str
    type: SinkType
    path: Path
    encode: str
    columns: Schema
    key: tuple[str, ...] = ()
    rows_per_file: int | None = None
    header: bool = True
    delimiter: str = ","

    @property
    def op(self) -> str | None:
        """Return the name of the column with the row kind, if there is one."""
        if self.type is SinkType.APPEND_ONLY or (self.connector, self.type) == (DELTA, _UPSERT):
            return None
        taken, name = {f.name.lower() for f in self.columns}, OP
        while name in taken:
            name = f"changelog_{name}"
        return name

    @property
    def written_columns(self) -> Schema:
        """Return the columns at the outside: the row kind first, where there is one."""
        head = () if self.op is None else (Field(self.op, VARCHAR),)
        return (*head, *self.columns)


_UPSERT = SinkType.UPSERT


class _HasExternalSink(Protocol):
    """An object that may be at a path."""

    @property
    def name(self) -> str: ...

    @property
    def external_sink(self) -> ExternalSink | None: ...


class _HasFeeders(Protocol):
    """An object, and what flows into it."""

    @property
    def name(self) -> str: ...

    @property
    def declared(self) -> Declaration | None: ...

    @property
    def reads(self) -> tuple[str, ...]: ...

    @property
    def feeders(self) -> tuple[str, ...]: ...


def bind_external_sink(obj: CatalogObject, plan: StreamPlan) -> ExternalSink:
    """Return what a sink says, checked against its query.

    Raises E0720 to E0725, and E0706 for updates into a sink that only adds rows.
    """
    statement = obj.statement
    assert isinstance(statement, s.CreateSink)
    options = _Options(statement)
    connector = _connector(options)
    type_ = _type(options, plan)
    columns = tuple(Field(f.name, f.type) for f in plan.root.schema if not is_hidden(f.name))
    encode = _parquet(statement) if connector == DELTA else _encode(options, statement)
    places = [SINK_CONNECTORS[connector]]
    places += [OptionPlace.SINK_CSV] if encode == "csv" else []
    options.check_names(specs_of(*places), connector)
    forced, keeping = options.read(FORCED), options.read(KEEPING)
    _check_mode(options, plan, type_, forced=forced or keeping)
    own_size = options.text("rows_per_file") is not None
    sink = ExternalSink(
        connector=connector,
        type=type_,
        path=_path(options, obj.resolved),
        encode=encode,
        columns=columns,
        key=_key(options, plan, connector) if type_ is _UPSERT else _no_key(options),
        rows_per_file=options.read("rows_per_file") if own_size else None,
        header=options.read("csv.header"),
        delimiter=options.read("csv.delimiter"),
    )
    check_types(sink.written_columns, encode, statement.name.span)
    return sink


def check_alone(sink: ExternalSink, obj: CatalogObject, others: Iterable[_HasExternalSink]) -> None:
    """Raise E0722 where another sink writes to the same path, or below or above it."""
    for other in others:
        there = None if other.external_sink is None else other.external_sink.path
        if there is not None and _overlap(there, sink.path):
            raise BindError(
                "E0722",
                f"the sink {other.name} writes to {there} already",
                span=_Options(obj.statement).span("path"),
                hint="give each sink a folder of its own",
            )


def check_no_circle(sink: ExternalSink, obj: CatalogObject, folders: Mapping[str, Path]) -> None:
    """Raise E0722 where the sink's rows would come back: `folders` are those its query reads."""
    for source, folder in folders.items():
        if _overlap(folder, sink.path):
            raise BindError(
                "E0722",
                f"the sink would write into {folder}, the folder of {source}, which its query "
                "reads",
                span=_Options(obj.statement).span("path"),
                hint="write to a folder that nothing upstream reads",
            )


def folders(reads: Iterable[str], done: Mapping[str, _HasFeeders]) -> dict[str, Path]:
    """Return, by source, the folders that the objects of some keys are fed from."""
    out: dict[str, Path] = {}
    left, seen = list(reads), set[str]()
    while left:
        obj = done.get(key := left.pop())
        if obj is None or key in seen:
            continue
        seen.add(key)
        declared = obj.declared
        text = None if declared is None else declared.connecting.get("path")
        path = None if text is None else local_path(text)
        if path is not None:
            out[obj.name] = path
        left += [*obj.reads, *obj.feeders]
    return out


def _overlap(one: Path, other: Path) -> bool:
    return one == other or one in other.parents or other in one.parents


def local_path(text: str) -> Path | None:
    """Return the absolute local path of a path or file:// URL, None for any other URL.

    >>> local_path("file:///tmp/out").as_posix(), local_path("s3://bucket/out")
    ('/tmp/out', None)
    """
    return Path(normpath(_SPECS["path"].parse.parse(text))) if _takes("path", text) else None


class _Options:
    """The WITH options of a sink, and those behind FORMAT … ENCODE."""

    def __init__(self, statement: s.Statement) -> None:
        assert isinstance(statement, s.CreateSink)
        behind = () if statement.format is None else statement.format.options
        self.statement = statement
        self.given = {o.name.lower(): o for o in (*statement.options, *behind)}

    def text(self, name: str) -> str | None:
        """Return an option's text."""
        return self.given[name].value if name in self.given else None

    def span(self, name: str) -> Span | None:
        """Return where an option stands, else the sink's name."""
        option = self.given.get(name)
        return self.statement.name.span if option is None else option.span

    def wrong(self, name: str, what: str, hint: str) -> BindError:
        """Return E0721 for an option whose value does not do."""
        value = self.text(name)
        return BindError("E0721", f"{name} = '{value}': {what}", span=self.span(name), hint=hint)

    def check_names(self, known: Iterable[str], connector: str) -> None:
        """Raise E0721 for an option that a sink of the connector does not have."""
        allowed = sorted(known)
        for name, option in self.given.items():
            if name not in allowed:
                raise BindError(
                    "E0721",
                    f"a sink to {connector} has no option {name!r}",
                    span=option.span,
                    hint=nearest(name, allowed),
                )

    def read(self, name: str) -> Any:
        """Return the value of an option, or its default; E0721 where it has none."""
        option, spec = self.given.get(name), _SPECS[name]
        return spec.default_value if option is None else spec.check(option, "E0721")


def _takes(name: str, text: str) -> bool:
    try:
        _SPECS[name].parse.parse(text)
    except UnfitError:
        return False
    return True


def _connector(options: _Options) -> str:
    name = (options.text("connector") or "").lower()
    if _takes("connector", name):
        return name
    words = " or ".join(f"'{word}'" for word in SINK_CONNECTORS)
    hint = f"connector = {words}; or CREATE SINK … INTO a table"
    what = "is not available yet" if name in _NOT_YET else "is not known"
    span = options.span("connector")
    raise NotSupported("E0720", f"a sink with connector = '{name}' {what}", span=span, hint=hint)


def _type(options: _Options, plan: StreamPlan) -> SinkType:
    if options.text("type") is None:
        appends = plan[plan.root].append_only or options.read(FORCED) or options.read(KEEPING)
        if appends:
            return SinkType.APPEND_ONLY
        raise BindError(
            "E0721",
            "the query updates its rows, and the sink does not say how to write that",
            span=options.statement.name.span,
            hint=f"add {_SPECS['type'].usage}",
        )
    return SinkType(options.read("type"))


def _check_mode(options: _Options, plan: StreamPlan, type_: SinkType, *, forced: bool) -> None:
    if type_ is SinkType.APPEND_ONLY:
        if plan[plan.root].mode is ChangelogMode.APPEND_ONLY or forced:
            return
        raise BindError(
            "E0706",
            "The sink cannot be append-only: the query updates its rows.",
            span=options.span("type"),
            hint=f"type = 'upsert' or 'retract'; {FORCED} = 'true' drops deletes and writes the "
            "new rows of updates",
        )
    if options.read(FORCED):
        raise options.wrong(FORCED, f"it says nothing of type = '{type_}'", "leave it out")


def _path(options: _Options, resolved: str | None) -> Path:
    if options.text("path") is None:
        raise BindError(
            "E0721",
            "a sink to the outside needs a path",
            span=options.span("path"),
            hint="add path = '…', a folder of this machine",
        )
    path: Path = options.read("path")
    return local_path(resolved or "") or Path(normpath(path))


def _encode(options: _Options, statement: s.CreateSink) -> str:
    written = statement.format
    if written is not None and written.format != "PLAIN":
        raise NotSupported(
            "E0723",
            f"a sink does not write FORMAT {written.format} yet",
            span=written.span,
            hint="FORMAT PLAIN with type = 'append-only', 'upsert' or 'retract'",
        )
    named = None if written is None else written.encode
    said = (named, options.text("encode"), options.text("format"))
    text = next((word for word in said if word is not None), None)
    if text is None or not _takes("format", text):
        what = "the sink says no format" if text is None else f"a sink writes no {text}"
        span = options.span("format") if written is None else written.span
        raise NotSupported(
            "E0723", what, span=span, hint="FORMAT PLAIN ENCODE {JSON | CSV | PARQUET}"
        )
    return text.lower()


def check_new_sink(statement: s.CreateSink) -> None:
    """Raise E0721 for what a sink says twice, and for a folder of another host.

    This is for new definitions. A definition in the log is read as `ExternalSink` reads it.
    """
    given = {option.name.lower(): option for option in statement.options}
    for option in () if statement.format is None else statement.format.options:
        if option.name.lower() in given:
            raise _conflicting_option(option, f"{option.name} is in WITH, too", "keep one of them")
    _check_host(_Options(statement))
    said = None if statement.format is None else statement.format.encode
    by = "FORMAT … ENCODE"
    for name in ("encode", "format"):
        if name in given:
            option = given[name]
            if said is not None and option.value.lower() != said.lower():
                what = f"{name} = '{option.value}' is not what {by} says"
                raise _conflicting_option(
                    option, what, f"write {name} = '{said.lower()}', or leave it out"
                )
            said, by = option.value, name


def _check_host(options: _Options) -> None:
    folder = _SPECS["path"].parse
    assert isinstance(folder, Folder)
    try:
        folder.check_host(options.text("path") or "")
    except UnfitError as error:
        raise options.wrong("path", error.problem, _SPECS["path"].usage) from None


def _conflicting_option(option: s.Option, what: str, hint: str) -> BindError:
    return BindError("E0721", what, span=option.span, hint=hint)


def _parquet(statement: s.CreateSink) -> str:
    """Return what the files of a Delta table are, whatever is said: E0723 for anything else."""
    written = statement.format
    if written is not None and (written.format, written.encode) != ("PLAIN", "PARQUET"):
        raise NotSupported(
            "E0723",
            "the files of a Delta table are Parquet: the sink takes no other format",
            span=written.span,
            hint="leave FORMAT … ENCODE out; connector = 'files' writes JSON and CSV",
        )
    return "parquet"


def _no_key(options: _Options) -> tuple[str, ...]:
    if options.read("primary_key") is not None:
        raise options.wrong("primary_key", "only type = 'upsert' has a key", "leave it out")
    return ()


_INEXACT = (Kind.REAL, Kind.DOUBLE, Kind.INTERVAL, Kind.LIST, Kind.STRUCT, Kind.MAP)


def _key(options: _Options, plan: StreamPlan, connector: str) -> tuple[str, ...]:
    """Return the columns of an upsert key: those that are named, else the stream key."""
    shown = {f.name: f.type for f in plan.root.schema if not is_hidden(f.name)}
    text = options.read("primary_key")
    if text is None:
        key = plan[plan.root].stream_key
        if not key or any(c not in shown for c in key):
            raise BindError(
                "E0725",
                "the sink's columns do not identify its rows",
                span=options.span("type"),
                hint="add primary_key = 'column, …' with columns of the query, or select its key",
            )
    else:
        key = tuple(c.strip().strip('"') for c in text.split(","))
        for column in key:
            if column not in shown:
                known = ", ".join(shown)
                raise options.wrong("primary_key", f'no column "{column}"', f"columns: {known}")
        if len(set(key)) < len(key):
            raise options.wrong("primary_key", "a column is named twice", "name it once")
    for column in key:
        if connector == DELTA and shown[column].kind in _INEXACT:
            raise BindError(
                "E0725",
                f'the key column "{column}" is {shown[column]}: its values cannot be looked up',
                span=options.span("primary_key"),
                hint="use key columns that are whole numbers, exact decimals, texts or times",
            )
    return key
