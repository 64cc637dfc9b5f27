"""Lines of JSON that are not rows: their detection and their error texts."""

from __future__ import annotations

from collections.abc import Iterable

from floodmark.connectors.fields import NAMES_SHOWN, NONE_OF
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.types import Schema
from floodmark.spark.json_text import STRICT, escapes_no_character, is_one_value

_BROKEN = "__broken_line"
_OPENS = r"^\s*\{"


def has_no_column(value: str, schema: Schema, cells: Iterable[str | None]) -> str:
    """Return the Spark text of the test that an object has keys, and no declared column's.

    Keys are looked at where all `cells` are NULL. `{}` is a row of NULL: writers leave NULL out.
    """
    empty = " AND ".join(f"{cell} IS NULL" for cell in cells) or "FALSE"
    wanted = ", ".join(quote(column.name.lower()) for column in schema)
    keys = f"json_object_keys({value})"
    lower = f"transform({keys}, __k -> lower(__k))"
    return f"({empty} AND size({keys}) > 0 AND NOT arrays_overlap({lower}, array({wanted})))"


def no_column(value: str) -> str:
    """Return the Spark text of the message for a line with none of the columns."""
    keys = f"array_join(slice(json_object_keys({value}), 1, {NAMES_SHOWN}), ', ')"
    start = quote(f"the line has {NONE_OF} ")
    return f"make_valid_utf8(concat({start}, left({keys}, 200)))"


def why_unparsed(value: str, otherwise: str) -> str:
    """Return the Spark text that says what hinders a line from being parsed."""
    ddl = quote(f"__any STRING, {_BROKEN} STRING")
    options = f"map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '{_BROKEN}', {STRICT})"
    broken = f"from_json({value}, {ddl}, {options}).{_BROKEN}"
    is_object = f"{value} RLIKE {quote(_OPENS)} AND {is_one_value(value)} AND {broken} IS NULL"
    whens = {
        f"contains({value}, char(0))": quote("the line holds a NUL byte"),
        escapes_no_character(value): quote(r"the line has \u0000 or half of a surrogate"),
        f"NOT coalesce({is_object}, FALSE)": quote("the line is not one JSON object"),
    }
    found = " ".join(f"WHEN {test} THEN {text}" for test, text in whens.items())
    return f"CASE {found} ELSE {quote(otherwise)} END"
