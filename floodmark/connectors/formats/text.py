"""CSV and JSON lines: how a line becomes a row.

A line is parsed into text cells first. Then every cell is converted on its own: a value that does
not fit its type makes its row corrupt, and nothing raises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from floodmark.connectors.base import REASON
from floodmark.connectors.formats.logical_types import within_a_day
from floodmark.connectors.formats.wrong_lines import has_no_column, no_column, why_unparsed
from floodmark.errors import UserError
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.functions.years import ENDS
from floodmark.scalar.types import Kind, Schema, SqlType, is_bare
from floodmark.spark.casts import float_in_range, holds_digits, near_zero
from floodmark.spark.excerpt import excerpt
from floodmark.spark.json_numbers import mark_numbers, unmark_numbers
from floodmark.spark.json_text import STRICT, is_one_value, jsonb
from floodmark.spark.types import ident, spark_type

_NESTED = (Kind.LIST, Kind.STRUCT, Kind.MAP)
_PARSED = "__parsed"
_LINE, _WRONG = "__value", "__wrong"
_UNPARSED = "__unparsed"
_MEMBER = "__t"


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """How cells are written; `null` is the text of a NULL beside the empty cell."""

    header: bool = True
    delimiter: str = ","
    quote: str = '"'
    escape: str = '"'
    null: str = ""


def check_text_types(source: str, schema: Schema) -> None:
    """Refuse column types that have no text form here."""
    for column in schema:
        if _has_interval(column.type):
            raise UserError(
                "E0479",
                f"source {source}: column {column.name} of type {column.type} "
                "cannot be read from text",
                hint="read it as VARCHAR and cast it in the query",
            )


def _has_interval(type_: SqlType) -> bool:
    parts = (type_.key, type_.element, *(f.type for f in type_.fields))
    return type_.kind is Kind.INTERVAL or any(_has_interval(p) for p in parts if p is not None)


def cell_places(schema: Schema, variants: Sequence[str]) -> list[tuple[int, ...]]:
    """Return for each column the places of the cells that can hold it.

    >>> from floodmark.scalar.types import INT, Field
    >>> cell_places((Field("a", INT), Field("b", INT)), ["B"])
    [(0,), (1, 2)]
    """
    lower = [name.lower() for name in variants]
    return [
        (i, *(len(schema) + j for j, name in enumerate(lower) if name == column.name.lower()))
        for i, column in enumerate(schema)
    ]


def json_cells(schema: Schema, variants: Sequence[str] = ()) -> str:
    """Return the Spark text that parses the column `value` into cells c0, c1, …

    `variants` are keys that stand for columns of the same name in other case: Spark can parse
    them, but not tell them apart by name.
    """
    names = [*(c.name for c in schema), *variants]
    ddl = quote("".join(f"{ident(name)} STRING, " for name in names) + f"{_UNPARSED} STRING")
    options = f"map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '{_UNPARSED}', {STRICT})"
    places = "".join(f"c{i}: STRING, " for i in range(len(names)))
    struct = f"struct<{places}{_UNPARSED}: STRING>"
    parsed = f"CAST(from_json({mark_numbers('value')}, {ddl}, {options}) AS {struct})"
    return f"CASE WHEN {is_one_value('value')} THEN {parsed} END AS {_PARSED}"


def exact_cells(schema: Schema, variants: Sequence[str] = ()) -> str:
    """Return the Spark text of the cells over `json_cells`: numbers as they are written."""
    cells = (
        f"'c{i}', {unmark_numbers(f'{_PARSED}.c{i}', 'value')}, "
        for i in range(len(schema) + len(variants))
    )
    struct = f"named_struct({''.join(cells)}'{_UNPARSED}', {_PARSED}.{_UNPARSED})"
    return f"CASE WHEN {_PARSED} IS NOT NULL THEN {struct} END AS {_PARSED}"


def csv_cells(columns: Sequence[str], dialect: CsvDialect) -> str:
    """Return the Spark text that parses the column `value`; cells are called c0, c1, …"""
    cells = ", ".join(f"c{i} STRING" for i in range(len(columns)))
    ddl = quote(f"{cells}, {ident(_UNPARSED)} STRING")
    settings = {
        "mode": "PERMISSIVE",
        "columnNameOfCorruptRecord": _UNPARSED,
        "sep": dialect.delimiter.replace("\\", r"\\"),
        "quote": dialect.quote,
        "escape": dialect.escape,
        "nullValue": dialect.null,
        "maxCharsPerColumn": "-1",
    }
    pairs = ", ".join(f"{quote(k)}, {quote(v)}" for k, v in settings.items())
    return f"from_csv(value, {ddl}, map({pairs})) AS {_PARSED}"


def json_cell_names(schema: Schema, variants: Sequence[str] = ()) -> dict[str, str | None]:
    """Return for each declared column the text of the cell that holds it.

    >>> from floodmark.scalar.types import INT, Field
    >>> json_cell_names((Field("a", INT), Field("b", INT)), ["B"])
    {'a': '__parsed.c0', 'b': 'coalesce(__parsed.c1, __parsed.c2)'}
    """
    out: dict[str, str | None] = {}
    for column, places in zip(schema, cell_places(schema, variants), strict=True):
        cells = [f"{_PARSED}.c{place}" for place in places]
        out[column.name] = cells[0] if len(cells) == 1 else f"coalesce({', '.join(cells)})"
    return out


def csv_cell_names(schema: Schema, columns: Sequence[str]) -> dict[str, str | None]:
    """Return for each declared column the text of the cell that holds it; `columns` is a header.

    >>> from floodmark.scalar.types import INT, Field
    >>> csv_cell_names((Field("a", INT), Field("b", INT)), ["b", "x"])
    {'a': None, 'b': '__parsed.c0'}
    """
    places = {name: f"{_PARSED}.c{i}" for i, name in enumerate(columns)}
    return {c.name: places.get(c.name) for c in schema}


def row_expressions(
    schema: Schema, cells: dict[str, str | None], dialect: CsvDialect | None
) -> list[str]:
    """Return the Spark text of the declared columns, and that of a row's fault.

    Over them, `corrupt_expressions` say it in words.
    """
    texts, bad = [], ["NOT is_valid_utf8(value)"]
    if dialect is not None:
        # An odd number of quotes: the quoted cell goes on in the next line, or is broken.
        mark = quote(dialect.quote)
        bad.append("contains(value, char(0))")
        bad.append(f"(length(value) - length(replace(value, {mark}, ''))) % 2 = 1")
    bad.append(f"({_PARSED} IS NULL OR {_PARSED}.{_UNPARSED} IS NOT NULL)")
    if dialect is None:
        bad.append(has_no_column("value", schema, cells.values()))
    for column in schema:
        raw = cells[column.name]
        name, target = ident(column.name), spark_type(column.type)
        if raw is None:
            texts.append(f"CAST(NULL AS {target}) AS {name}")
            continue
        value = convert(raw, column.type)
        texts.append(f"{value} AS {name}")
        if value != raw:
            bad.append(f"({raw} IS NOT NULL AND {value} IS NULL)")
    whens = " ".join(f"WHEN {test} THEN {i}" for i, test in enumerate(bad))
    return [*texts, f"value AS {_LINE}", _PARSED, f"CASE {whens} END AS {_WRONG}"]


def corrupt_expressions(
    schema: Schema, cells: Mapping[str, str | None], dialect: CsvDialect | None
) -> list[str]:
    """Return the Spark text of `__corrupt` and `__reason`, over `row_expressions`."""
    said = [quote("the line is not UTF-8")]
    if dialect is not None:
        said.append(quote("the line holds a NUL byte"))
        said.append(quote(f"the line has an odd number of quotes ({dialect.quote})"))
        said.append(quote("the line does not parse as CSV"))
    else:
        said += [why_unparsed(_LINE, "the line is not one JSON object"), no_column(_LINE)]
    for column in schema:
        raw = cells[column.name]
        if raw is not None and convert(raw, column.type) != raw:
            said.append(unlike(column.name, raw, column.type))
    whens = " ".join(f"WHEN {i} THEN {text}" for i, text in enumerate(said))
    return [
        f"CASE WHEN {_WRONG} IS NOT NULL THEN make_valid_utf8({_LINE}) END AS __corrupt",
        f"CASE {_WRONG} {whens} END AS {REASON}",
    ]


def unlike(name: str, raw: str, type_: SqlType) -> str:
    """Return the Spark text that says that a cell is no value of its column's type."""
    start, end = quote(f"{name}: '"), quote(f"' is not {str(type_).lower()}")
    return f"concat({start}, make_valid_utf8({excerpt(raw)}), {end})"


