"""Lines of JSON that are no rows: which are, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from floodmark.catalog.functions.quoting import quote
from floodmark.catalog.types import Schema
from floodmark.spark.json_text import STRICT, escapes_no_character, is_one_value
from floodmark.spark.types import quoted

_BROKEN = "__broken_line"
_OPENS = r"^\s*\{"
_SHOWN = 8
"""Keys that say what a line has instead of the declared columns."""


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
    """Return the Spark text that says of such a line what it has."""
    keys = f"array_join(slice(json_object_keys({value}), 1, {_SHOWN}), ', ')"
    start = quote("the line has none of the declared columns, it has: ")
    return f"make_valid_utf8(concat({start}, left({keys}, 200)))"


def why_unparsed(value: str, otherwise: str, unfit: Mapping[str, str] | None = None) -> str:
    """Return the Spark text that says what hinders a line from being parsed.

    `unfit` maps tests of objects to the texts of what is wrong with them.
    """
    _, broken = _read_alone(value, "__any", "STRING")
    is_object = f"{value} RLIKE {quote(_OPENS)} AND {is_one_value(value)} AND {broken} IS NULL"
    whens = {
        f"contains({value}, char(0))": quote("the line holds a NUL byte"),
        escapes_no_character(value): quote(r"the line has \u0000 or half of a surrogate"),
        f"NOT coalesce({is_object}, FALSE)": quote("the line is not one JSON object"),
        **(unfit or {}),
    }
    found = " ".join(f"WHEN {test} THEN {text}" for test, text in whens.items())
    return f"CASE {found} ELSE {quote(otherwise)} END"


def unfit_value(value: str, name: str, type_: str) -> tuple[str, str]:
    """Return the Spark texts of the test that a key's value is not of a type, and of that value."""
    _, broken = _read_alone(value, name, type_)
    text, _ = _read_alone(value, name, "STRING")
    return f"{broken} IS NOT NULL", text


def _read_alone(value: str, name: str, type_: str) -> tuple[str, str]:
    """Return the Spark texts of what a key has, read alone, and of the line where it is broken."""
    ddl = quote(f"{quoted(name)} {type_}, {_BROKEN} STRING")
    options = f"map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '{_BROKEN}', {STRICT})"
    parsed = f"from_json({value}, {ddl}, {options})"
    return f"{parsed}.{quoted(name)}", f"{parsed}.{_BROKEN}"
