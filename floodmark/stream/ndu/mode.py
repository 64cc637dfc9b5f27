"""How an object treats non-deterministic updates: its option `determinism`."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from floodmark.catalog.objects import CatalogObject
from floodmark.catalog.option_table import OptionPlace, specs_of
from floodmark.catalog.splitting import is_split
from floodmark.errors import Span
from floodmark.sql import statements as s
from floodmark.sql.parse import parse_statement

OPTION = "determinism"


class DeterminismMode(Enum):
    """How expressions are treated that may give another value at a second evaluation.

    `STRICT` repairs what it can and refuses the rest. `FLINK` accepts and refuses what Flink's
    TRY_RESOLVE does. `IGNORE` accepts everything, with notes.
    """

    STRICT = "strict"
    FLINK = "flink"
    IGNORE = "ignore"


def mode_of(obj: CatalogObject) -> DeterminismMode:
    """Return the mode of a view or sink; E0324 for a value that is none."""
    options: tuple[s.Option, ...] = getattr(obj.statement, "options", ())
    for option in options:
        if option.name.lower() == OPTION:
            return parse_mode(option)
    return DeterminismMode.STRICT


def parse_mode(option: s.Option) -> DeterminismMode:
    """Return the mode that an option names; E0324 where it names none."""
    spec = specs_of(OptionPlace.MATERIALIZED_VIEW)[OPTION]
    return DeterminismMode(spec.check(option, "E0324", "strict is the default"))


def with_default(statement: s.Definition, mode: DeterminismMode) -> s.Definition:
    """Return a definition with the mode written into its options, unless it names one itself.

    Strict needs no writing; only views that are stored, split sources among them, and sinks have a
    mode.
    """
    places = [] if mode is DeterminismMode.STRICT else list(_places(statement))
    if not places:
        return statement
    place, text = statement.span, statement.sql
    clause = f"{OPTION} = '{mode.value}'"
    for first in reversed(places):
        if first is None:
            text = f"{text}\nWITH ({clause})"
        else:
            at = first.start - place.start
            text = f"{text[:at]}{clause}, {text[at:]}"
    written = parse_statement(text, place.file, line=place.line, column=place.column)
    assert isinstance(written, s.Definition)
    return written


def _places(statement: s.Definition) -> Iterator[Span | None]:
    """Iterate over the options before which a mode is to be written; None: there are none yet."""
    lists: list[tuple[s.Option, ...]] = []
    if isinstance(statement, s.CreateMaterializedView | s.CreateSink):
        lists = [statement.options]
    elif isinstance(statement, s.CreateSource):
        lists = [t.options for t in statement.transforms if is_split(t)]
    for options in lists:
        if not any(option.name.lower() == OPTION for option in options):
            yield options[0].span if options else None