def convert(raw: str, type_: SqlType) -> str:
    """Return the Spark text that turns a text cell into a value, or into NULL if it is none.

    A timestamp's offset is applied: without one the text is taken as UTC.
    """
    match type_.kind:
        case Kind.VARCHAR:
            return raw
        case Kind.DATE:
            return f"CASE WHEN {_has_year(raw)} THEN try_cast({raw} AS DATE) END"
        case Kind.TIMESTAMP | Kind.TIMESTAMPTZ:
            # A time alone would become a moment of today.
            cast = f"try_cast({raw} AS TIMESTAMP_LTZ)"
            first, last = ENDS[Kind.TIMESTAMPTZ]
            # An offset can lead out of the first and the last year.
            inner = f"left(trim({raw}), 4) BETWEEN '0002' AND '9998'"
            within = f"({inner} OR {cast} BETWEEN {first} AND {last})"
            moment = f"CASE WHEN {_has_year(raw)} AND {within} THEN {cast} END"
            zoned = type_.kind is Kind.TIMESTAMPTZ
            return moment if zoned else f"CAST({moment} AS TIMESTAMP_NTZ)"
        case Kind.TIME:
            moment = f"try_cast(concat('1970-01-01 ', trim({raw})) AS TIMESTAMP_LTZ)"
            clocked = f"CASE WHEN trim({raw}) RLIKE '^[0-9]' THEN unix_micros({moment}) END"
            return within_a_day(clocked)
        case Kind.BYTEA:
            return f"try_to_binary(regexp_replace({raw}, '^\\\\\\\\x', ''), 'hex')"
        case Kind.JSONB:
            return jsonb(raw)
        case Kind.UUID:
            form = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
            return f"CASE WHEN lower({raw}) RLIKE '{form}' THEN lower({raw}) END"
        case kind if kind in _NESTED:
            return _parse_nested(raw, type_)
        case Kind.REAL | Kind.DOUBLE:
            # Java takes a letter of a type behind a number, and a power of two.
            odd = f"{raw} RLIKE '(?i)[dfp](?<!in.)'"
            return f"CASE WHEN NOT {odd} THEN {float_in_range(raw, type_)} END"
        case Kind.NUMERIC if is_bare(type_):
            return f"CASE WHEN {holds_digits(raw)} THEN try_cast({raw} AS {spark_type(type_)}) END"
        case Kind.NUMERIC:
            return f"try_cast({near_zero(raw)} AS {spark_type(type_)})"
        case _:
            return f"try_cast({raw} AS {spark_type(type_)})"


