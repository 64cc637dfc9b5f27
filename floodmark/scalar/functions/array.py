"""Functions on arrays and structs."""

from __future__ import annotations

from typing import Any

from floodmark.scalar.functions.comparison import compare
from floodmark.scalar.functions.model import Function, Operands, Types, Var
from floodmark.scalar.types import (
    BOOLEAN,
    INT,
    VARCHAR,
    Kind,
    SqlType,
    leaf,
    list_of,
    nesting,
    struct_of,
)

_LIST, _T, _LIST_T = Var.LIST, Var.T, Var.LIST_T
List = tuple[Any, ...]


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


def _position(types: Types, _: SqlType, items: List | None, a: Any) -> int | None:
    if items is None:
        return None
    if a is None:
        return next((n for n, i in enumerate(items, 1) if i is None), None)
    hits = (n for n, i in enumerate(items, 1) if i is not None and compare(a, i, types[1]) == 0)
    return next(hits, None)


def flat(items: Any, depth: int) -> list[Any]:
    """Return the innermost elements of arrays that stand `depth` deep."""
    if depth < 2:
        return list(items)
    return [v for inner in items if inner is not None for v in flat(inner, depth - 1)]


def print_flat(value: str, depth: int) -> str:
    """Return the Spark text of the innermost elements of arrays that stand `depth` deep."""
    for _ in range(depth - 1):
        value = f"flatten(filter({value}, e -> e IS NOT NULL))"
    return value


def _join(
    types: Types, _: SqlType, items: List | None, mark: str | None, null: str | None = None
) -> str | None:
    if items is None or mark is None:
        return None
    found = flat(items, nesting(types[0]))
    if leaf(types[0]) == BOOLEAN:
        found = [None if v is None else "ft"[v] for v in found]
    shown = (null if v is None else str(v) for v in found)
    return mark.join(v for v in shown if v is not None)


def _print_join(o: Operands) -> str:
    items = print_flat(o[0].sql, nesting(o[0].type))
    if leaf(o[0].type) == BOOLEAN:
        items = f"transform({items}, e -> CASE WHEN e THEN 't' WHEN NOT e THEN 'f' END)"
    plain = f"array_join({items}, {o[1]})"
    return plain if len(o) == 2 else f"coalesce(array_join({items}, {o[1]}, {o[2]}), {plain})"


def _append(items: List | None, value: Any) -> List:
    return (*(items or ()), value)


def _prepend(value: Any, items: List | None) -> List:
    return (value, *(items or ()))


def _concat(a: List | None, b: List | None) -> List | None:
    return b if a is None else a if b is None else (*a, *b)


def length(types: Types, _: SqlType, items: Any, dimension: int) -> int | None:
    """Return how many elements an array has in a dimension, None where there is no such one."""
    if not 1 <= dimension <= nesting(types[0]):
        return None
    for _level in range(dimension - 1):
        items = items[0] if items else None
    return len(items) if items else None


def print_length(o: Operands) -> str:
    """Return the Spark text of `length`."""
    cases, at = [], o[0].sql
    for dimension in range(1, nesting(o[0].type) + 1):
        cases.append(f"WHEN {o[1]} = {dimension} THEN nullif(size({at}), 0)")
        at = f"get({at}, 0)"
    return f"CASE {' '.join(cases)} END"


def arrays() -> list[Function]:
    """Return the array and struct family; indices count from 1, outside is NULL."""
    return [*_elements(), *_lengths(), *_concatenations(), *_searches(), *_texts(), *_structs()]


def _elements() -> list[Function]:
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
    ]


def _lengths() -> list[Function]:
    return [
        Function(
            "cardinality",
            (_LIST,),
            INT,
            lambda o: f"size({print_flat(o[0].sql, nesting(o[0].type))})",
            lambda t, _, a: len(flat(a, nesting(t[0]))),
            typed=True,
            version=2,
        ),
        Function("array_length", (_LIST,), INT, "size({0})", len),
        Function(
            "array_length",
            (_LIST, Kind.INT),
            INT,
            print_length,
            length,
            typed=True,
            version=2,
        ),
    ]


def _concatenations() -> list[Function]:
    after = "concat(coalesce({0}, array()), array({1}))"
    before = "concat(array({0}), coalesce({1}, array()))"
    return [
        *(
            Function(n, (_LIST_T, _T), _first, after, _append, strict=False, version=version)
            for n, version in (("array_append", 1), ("||", 2))
        ),
        *(
            Function(n, (_T, _LIST_T), _second, before, _prepend, strict=False, version=version)
            for n, version in (("array_prepend", 1), ("||", 2))
        ),
        *(
            Function(
                n,
                (_LIST_T, _LIST_T),
                _first,
                "coalesce(concat({0}, {1}), {0}, {1})",
                _concat,
                strict=False,
                version=2,
            )
            for n in ("array_cat", "||")
        ),
    ]


def _searches() -> list[Function]:
    return [
        Function(
            "array_position",
            (_LIST_T, _T),
            INT,
            "CASE WHEN {1} IS NOT NULL THEN nullif(CAST(array_position({0}, {1}) AS INT), 0) "
            "WHEN size({0}) > 0 THEN get(filter(sequence(1, size({0})), "
            "__i -> get({0}, __i - 1) IS NULL), 0) END",
            _position,
            typed=True,
            strict=False,
            version=2,
        ),
        Function(
            "any_equal",
            (Var.COMPARED, _LIST_T),
            BOOLEAN,
            "array_contains({1}, {0})",
            _any_equal,
            typed=True,
        ),
    ]


def _texts() -> list[Function]:
    return [
        Function(
            "array_to_string",
            (_LIST, *(Kind.VARCHAR,) * marks),
            VARCHAR,
            _print_join,
            _join,
            typed=True,
            strict=False,
            version=2,
        )
        for marks in (1, 2)
    ]


def _structs() -> list[Function]:
    return [
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
