"""Typed expressions back to SQL text that people read: EXPLAIN, advice, reports.

The text is for reading, not for parsing again: hidden columns are shown without their `__`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from floodmark.changelog import HIDDEN_PREFIX
from floodmark.plan.expr.expressions import (
    AggCall,
    AttemptExpr,
    BoolOp,
    Call,
    Case,
    Cast,
    ColumnRef,
    Expr,
    Literal,
    Now,
    OutcomeExpr,
)
from floodmark.plan.expr.window_values import SortKey, WindowCall
from floodmark.scalar.functions import ORDERED_SETS
from floodmark.scalar.rendering import interval_text, time_text, value_text
from floodmark.scalar.types import Kind, SqlType

Names = Mapping[str, str]
"""What to show in place of a column's name; a column that is not in it is shown by `show_name`."""

_NO_NAMES: Names = MappingProxyType({})
_OR, _AND, _NOT, _IS, _COMPARE, _OTHER, _ADD, _MULTIPLY, _POWER, _UNARY, _ATOM = range(11)
_BINARY: Mapping[str, int] = MappingProxyType({
    "=": _COMPARE, "<>": _COMPARE, "<": _COMPARE, "<=": _COMPARE, ">": _COMPARE, ">=": _COMPARE,
    "||": _OTHER, "~": _OTHER, "~*": _OTHER, "&": _OTHER, "|": _OTHER, "#": _OTHER,
    "->": _OTHER, "->>": _OTHER, "#>": _OTHER, "#>>": _OTHER, "#-": _OTHER, "@>": _OTHER,
    "<@": _OTHER,
    "+": _ADD, "-": _ADD, "*": _MULTIPLY, "/": _MULTIPLY, "%": _MULTIPLY, "^": _POWER,
})  # fmt: skip
_WORDS: Mapping[str, str] = MappingProxyType({
    "is_distinct_from": "IS DISTINCT FROM", "is_not_distinct_from": "IS NOT DISTINCT FROM",
    "like": "LIKE", "ilike": "ILIKE",
})  # fmt: skip
_SUFFIXES: Mapping[str, str] = MappingProxyType({
    f"is_{negation}{word}": f"IS {negation.replace('_', ' ')}{word}".upper()
    for negation in ("", "not_")
    for word in ("null", "true", "false")
})  # fmt: skip
_SHORT_TYPES: Mapping[Kind, str] = MappingProxyType({
    Kind.VARCHAR: "varchar", Kind.TIMESTAMP: "timestamp", Kind.TIMESTAMPTZ: "timestamptz",
    Kind.DOUBLE: "double", Kind.TIME: "time", Kind.INT: "int",
})  # fmt: skip
_UNITS = (("hour", 3_600_000_000), ("minute", 60_000_000), ("second", 1_000_000))
_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_$]*|\?column\?")


def show_name(column: str) -> str:
    """Return a column's name as people read it: a hidden one with one `_`, one's own in quotes.

    >>> show_name("__row_id"), show_name("_row_id"), show_name("price"), show_name("Odd name")
    ('_row_id', '"_row_id"', 'price', '"Odd name"')
    """
    hidden = column.startswith(HIDDEN_PREFIX)
    name = column[1:] if hidden else column
    plain = _PLAIN_NAME.fullmatch(name) and (hidden or not name.startswith("_"))
    return name if plain else '"' + name.replace('"', '""') + '"'


