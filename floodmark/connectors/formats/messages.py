"""Messages in JSON lines: what FORMAT DEBEZIUM and FORMAT UPSERT have in common.

A line is parsed into text cells. Its operation is settled per message, and every cell is converted
on its own: a value that does not fit makes its message corrupt, and nothing raises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from floodmark.connectors.absent import absent_key
from floodmark.connectors.base import BEFORE, DELETES, FAULT, IGNORED, OPERATION, REASON, UPSERTS
from floodmark.connectors.formats.logical_types import DECIMAL, NAMED, from_bytes, from_number
from floodmark.connectors.formats.text import cell_places, convert, unlike
from floodmark.connectors.formats.wrong_lines import why_unparsed
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.types import Kind, Schema, SqlType
from floodmark.spark.json_numbers import mark_numbers, unmark_numbers
from floodmark.spark.json_text import STRICT, is_one_value
from floodmark.spark.types import ident, spark_type

PARSED, UNPARSED = "__parsed", "__unparsed"
KIND, NEW, OLD, WHY = "__kind", "__new", "__old", "__why"
_OPTIONS = f"map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '{UNPARSED}', {STRICT})"
_WHOLE = "'^-?[0-9]{1,19}$'"

JsonPath = Sequence[str]
"""Spark texts of columns."""


@dataclass(frozen=True, slots=True)
class Coding:
    """How values are written that JSON has no form for.

    With `precise` a NUMERIC is the bytes of a whole number, without the point, as base64; with
    `base64` a BYTEA is base64 instead of hexadecimal digits.
    """

    precise: bool = False
    base64: bool = False


@dataclass(frozen=True)
class Lines:
    """What of the lines is wanted: the columns, the key, and how keys of JSON write them too."""

    schema: Schema
    key: tuple[str, ...]
    variants: Sequence[str]
    coding: Coding = field(default_factory=Coding)
    tells: bool = False

    @property
    def logical_places(self) -> list[int]:
        """Return the places of the columns whose logical types messages can tell."""
        return [i for i, c in enumerate(self.schema) if self.tells and c.type.kind in NAMED]

    @property
    def json_ddl(self) -> str:
        """Return the fields of a row as JSON names them, as Spark DDL."""
        names = [*(c.name for c in self.schema), *self.variants]
        return ", ".join(f"{ident(name)} STRING" for name in names)

    @property
    def cells(self) -> Sequence[str]:
        """Return the fields of a row by place: Spark cannot tell names in other case."""
        return [f"c{i}" for i in range(len(self.schema) + len(self.variants))]

    @property
    def place_ddl(self) -> str:
        """Return these fields as a Spark type."""
        return ", ".join(f"{name}: STRING" for name in self.cells)


@dataclass(frozen=True)
class MessageForm:
    """How the lines of a format look.

    `steps` are selections: the first one over `value`, each further one over the one before. The
    last one has `__kind` (the operation), `__new` and `__old` (rows of cells c0, c1 …), `__why`
    (the code of what is wrong), and the columns that the texts of `metadata` read. `rows` finds the
    rows in a parsed line. `row` is the text of the new row as JSON, over the last of the steps.
    Where the form `tells`, they also have the columns' logical types, by `logical_type`.
    """

    steps: Callable[[Lines], Sequence[JsonPath]]
    rows: Callable[[Mapping[str, Any]], Sequence[Any]]
    row: str
    metadata: Mapping[str, tuple[SqlType, str]] = field(default_factory=dict)
    coding: Coding = field(default_factory=Coding)
    tells: bool = False


def logical_type(place: int) -> str:
    """Return the name of the column with the logical type of the column at a place."""
    return f"__logical{place}"


def print_parse(names: str, places: str) -> str:
    """Return the text that parses `value` by its names, and calls what it finds by other ones.

    It is NULL where the line is more than one value.
    """
    ddl = quote(f"{names}, {UNPARSED} STRING")
    struct = f"struct<{places}, {UNPARSED}: STRING>"
    found = f"CAST(from_json({mark_numbers('value')}, {ddl}, {_OPTIONS}) AS {struct})"
    return f"CASE WHEN {is_one_value('value')} THEN {found} END"


def message_columns(lines: Lines) -> list[str]:
    """Return the texts of the contract's columns of messages, over the last of the steps."""
    texts, old = [], []
    bad = ["NOT is_valid_utf8(value)"]
    said = [quote("the line is not UTF-8")]
    for i, places in enumerate(cell_places(lines.schema, lines.variants)):
        column = lines.schema[i]
        name, in_key = ident(column.name), column.name in lines.key
        raw = cell(NEW, places)
        value = _value(lines, i, raw)
        texts.append(f"{value} AS {name}")
        counts = "" if in_key else f"{KIND} = '{UPSERTS}' AND "
        bad.append(f"({counts}{raw} IS NOT NULL AND {value} IS NULL)")
        said.append(unlike(column.name, raw, column.type))
        raw = cell(OLD, places)
        value = _value(lines, i, raw)
        old.append(f"{value} AS {name}")
        if in_key:
            bad.append(f"({raw} IS NOT NULL AND {value} IS NULL)")
            said.append(unlike(column.name, raw, column.type))
    whens = " ".join(f"WHEN {test} THEN {text}" for test, text in zip(bad, said, strict=True))
    line = why_unparsed("value", "the line is not one message of this format")
    wrong = f"{WHY} IS NOT NULL OR ({KIND} <> '{IGNORED}' AND ({' OR '.join(bad)}))"
    return [
        *texts,
        f"CASE WHEN {wrong} THEN make_valid_utf8(value) END AS __corrupt",
        # Worked out for corrupt rows alone.
        f"CASE WHEN {wrong} THEN CASE WHEN {WHY} IS NOT NULL THEN {line} {whens} END END "
        f"AS {REASON}",
        f"CAST({WHY} AS INT) AS {FAULT}",
        f"{KIND} AS {OPERATION}",
        f"CASE WHEN {OLD} IS NOT NULL THEN struct({', '.join(old)}) END AS {BEFORE}",
    ]


