# ruff: noqa: E501
"""Random expressions over every registered function, each with the expressions inside of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from floodmark.scalar.functions import REGISTRY, Determinism, Function
from floodmark.scalar.functions.model import Param, Var
from floodmark.scalar.types import JSONB, UUID, VARCHAR, Kind, SqlType, list_of
from tests.postgres.edge_values import DIGITS, NUMBERS, ORDERED, SIMPLE, type_name, value


@dataclass(frozen=True, slots=True)
class Tree:
    """An expression, and those inside of it that are more than a constant."""

    text: str
    inner: tuple[Tree, ...] = ()


_FORMS: Mapping[str, str] = {
    "neg": "- {0}", "not": "NOT {0}", "is_null": "{0} IS NULL", "is_not_null": "{0} IS NOT NULL",
    "is_true": "{0} IS TRUE", "is_not_true": "{0} IS NOT TRUE", "is_false": "{0} IS FALSE",
    "is_not_false": "{0} IS NOT FALSE", "is_distinct_from": "{0} IS DISTINCT FROM {1}",
    "is_not_distinct_from": "{0} IS NOT DISTINCT FROM {1}", "like": "{0} LIKE {1}",
    "ilike": "{0} ILIKE {1}", "similar": "{0} SIMILAR TO {1}", "any_equal": "{0} = ANY ({1})",
    "subscript": "({0})[{1}]", "array_slice": "({0})[{1}:{2}]", "extract": "extract({0} FROM {1})",
    "at_time_zone": "{0} AT TIME ZONE {1}", "position": "position({0} IN {1})",
    "regexp_match_group": "(regexp_match({0}, {1}))[{2}]",
}  # fmt: skip
_ESCAPES = {"like": "{0} LIKE {1} ESCAPE {2}", "ilike": "{0} ILIKE {1} ESCAPE {2}", "similar": "{0} SIMILAR TO {1} ESCAPE {2}", "overlay3": "overlay({0} PLACING {1} FROM {2})", "overlay4": "overlay({0} PLACING {1} FROM {2} FOR {3})", "regexp_match_group4": "(regexp_match({0}, {1}, {2}))[{3}]"}  # fmt: skip
NOT_THERE = frozenset({
    "array_contains", "array_distinct", "array_max", "array_min", "array_overlap", "array_reverse", "array_sort",
    "crc32", "field", "interval_key", "json_number", "json_text", "jsonb_contains", "row", "sha1", "single_row",
    "to_bin", "to_oct", "~*", "version",
})  # fmt: skip
"""What PostgreSQL 15 does not have, and what prints a type of its own."""
UNITS = ("microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month", "quarter", "year", "decade", "century", "millennium")  # fmt: skip
FIELDS = (*UNITS, "dow", "isodow", "doy", "isoyear", "epoch", "julian")
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "+02:00")
PATTERNS = (
    "a",
    "[a-z]+",
    "^a",
    "b$",
    "(a)(b)?",
    "x*",
    "",
    "[0-9]{2}",
    "\\d",
    "a|b",
    "(l)",
    "[^,]*",
)
SIMILAR = ("%", "a%", "_b_", "(a|b)%", "[a-c]+", "%c\\", "")
TIMES = ("YYYY-MM-DD", "YYYY-MM-DD HH24:MI:SS.US", "FMMonth DD, YYYY", "Dy Mon DDD Q", "IYYY-IW-ID", "HH12:MI AM", "J", "CC WW W", "SSSS MS", "Y,YYY", "DD/MM/YY", "YYYYMMDD", "YYYY MS", "DD Month YYYY", "")  # fmt: skip
NUMBER_FORMATS = ("999.99", "FM999.0", "000", "9,999.99", "S99.9", "99MI", "99PR", "SG9", "9.99", "FM9999999990.0099", "99S9", "FM9.9", "9.", ".9", "9MI9", "FM,999,990.0S", "MI9.9,9", "0.00000000000000000000", "L99", "RN", "9.9EEEE", "V99", "")  # fmt: skip
_CONSTANTS: Mapping[tuple[str, int], tuple[str, ...]] = {
    ("extract", 0): FIELDS, ("date_trunc", 0): UNITS, ("at_time_zone", 1): ZONES, ("timezone", 1): ZONES,
    ("date_bin", 0): ("15 minutes", "1 day", "7 days", "0.5 seconds", "0", "-1 hour"),
    ("similar", 1): SIMILAR, ("encode", 1): ("hex", "base64", "escape"), ("decode", 1): ("hex", "base64", "escape"),
    ("convert_from", 1): ("UTF8",), ("convert_to", 1): ("UTF8",), ("to_date", 1): TIMES,
    ("to_timestamp", 1): TIMES, ("to_number", 1): NUMBER_FORMATS,
    ("format", 0): ("%s", "%s-%s", "%I", "%L", "%%", "%1$s %1$s", "%10s|", "%-5s|", "%2$s"),
    ("#-", 1): ("{a}", "{b,c,0}", "{0}", "{-1}", "{}"), ("jsonb_set", 1): ("{a}", "{b,c,0}", "{0}", "{-1}", "{z}", "{b,z}", "{}"),
    ("jsonb_delete_path", 1): ("{a}", "{0}"), ("regexp_replace", 2): ("", "X", "<\\1>", "\\&", "$1"),
    ("regexp_replace", 3): ("g", "i", "gi", ""), ("jsonb_set", 3): ("true", "false"),
}  # fmt: skip


def drawn() -> list[Function]:
    """Return the functions that PostgreSQL is asked about: all that it has and that keep still."""
    return [
        f
        for name, found in REGISTRY.items()
        for f in found
        if name not in NOT_THERE
        and f.determinism is Determinism.DETERMINISTIC
        and not {Var.MAP, Var.STRUCT, Kind.MAP} & set(f.params)
    ]


def expression(random: Random, function: Function, depth: int = 2) -> Tree:
    """Return a call of a function; its arguments are constants or calls down to the depth."""
    count = len(function.params)
    if function.variadic:
        count += random.choice((0, 0, 1, 2))
    common = _common(random)
    arguments = [_argument(random, function, place, common, depth) for place in range(count)]
    inner = tuple(a for i, a in enumerate(arguments) if not _is_bare(function, i))
    return Tree(_written(function.name, [a.text for a in arguments]), inner)


def _is_bare(function: Function, place: int) -> bool:
    return place in function.constant or (function.name, place) in _CONSTANTS


def _written(name: str, texts: list[str]) -> str:
    if name in ("overlay", "regexp_match_group") or (name in _ESCAPES and len(texts) == 3):
        form = _ESCAPES.get(f"{name}{len(texts)}") or _ESCAPES.get(name)
    else:
        form = _FORMS.get(name)
    form = _FORMS[name] if form is None and name in _FORMS else form
    if form is not None:
        return f"({form.format(*texts)})"
    if name == "in":
        return f"({texts[0]} IN ({', '.join(texts[1:])}))"
    if name == "array":
        return f"(ARRAY[{', '.join(texts)}])"
    if not name[0].isalpha():
        return f"({name} {texts[0]})" if len(texts) == 1 else f"({texts[0]} {name} {texts[1]})"
    return f"{name}({', '.join(texts)})"


def _common(random: Random) -> tuple[SqlType, ...]:
    if random.random() < 0.35:
        return NUMBERS
    return (random.choice(ORDERED),)


def _argument(
    random: Random, function: Function, place: int, common: tuple[SqlType, ...], depth: int
) -> Tree:
    param = function.param(place)
    if _is_bare(function, place):
        return Tree(_constant(random, function, place, param))
    type_ = _type(random, param, common)
    if depth > 1 and random.random() < 0.45:
        found = _call(random, type_, depth)
        if found is not None:
            return found
    return Tree(value(random, type_))


def _constant(random: Random, function: Function, place: int, param: Param) -> str:
    name = function.name
    if name == "extract" and place == 0:
        return random.choice(FIELDS)
    if name == "to_char":
        times = function.params[0] in (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ)
        return f"'{random.choice(TIMES if times else NUMBER_FORMATS)}'"
    pool = _CONSTANTS.get((name, place))
    if pool is None and param is Kind.INT:
        return str(random.choice((0, 1, 2, -1, 5, 10, -3)))
    if pool is None and place == 2 and name in ("like", "ilike", "similar"):
        pool = ("\\", "!", "")
    if pool is None and place == 2:
        pool = ("i", "", "g", "s")
    return f"'{random.choice(PATTERNS if pool is None else pool)}'"


def _type(random: Random, param: Param, common: tuple[SqlType, ...]) -> SqlType:
    match param:
        case Kind.NUMERIC:
            return random.choice(DIGITS)
        case Kind():
            return next(t for t in SIMPLE if t.kind is param)
        case Var.ANY | Var.TEXT:
            return random.choice([t for t in SIMPLE if t not in (JSONB, UUID)])
        case Var.T:
            return random.choice(common)
        case Var.LIST:
            return list_of(random.choice(ORDERED))
        case Var.LIST_T:
            element = common[0] if len(common) == 1 else random.choice(common)
            return list_of(element)
        case _:
            return list_of(VARCHAR)


def _call(random: Random, type_: SqlType, depth: int) -> Tree | None:
    """Return a call that gives a type; a cast of one to it where it is not certain."""
    found = [f for f in drawn() if isinstance(f.result, SqlType) and f.result.kind is type_.kind]
    if not found:
        return None
    inner = expression(random, random.choice(found), depth - 1)
    if random.random() < 0.2:
        return cast(random, inner, type_)
    return inner


def cast(random: Random, inner: Tree, type_: SqlType) -> Tree:
    return Tree(f"({inner.text}::{type_name(type_)})", (inner,))


def random_cast(random: Random) -> Tree:
    """Return a cast of a constant; texts, which anything can be written in, most often."""
    source = VARCHAR if random.random() < 0.5 else random.choice(SIMPLE)
    target = random.choice((*SIMPLE, *DIGITS, list_of(VARCHAR), list_of(NUMBERS[1])))
    given = value(random, source)
    if source == VARCHAR and random.random() < 0.6:
        given = f"{value(random, target, 0)}::text" if target.kind is not Kind.LIST else given
    return Tree(f"(({given})::{type_name(target)})")