def _parse_nested(raw: str, type_: SqlType) -> str:
    """Return the Spark text of the nested value that a text is, NULL if it is none.

    It is parsed into texts, as a line is into cells, and each of them becomes a value as a cell.
    """
    ddl = quote(f"v {_of_texts(type_, named=True)}, {_UNPARSED} STRING")
    places = f"struct<v: {_of_texts(type_, named=False)}, {_UNPARSED}: STRING>"
    options = f"map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '{_UNPARSED}', {STRICT})"
    parsed = f"CAST(from_json({mark_numbers(_MEMBER)}, {ddl}, {options}) AS {places})"
    value, wrong = _part("__p.v", type_)
    found = f"CASE WHEN __p.{_UNPARSED} IS NULL AND NOT {wrong} THEN {value} END"
    line = f"concat('{{\"v\": ', {raw}, '}}')"
    nested = f"transform(array({parsed}), __p -> {found})[0]"
    one = f"transform(array({line}), {_MEMBER} -> {nested})[0]"
    return f"CASE WHEN {is_one_value(raw)} THEN {one} END"


def _of_texts(type_: SqlType, *, named: bool) -> str:
    """Return a nested type as a Spark type with texts in place of its innermost parts."""
    match type_:
        case SqlType(Kind.LIST, element=SqlType() as element):
            return f"array<{_of_texts(element, named=named)}>"
        case SqlType(Kind.MAP, element=SqlType() as element):
            return f"map<string, {_of_texts(element, named=named)}>"
        case SqlType(Kind.STRUCT, fields=fields):
            names = [ident(f.name) if named else f"c{i}" for i, f in enumerate(fields)]
            texts = (_of_texts(f.type, named=named) for f in fields)
            return f"struct<{', '.join(f'{n}: {t}' for n, t in zip(names, texts, strict=True))}>"
        case _:
            return "string"