def lacking(lines: Lines, defaulted: Sequence[str], row: str) -> list[str]:
    """Return the texts that say which columns a message's new row lacks."""
    pairs = zip(lines.schema, cell_places(lines.schema, lines.variants), strict=True)
    cells = {column.name: cell(NEW, places) for column, places in pairs}
    return [absent_key(cells[c], row, c, lines.variants) for c in defaulted]


def no_message(schema: Schema) -> list[str]:
    """Return the texts of the columns of messages for what is none: a file that is not read."""
    before = ",".join(f"{ident(c.name)}:{spark_type(c.type)}" for c in schema)
    return [
        f"CAST(NULL AS INT) AS {FAULT}",
        f"'{UPSERTS}' AS {OPERATION}",
        f"CAST(NULL AS struct<{before}>) AS {BEFORE}",
    ]


def kind(ignored: str, deletes: str) -> str:
    """Return the text of the operation: conditions that are neither make it an upsert."""
    return (
        f"CASE WHEN {ignored} THEN '{IGNORED}' WHEN {deletes} THEN '{DELETES}' "
        f"ELSE '{UPSERTS}' END AS {KIND}"
    )


def cell(row: str, places: Sequence[int]) -> str:
    """Return the text of a cell: of the first of its places that has one."""
    cells = [unmark_numbers(f"{row}.c{place}", "value") for place in places]
    return cells[0] if len(cells) == 1 else f"coalesce({', '.join(cells)})"


def _value(lines: Lines, place: int, raw: str) -> str:
    """Return the text of a cell's value; times are also numbers, as change capture writes them."""
    type_ = lines.schema[place].type
    logical = logical_type(place) if place in lines.logical_places else None
    if type_.kind is Kind.BYTEA and lines.coding.base64:
        # A backslash is no digit of base64.
        digits = convert(raw, type_)
        of_text = f"try_to_binary({raw}, 'base64')"
        return f"CASE WHEN startswith({raw}, '\\\\x') THEN {digits} ELSE {of_text} END"
    if type_.kind is Kind.NUMERIC and lines.coding.precise:
        return from_bytes(raw, type_)
    value = convert(raw, type_)
    if type_.kind is Kind.NUMERIC and logical is not None:
        # Bytes of another scale are other numbers than the column would say.
        scaled = f"WHEN {logical} = '{DECIMAL}:{type_.scale}' THEN {from_bytes(raw, type_)}"
        return f"CASE {scaled} WHEN startswith({logical}, '{DECIMAL}') THEN NULL ELSE {value} END"
    counted = from_number(raw, type_, logical)
    return (
        value
        if counted is None
        else f"CASE WHEN {raw} RLIKE {_WHOLE} THEN {counted} ELSE {value} END"
    )
