"""Functions on arrays and structs."""

from __future__ import annotations

from typing import Any

from floodmark.catalog.functions.comparison import compare
from floodmark.catalog.functions.model import Function, Operands, Types, Var
from floodmark.catalog.types import (
    BOOLEAN,
    INT,
    VARCHAR,
    Kind,
    SqlType,
    list_of,
    struct_of,
)

_LIST, _T, _LIST_T = Var.LIST, Var.T, Var.LIST_T


def _element(o: Operands) -> SqlType:
    assert o[0].type.element is not None
    return o[0].type.element


def _first(o: Operands) -> SqlType:
    return o[0].type


def _second(o: Operands) -> SqlType:
    return o[1].type


def _all(o: Operands) -> str:
    return ", ".join(x.sql for x in o)


def _row_type(o: Operands) -> SqlType:
    return struct_of(*((f"f{i + 1}", x.type) for i, x in enumerate(o)))


def _row(o: Operands) -> str:
    pairs = (f"'f{i}', {x}" for i, x in enumerate(o, 1))
    return f"named_struct({', '.join(pairs)})"


def _field_type(o: Operands) -> SqlType:
    return next(f.type for f in o[0].type.fields if f.name == o[1].constant)


def _field(types: Types, _: SqlType, value: tuple[Any, ...], name: str) -> Any:
    return value[[f.name for f in types[0].fields].index(name)]


def _get(value: tuple[Any, ...], index: int) -> Any:
    return value[index - 1] if 1 <= index <= len(value) else None


def _any_equal(types: Types, _: SqlType, a: Any, items: tuple[Any, ...]) -> bool | None:
    if any(i is not None and compare(a, i, types[0]) == 0 for i in items):
        return True
    return None if any(i is None for i in items) else False


def _position(types: Types, _: SqlType, items: tuple[Any, ...], a: Any) -> int | None:
    hits = (n for n, i in enumerate(items, 1) if i is not None and compare(a, i, types[1]) == 0)
    return next(hits, None)


def _join(items: tuple[str | None, ...], mark: str, null: str | None = None) -> str:
    return mark.join(null if i is None else i for i in items if i is not None or null is not None)  # type: ignore[misc]


def _append(items: tuple[Any, ...] | None, value: Any) -> tuple[Any, ...] | None:
    return None if items is None else (*items, value)


def _prepend(value: Any, items: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    return None if items is None else (value, *items)


def arrays() -> list[Function]:
    """Return the array and struct family; indices count from 1, outside is NULL."""
    length = "CASE WHEN {1} = 1 AND size({0}) > 0 THEN size({0}) END"
    return [
        Function(
            "array",
            (_T,),
            lambda o: list_of(o[0].type),
            lambda o: f"array({_all(o)})",
            lambda *a: a,
            variadic=True,
            strict=False,
        ),
        Function(
            "subscript",
            (_LIST, Kind.INT),
            _element,
            "get({0}, CASE WHEN {1} >= 1 THEN {1} - 1 ELSE -1 END)",
            _get,
        ),
        Function("cardinality", (_LIST,), INT, "size({0})", len),
        Function("array_length", (_LIST,), INT, "size({0})", len),
        Function(
            "array_length",
            (_LIST, Kind.INT),
            INT,
            length,
            lambda a, n: len(a) if n == 1 and a else None,
        ),
        Function(
            "array_append",
            (_LIST_T, _T),
            _first,
            "concat(coalesce({0}, array()), array({1}))",
            lambda a, v: (*(a or ()), v),
            strict=False,
        ),
        Function(
            "array_prepend",
            (_T, _LIST_T),
            _second,
            "concat(array({0}), coalesce({1}, array()))",
            lambda v, a: (v, *(a or ())),
            strict=False,
        ),
        Function("||", (_LIST_T, _T), _first, "concat({0}, array({1}))", _append, strict=False),
        Function("||", (_T, _LIST_T), _second, "concat(array({0}), {1})", _prepend, strict=False),
        *(
            Function(n, (_LIST_T, _LIST_T), _first, "concat({0}, {1})", lambda a, b: (*a, *b))
            for n in ("array_cat", "||")
        ),
        Function(
            "array_position",
            (_LIST_T, _T),
            INT,
            "nullif(CAST(array_position({0}, {1}) AS INT), 0)",
            _position,
            typed=True,
        ),
        Function(
            "any_equal", (_T, _LIST_T), BOOLEAN, "array_contains({1}, {0})", _any_equal, typed=True
        ),
        Function(
            "array_to_string",
            (_LIST, Kind.VARCHAR),
            VARCHAR,
            "array_join(CAST({0} AS ARRAY<STRING>), {1})",
            _join,
        ),
        Function(
            "array_to_string",
            (_LIST, Kind.VARCHAR, Kind.VARCHAR),
            VARCHAR,
            "array_join(CAST({0} AS ARRAY<STRING>), {1}, {2})",
            _join,
        ),
        Function("row", (Var.ANY,), _row_type, _row, lambda *a: a, variadic=True, strict=False),
        Function(
            "field",
            (Var.STRUCT, Kind.VARCHAR),
            _field_type,
            lambda o: f"{o[0]}.`{o[1].constant}`",
            _field,
            typed=True,
            constant=frozenset({1}),
        ),
    ]