def _part(text: str, type_: SqlType, depth: int = 0) -> tuple[str, str]:
    """Return the Spark texts of a part's value, and of the test that it has none."""
    e, key = f"__e{depth}", f"__k{depth}"
    match type_:
        case SqlType(Kind.LIST, element=SqlType() as element):
            value, wrong = _part(e, element, depth + 1)
            found = f"transform({text}, {e} -> {value})"
            return found, f"coalesce(exists({text}, {e} -> {wrong}), FALSE)"
        case SqlType(Kind.MAP, key=SqlType() as of_key, element=SqlType() as element):
            keys, no_key = _part(key, of_key, depth + 1)
            value, wrong = _part(e, element, depth + 1)
            keys = f"transform(map_keys({text}), {key} -> {keys})"
            values = f"transform(map_values({text}), {e} -> {value})"
            no_key = f"exists(map_keys({text}), {key} -> {no_key})"
            wrong = f"exists(map_values({text}), {e} -> {wrong})"
            pairs = f"zip_with({keys}, {values}, ({key}, {e}) -> struct({key} AS k, {e} AS v))"
            return _last_of_keys(pairs, depth), f"coalesce({no_key} OR {wrong}, FALSE)"
        case SqlType(Kind.STRUCT, fields=fields):
            parts = [_part(f"{text}.c{i}", f.type, depth) for i, f in enumerate(fields)]
            row = (f"{quote(f.name)}, {v}" for f, (v, _) in zip(fields, parts, strict=True))
            found = f"CASE WHEN {text} IS NOT NULL THEN named_struct({', '.join(row)}) END"
            return found, f"({' OR '.join(wrong for _, wrong in parts)})"
        case _:
            plain = unmark_numbers(text, _MEMBER)
            value = f"transform(array({plain}), {e} -> {convert(e, type_)})[0]"
            return value, f"({text} IS NOT NULL AND {value} IS NULL)"


def _last_of_keys(pairs: str, depth: int) -> str:
    """Return the Spark text of a map of pairs: of equal keys the last one counts."""
    all_, pair, place = f"__a{depth}", f"__b{depth}", f"__i{depth}"
    again = f"array_position(slice({all_}.k, {place} + 2, size({all_})), {pair}.k) > 0"
    last = f"filter({all_}, ({pair}, {place}) -> NOT {again})"
    doubled = f"size(array_distinct({all_}.k)) < size({all_})"
    kept = f"map_from_entries(CASE WHEN {doubled} THEN {last} ELSE {all_} END)"
    return f"transform(array({pairs}), {all_} -> {kept})[0]"


def _has_year(raw: str) -> str:
    """Return the Spark text of the test that a text begins with a year from 1 to 9999."""
    return f"substr(trim({raw}), 5, 1) = '-' AND NOT startswith(trim({raw}), '0000')"