def interval_words(interval: tuple[int, int, int]) -> str:
    """Return an interval in words, as one would say it.

    >>> interval_words((0, 0, 3_600_000_000)), interval_words((1, 2, 90_000_000))
    ('1 hour', '1 month 2 days 1 minute 30 seconds')
    """
    months, days, micros = interval
    if min(months, days, micros) < 0:
        return interval_text(interval)
    parts = [(months // 12, "year"), (months % 12, "month"), (days, "day")]
    for word, size in _UNITS:
        parts.append((micros // size, word))
        micros %= size
    parts.append((micros, "microsecond"))
    words = [f"{n} {word}{'' if n == 1 else 's'}" for n, word in parts if n]
    return " ".join(words) or "0 seconds"


def delay_text(interval: tuple[int, int, int]) -> str:
    """Return an interval as short as it can be said, for delays of watermarks.

    >>> delay_text((0, 0, 5_000_000)), delay_text((0, 1, 5_400_000_000)), delay_text((0, 0, 250000))
    ('5s', '1d 1h 30m', '250ms')
    """
    months, days, micros = interval
    if min(months, days, micros) < 0:
        return interval_text(interval)
    parts = [(months, " months" if months > 1 else " month"), (days, "d")]
    for suffix, size in (("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1000)):
        parts.append((micros // size, suffix))
        micros %= size
    parts.append((micros, "us"))
    return " ".join(f"{n}{suffix}" for n, suffix in parts if n) or "0s"


def type_text(type_: SqlType) -> str:
    """Return a type by its short name.

    >>> from floodmark.scalar.types import VARCHAR, numeric
    >>> type_text(VARCHAR), type_text(numeric(18, 2))
    ('varchar', 'numeric(18,2)')
    """
    if type_.kind is Kind.LIST and type_.element is not None:
        return f"{type_text(type_.element)}[]"
    return _SHORT_TYPES.get(type_.kind, str(type_))


def to_text(expr: Expr, names: Names = _NO_NAMES, *, in_and: bool = False) -> str:
    """Return the SQL text of an expression, with parentheses only where they are needed.

    `in_and` says that AND stands beside it.

    >>> from floodmark.scalar.types import BOOLEAN, INT
    >>> a, one = ColumnRef(INT, "a"), Literal(INT, 1)
    >>> to_text(Call(INT, "*", (Call(INT, "+", (a, one)), a)))
    '(a + 1) * a'
    """
    return _Printer(names).text(expr, _AND if in_and else _OR)


def aggregate_text(call: AggCall, names: Names = _NO_NAMES) -> str:
    """Return an aggregate call as SQL writes it."""
    printer = _Printer(names)
    args = [printer.text(a) for a in _arguments_of(call)]
    order = ", ".join(_key(printer.text(e), d, f) for e, d, f in call.order_by)
    if call.function in ORDERED_SETS:
        body = f"{call.function}({', '.join(args[1:])}) WITHIN GROUP (ORDER BY {order})"
        return body + _filter(printer, call.filter)
    arguments = ", ".join(args) or "*"
    arguments += f" ORDER BY {order}" if order else ""
    body = f"{call.function}({'DISTINCT ' if call.distinct else ''}{arguments})"
    return body + _filter(printer, call.filter)


def _arguments_of(call: AggCall) -> tuple[Expr, ...]:
    """Return the arguments as they are written: those of an object are one with the key."""
    match call:
        case AggCall(function="jsonb_object_agg", args=(Call(args=(_, Call(args=written))),)):
            return written
        case _:
            return call.args


def window_text(call: WindowCall, names: Names = _NO_NAMES) -> str:
    """Return a window call without its OVER, the frame in brackets."""
    printer = _Printer(names)
    arguments = ", ".join(printer.text(a) for a in call.args)
    if not arguments and call.function == "count":
        arguments = "*"
    body = f"{call.function}({arguments})" + (" IGNORE NULLS" if call.ignore_nulls else "")
    return body + _filter(printer, call.filter) + _frame(call.frame)


def order_text(order: tuple[SortKey, ...], names: Names = _NO_NAMES) -> str:
    """Return the columns of an ORDER BY."""
    keys = ((names.get(k.column, show_name(k.column)), k) for k in order)
    return ", ".join(_key(name, k.descending, k.nulls_first) for name, k in keys)


def _key(text: str, descending: bool, nulls_first: bool) -> str:
    nulls = "" if nulls_first is descending else f" NULLS {'FIRST' if nulls_first else 'LAST'}"
    return f"{text}{' DESC' if descending else ''}{nulls}"


def _filter(printer: _Printer, condition: Expr | None) -> str:
    return "" if condition is None else f" FILTER (WHERE {printer.text(condition)})"


def _frame(frame: tuple[str, str, str, str] | None) -> str:
    if frame is None:
        return ""
    unit, start, end, exclude = frame
    tail = "" if exclude in ("", "NO OTHERS") else f" EXCLUDE {exclude}"
    return f" [{unit} {start} to {end}{tail}]"


class _Printer:
    """Prints with operator precedence; `names` replaces column names."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def text(self, expr: Expr, above: int = _OR) -> str:
        """Return the text, in parentheses where it binds weaker than what stands around it."""
        strength, text = self._print(expr)
        return f"({text})" if strength < above else text

    def _print(self, expr: Expr) -> tuple[int, str]:
        match expr:
            case ColumnRef():
                return _ATOM, self.names.get(expr.name) or show_name(expr.name)
            case Literal():
                return _literal(expr)
            case Now():
                return _ATOM, "now()"
            case Cast():
                return _UNARY, f"{self.text(expr.operand, _ATOM)}::{type_text(expr.type)}"
            case BoolOp():
                strength = _OR if expr.op == "or" else _AND
                parts = [self.text(a, strength + 1) for a in expr.args]
                return strength, f" {expr.op.upper()} ".join(parts)
            case Case():
                return _ATOM, self._case(expr)
            case AttemptExpr():
                return _ATOM, f"attempt({self.text(expr.operand)})"
            case OutcomeExpr():
                return _ATOM, f"outcome({self.text(expr.operand)})"
            case Call():
                return self._call(expr)
            case _:
                raise AssertionError(expr)

    def _case(self, expr: Case) -> str:
        whens = [f"WHEN {self.text(c)} THEN {self.text(v)}" for c, v in expr.whens]
        last = [] if expr.otherwise is None else [f"ELSE {self.text(expr.otherwise)}"]
        return " ".join(["CASE", *whens, *last, "END"])

    def _call(self, expr: Call) -> tuple[int, str]:
        args, name = expr.args, expr.function
        if len(args) == 2 and name in _BINARY:
            strength = _BINARY[name]
            return strength, self._infix(args, name, strength)
        if len(args) == 2 and name in _WORDS:
            strength = _IS if name.startswith("is_") else _OTHER
            return strength, self._infix(args, _WORDS[name], strength + 1)
        if name in _SUFFIXES:
            return _IS, f"{self.text(args[0], _COMPARE)} {_SUFFIXES[name]}"
        special = _SPECIAL.get(name)
        if special is not None:
            return special(self, args)
        return _ATOM, f"{name}({', '.join(self.text(a) for a in args)})"

    def _infix(self, args: tuple[Expr, ...], word: str, strength: int) -> str:
        first = strength + (strength == _COMPARE)
        return f"{self.text(args[0], first)} {word} {self.text(args[1], strength + 1)}"


def _not(printer: _Printer, args: tuple[Expr, ...]) -> tuple[int, str]:
    return _NOT, f"NOT {printer.text(args[0], _NOT)}"


def _negative(printer: _Printer, args: tuple[Expr, ...]) -> tuple[int, str]:
    return _UNARY, f"-{printer.text(args[0], _ATOM)}"


def _print_in_list(printer: _Printer, args: tuple[Expr, ...]) -> tuple[int, str]:
    values = ", ".join(printer.text(a) for a in args[1:])
    return _IS, f"{printer.text(args[0], _COMPARE)} IN ({values})"


def _extract(printer: _Printer, args: tuple[Expr, ...]) -> tuple[int, str]:
    part = args[0].value if isinstance(args[0], Literal) else printer.text(args[0])
    return _ATOM, f"extract({part} FROM {printer.text(args[1])})"


def _print_at_zone(printer: _Printer, args: tuple[Expr, ...]) -> tuple[int, str]:
    return _OTHER, f"{printer.text(args[0], _OTHER)} AT TIME ZONE {printer.text(args[1], _ADD)}"


def _to_jsonb(printer: _Printer, args: tuple[Expr, ...]) -> tuple[int, str]:
    value = args[0].operand if isinstance(args[0], Cast) else args[0]
    return _ATOM, f"to_jsonb({printer.text(value)})"


_SPECIAL: Mapping[str, Callable[[_Printer, tuple[Expr, ...]], tuple[int, str]]] = MappingProxyType({
    "not": _not, "neg": _negative, "in": _print_in_list, "extract": _extract,
    "timezone": _print_at_zone, "json_text": _to_jsonb, "json_number": _to_jsonb,
})  # fmt: skip


def _literal(expr: Literal) -> tuple[int, str]:
    value, type_ = expr.value, expr.type
    if value is None:
        return _ATOM, "NULL"
    match type_.kind:
        case Kind.BOOLEAN:
            return _ATOM, "TRUE" if value else "FALSE"
        case Kind.VARCHAR | Kind.UNKNOWN:
            return _ATOM, _quote(str(value))
        case Kind.INTERVAL:
            return _ATOM, f"INTERVAL '{interval_words(value)}'"
        case Kind.TIME:
            return _ATOM, f"TIME '{time_text(value)}'"
        case Kind.LIST:
            return _ATOM, f"ARRAY[{', '.join(_element(v, type_.element) for v in value)}]"
        case _ if type_.is_numeric:
            text = value_text(value, type_)
            return (_UNARY if text.startswith("-") else _ATOM), text
        case Kind.DATE | Kind.TIMESTAMP | Kind.TIMESTAMPTZ:
            return _ATOM, f"{type_text(type_).upper()} {_quote(value_text(value, type_))}"
        case _:
            return _ATOM, f"{_quote(value_text(value, type_))}::{type_text(type_)}"


def _element(value: Any, type_: SqlType | None) -> str:
    return _quote(str(value)) if type_ is None else _literal(Literal(type_, value))[1]


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
