"""The one table of options: of definitions, of COPY, and of SET.

Names, types, defaults and what `docs/options.md` says of them are here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from enum import Enum
from functools import cache
from typing import Any

from floodmark.catalog.option_values import (
    Boolean,
    Character,
    Count,
    Delimiter,
    Duration,
    DurationWithUnit,
    Folder,
    Integer,
    Keyword,
    Number,
    Seconds,
    Text,
    Timeout,
    Timestamp,
    UnfitError,
    Value,
)
from floodmark.errors import BindError, FloodmarkError
from floodmark.limits import LIMITS
from floodmark.sql.statements import Option


class OptionPlace(Enum):
    """What has options; the value is its title in the docs."""

    CONNECTED = "Sources and tables with a connector"
    TABLE = "Tables"
    FILES = "Connector `files`"
    DEBEZIUM = "Connector `files` with FORMAT DEBEZIUM"
    DELTA = "Connector `delta`"
    LOOKUP = "Connector `lookup`"
    DATAGEN = "Connector `datagen`"
    NEXMARK = "Connector `nexmark`"
    TRANSFORM = "TRANSFORM USING"
    TABLE_AS = "CREATE TABLE … AS"
    MATERIALIZED_VIEW = "Materialized views"
    SINK_INTO = "Sinks into a table"
    SINK_FILES = "Sinks to files"
    SINK_CSV = "Sinks to files as CSV"
    SINK_DELTA = "Sinks to Delta"
    COPY = "COPY"
    COPY_CSV = "COPY of CSV"
    SETTING = "SET"


P = OptionPlace
CONNECTORS: Mapping[str, OptionPlace] = {
    p.name.lower(): p for p in (P.FILES, P.DATAGEN, P.DELTA, P.LOOKUP, P.NEXMARK)
}
"""What has the options of a connector, by its name."""
SINK_CONNECTORS: Mapping[str, OptionPlace] = {"files": P.SINK_FILES, "delta": P.SINK_DELTA}
"""The same for the connectors of sinks."""


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """One option: `default` is its text unless it is given, None where there is none."""

    name: str
    applies_to: tuple[OptionPlace, ...]
    parse: Value
    default: str | None
    doc: str

    def check(
        self,
        option: Option,
        code: str,
        hint: str | None = None,
        kind: type[FloodmarkError] = BindError,
    ) -> Any:
        """Return the value of an option that is given; an error of that kind where it has none."""
        try:
            return self.parse.parse(option.value)
        except UnfitError as error:
            what = f"{self.name} = '{option.value}' {error.problem}"
            raise kind(code, what, span=option.span, hint=hint or self.usage) from None

    @property
    def default_value(self) -> Any:
        """Return the value that it has unless it is given, None where there is none."""
        return None if self.default is None else self.parse.parse(self.default)

    @property
    def usage(self) -> str:
        """Return how the option is written, as a hint; a boolean has the value that is no default.

        >>> specs_of(OptionPlace.SINK_INTO)["on_delete"].usage
        "on_delete = 'row' | 'columns'"
        """
        match self.parse:
            case Keyword(words=words):
                texts = words
            case Boolean():
                texts = ("false" if self.default == "true" else "true",)
            case _:
                texts = (self.parse.example or self.default or "…",)
        return f"{self.name} = '" + "' | '".join(texts) + "'"


FORCED, KEEPING = "force_append_only", "ignore_delete"
_TRUTH = Boolean()
_IN_WITH = (P.CONNECTED, P.TABLE)
_FILE_SINKS = tuple(SINK_CONNECTORS.values())
_SINKS = (P.SINK_INTO, *_FILE_SINKS)
_MODES = Keyword(("strict", "flink", "ignore"), "is none of strict, flink and ignore")
_TABLES = Keyword(("auction", "bid", "person"), example="bid")
_FIELDS = (
    ("kind", Keyword(("random", "sequence")), "random", "How the values of a column are made."),
    ("start", Text(what="a number, or a timestamp"), None, "The first value of a sequence."),
    ("end", Integer(), None, "The last value of a sequence, which then begins again."),
    ("step", Number(-1e9, 1e9), "1.0", "Seconds between the times of a sequence."),
    ("min", Text(what="a number, or a timestamp"), None, "The lowest random value."),
    ("max", Text(what="a number, or a timestamp"), None, "The highest random value."),
    ("length", Integer(0, 1_000_000), "10", "Characters of a random text."),
    ("nulls", Number(0, 1), "0.0", "The share of values that are NULL."),
    ("seed", Integer(), None, "The seed of random values; `datagen.seed` unless given."),
)

FIELDS = tuple(name for name, *_ in _FIELDS)
"""The options of one column of `datagen`."""
OPTIONS: tuple[OptionSpec, ...] = (
    # Sources and tables.
    OptionSpec("connector", _IN_WITH,
               Text("files", what=", ".join(f"`{name}`" for name in CONNECTORS)), None,
               "Where rows come from; a table without one is written by statements."),
    OptionSpec("format", (P.CONNECTED,), Text("json"), None,
               "The encoding, if there is no FORMAT … ENCODE."),
    OptionSpec("encode", (P.CONNECTED,), Text("json"), None, "Another name of `format`."),
    OptionSpec("on_error", _IN_WITH, Keyword(("dead_letter", "fail", "null")), "dead_letter",
               "How to treat a row that does not parse; only `dead_letter` is available."),
    OptionSpec("static", _IN_WITH, _TRUTH, "false",
               "Promises that rows never change: lookups into them keep no state."),
    OptionSpec("max_rows_per_epoch", (P.CONNECTED,), Integer(1, 10**12), str(LIMITS.source_rows),
               "The most rows that one epoch takes in."),
    OptionSpec("watermark.advance", _IN_WITH,
               Text("max(ts) - 5 seconds, now() - 10 minutes", what="terms of `max` and `now()`"),
               None, "The watermark rises to the greatest of these terms."),
    OptionSpec("watermark.idle_after", _IN_WITH, Duration(example="10 minutes"), None,
               "A partition without new rows for this long does not hold the watermark back."),
    OptionSpec("watermark.max_ahead", _IN_WITH, Duration(example="1 day"), None,
               "A row whose time is further ahead of the clock becomes a dead letter."),
    OptionSpec("ttl", (P.TABLE,), Duration(), None, "How long a row is kept."),
    OptionSpec("ttl_column", (P.TABLE,), Text("ts", what="a column with a time"), None,
               "The column from which the TTL counts; without it, the time of the last write."),
    OptionSpec("ttl_mode", (P.TABLE,), Keyword(("delete", "discard"), "is no mode"), None,
               "Whether readers of the table get a delete when a row ends; `discard` is the "
               "default of APPEND ONLY tables, `delete` of others."),
    OptionSpec("retention_seconds", (P.TABLE,), Seconds(), None, "The TTL in seconds."),
    # Connectors.
    OptionSpec("path", (P.FILES,), Folder("landing/orders"), None, "The folder."),
    OptionSpec("match_pattern", (P.FILES,), Text("*.csv", what="a pattern of a shell"), "*",
               "Which files of the folder are read."),
    OptionSpec("follow_symlinks", (P.FILES,), _TRUTH, "false",
               "Reads files outside the folder that a link in it points to."),
    OptionSpec("on_missing", (P.FILES,), Keyword(("error", "null")), "null",
               "Whether a declared column that a file does not have is NULL, or stops the source."),
    OptionSpec("csv.header", (P.FILES, P.SINK_CSV), _TRUTH, "true",
               "The first line has the names of the columns."),
    OptionSpec("csv.delimiter", (P.FILES,), Delimiter(), ",", "The text between values."),
    OptionSpec("csv.delimiter", (P.SINK_CSV,), Delimiter(quote='"'), ",",
               "The text between values."),
    OptionSpec("csv.quote", (P.FILES,), Character(), '"', "The character around values."),
    OptionSpec("csv.escape", (P.FILES,), Character(), '"',
               "The character before a quote inside quotes."),
    OptionSpec("csv.null", (P.FILES,), Text(empty=True), "",
               "The text without quotes that is NULL."),
    OptionSpec("decimal.handling.mode", (P.DEBEZIUM,), Keyword(("double", "precise", "string")),
               "string", "How Debezium encodes a NUMERIC."),
    OptionSpec("binary.handling.mode", (P.DEBEZIUM,), Keyword(("base64", "bytes", "hex")), "bytes",
               "How Debezium encodes a BYTEA."),
    OptionSpec("path", (P.DELTA,), Folder("lake/orders"), None, "The folder of the Delta table."),
    OptionSpec("mode", (P.DELTA,), Keyword(("append", "change_feed")), "append",
               "Whether to read added rows only, or all changes by primary key."),
    OptionSpec("ignore_deletes", (P.DELTA,), _TRUTH, "false",
               "Mode `append` skips commits that only remove files."),
    OptionSpec("skip_change_commits", (P.DELTA,), _TRUTH, "false",
               "Mode `append` skips all commits that remove files, including the rows that they "
               "add."),
    OptionSpec("starting_version", (P.DELTA,), Integer(0), None,
               "Starts with the commit of this version, without earlier rows."),
    OptionSpec("store", (P.LOOKUP,), Keyword(("delta", "sqlite"), example="sqlite"), None,
               "Where the rows are stored: in a Delta table or an SQLite file."),
    OptionSpec("path", (P.LOOKUP,), Text("dim.db", what="a local path"), None,
               "The SQLite file, or the folder of the Delta table."),
    OptionSpec("table", (P.LOOKUP,), Text("dim", what="a name"), None,
               "The table in the SQLite file; the name of this table unless given."),
    OptionSpec("chunk", (P.LOOKUP,), Integer(1, 10**6), "500", "Keys in one query."),
    OptionSpec("busy_seconds", (P.LOOKUP,), Number(0, 3600), "5.0",
               "How long to wait for a locked SQLite file."),
    OptionSpec("datagen.rows", (P.DATAGEN,), Integer(0, 2**46), None,
               "The total number of rows; optional if there is a rate."),
    OptionSpec("datagen.rows.per.second", (P.DATAGEN,), Integer(1, 10**9), None,
               "The rate at which rows appear; without it, all appear at once."),
    OptionSpec("datagen.start", (P.DATAGEN,), Timestamp(), "2024-01-01 00:00:00",
               "When the first row appears."),
    OptionSpec("datagen.seed", (P.DATAGEN,), Integer(), "0", "The seed of random values."),
    *(OptionSpec(f"fields.<column>.{name}", (P.DATAGEN,), value, default, doc)
      for name, value, default, doc in _FIELDS),
    OptionSpec("nexmark.table.type", (P.NEXMARK,), _TABLES, None, "Which of the three tables to "
    "generate."),
    OptionSpec("nexmark.event.num", (P.NEXMARK,), Integer(0, 10**12), None,
               "The number of events of all three tables together."),
    OptionSpec("nexmark.seed", (P.NEXMARK,), Integer(), "0", "The seed of the events."),
    OptionSpec("nexmark.event.rate", (P.NEXMARK,), Integer(1, 10**9), "10000",
               "The number of events per second of event time."),
    OptionSpec("nexmark.base.time", (P.NEXMARK,), Timestamp(), "2015-07-15 00:00:00",
               "The time of the first event."),
    OptionSpec("nexmark.out.of.order.group.size", (P.NEXMARK,), Integer(1, 10**6), "1",
               "Events are shuffled within groups of this size."),
    # Queries.
    OptionSpec("split", (P.TRANSFORM,), _TRUTH, "false",
               "Moves the part that needs several rows into a materialized view, which takes the "
               "other options."),
    OptionSpec("continuous", (P.TABLE_AS,), _TRUTH, "true",
               "Whether a sink continues to feed the table; other options belong to the table."),
    OptionSpec("type", (P.SINK_INTO,), Keyword(("append-only", "upsert")), None,
               "Which changes the sink writes."),
    OptionSpec("connector", _FILE_SINKS, Keyword(tuple(SINK_CONNECTORS)), None,
               "Whether to write files "
    "or a Delta table."),
    OptionSpec("path", _FILE_SINKS, Folder("out/orders"), None, "The folder to write to."),
    OptionSpec("type", _FILE_SINKS, Keyword(("append-only", "upsert", "retract")), None,
               "Writes rows, rows by key, or every change; `append-only` is for queries that "
               "only add rows."),
    OptionSpec("primary_key", _FILE_SINKS, Text("k, g", what="columns with commas between"), None,
               "The key of type `upsert`; the key of the query unless given."),
    OptionSpec("format", (P.SINK_FILES,), Keyword(("csv", "json", "parquet")), None,
               "The encoding, if there is no FORMAT … ENCODE."),
    OptionSpec("encode", (P.SINK_FILES,), Keyword(("csv", "json", "parquet")), None,
               "Another name of `format`."),
    OptionSpec("rows_per_file", (P.SINK_FILES,), Count(10**9), str(LIMITS.sink_file_rows),
               "The most rows in one file."),
    OptionSpec(FORCED, _SINKS, _TRUTH, "false",
               "Drops deletes, and writes the new rows of updates as inserts."),
    OptionSpec(KEEPING, _SINKS, _TRUTH, "false", "Keeps rows that the query deletes."),
    OptionSpec("backfill", (P.SINK_INTO,),
               Keyword(("diff", "none"), "is not a way to go on with another query"), None,
               "After ALTER SINK … AS, whether the target's rows are adjusted to the new query."),
    OptionSpec("on_delete", (P.SINK_INTO,),
               Keyword(("row", "columns"), "is neither 'row' nor 'columns'"), "row",
               "Whether a delete removes the row, or clears the columns that the sink lists."),
    OptionSpec("snapshot", (P.MATERIALIZED_VIEW, P.SINK_INTO), _TRUTH, "true",
               "With `false`, the view or sink starts with the rows that come, without those "
               "that exist already."),
    OptionSpec("refresh", (P.MATERIALIZED_VIEW,),
               Keyword(("full",), "is not available: there is 'full'"), None,
               "Recomputes all rows when an input changes, instead of maintaining them "
               "incrementally."),
    OptionSpec("determinism", (P.MATERIALIZED_VIEW, *_SINKS), _MODES, "strict",
               "How to treat an expression that may give another value when it is evaluated "
               "again."),
    # Statements.
    OptionSpec("format", (P.COPY,), Keyword(("csv", "json", "parquet")), None,
               "The format of the file; derived from its name unless given."),
    OptionSpec("header", (P.COPY_CSV,), _TRUTH, "false",
               "The first line has the names of the columns."),
    OptionSpec("delimiter", (P.COPY_CSV,), Delimiter(quote='"'), None,
               "The text between values; `,` unless given, and a tab for `.tsv`."),
    OptionSpec("null", (P.COPY_CSV,), Text(empty=True), "",
               "The text without quotes that is NULL."),
    OptionSpec("retention", (P.SETTING,), DurationWithUnit(), "7 days",
               "How long changes, late rows and old epochs are kept."),
    OptionSpec("determinism", (P.SETTING,), _MODES, "strict",
               "The default of this option for views and sinks that are created afterwards."),
    OptionSpec("max_due_rows", (P.SETTING,), Count(10**9), str(LIMITS.max_due_rows),
               "The most rows that come or go in one epoch because time has passed."),
    OptionSpec("partitions", (P.SETTING,), Keyword(("hour", "day", "week", "month")), "day",
               "The spans of event time by which an orchestrator shows final rows."),
    OptionSpec("plan_nodes", (P.SETTING,), Count(10**6), str(LIMITS.plan_nodes),
               "A query of an epoch with more nodes is split."),
    OptionSpec("max_clock_jump", (P.SETTING,), DurationWithUnit(example="1 day"), "1 day",
               "How far the clock may be ahead of the time that the machine has measured since "
               "the last " "epoch."),
    OptionSpec("query_timeout", (P.SETTING,), Timeout(timedelta(days=30), "10 minutes"),
               "10 minutes",
               "How long the work on an object may take in one epoch; while a new object is "
               "filled, there is a " "limit only if SET is used."),
)  # fmt: skip
"""Every option that anything has."""


@cache
def specs_of(*places: OptionPlace) -> Mapping[str, OptionSpec]:
    """Return the options of some places together, by name."""
    return {spec.name: spec for spec in OPTIONS if {*places} & {*spec.applies_to}}


def default_of(place: OptionPlace, name: str) -> str | None:
    """Return the text that an option has unless it is given; None where a place has no such."""
    spec = specs_of(place).get(name)
    return None if spec is None else spec.default


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint that names what may have been meant.

    >>> nearest("pth", ["path", "seed"])
    'did you mean path? known: path, seed'
    """
    names = sorted(known)
    close = get_close_matches(name, names, n=2, cutoff=0.5)
    meant = f"did you mean {' or '.join(close)}? " if close else ""
    return f"{meant}known: {', '.join(names)}"


def refuse_unknown(
    names: Iterable[str], known: Iterable[str], error: Callable[[str, str], Exception]
) -> None:
    """Raise what `error` makes of the first name that is not known, and of a hint."""
    known = frozenset(known)
    for name in names:
        if name not in known:
            raise error(name, nearest(name, known))
