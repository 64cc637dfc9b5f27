"""More functions on arrays: searching, changing and comparing them as sets."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from floodmark.scalar.functions.array import length, print_length
from floodmark.scalar.functions.comparison import compare
from floodmark.scalar.functions.model import (
    Function,
    Operands,
    RowError,
    RowErrorCode,
    Types,
    Var,
    null_means,
)
from floodmark.scalar.types import BOOLEAN, INT, Kind, SqlType, list_of, nesting

_LIST, _T, _LIST_T, _I = Var.LIST, Var.T, Var.LIST_T, Kind.INT
List = tuple[Any, ...]


def _first(o: Operands) -> SqlType:
    return o[0].type


def _element(o: Operands) -> SqlType:
    assert o[0].type.element is not None
    return o[0].type.element


def _same(a: Any, b: Any, type_: SqlType) -> bool:
    """Tell whether two elements are not distinct: NULL is NULL."""
    if a is None or b is None:
        return a is b
    return compare(a, b, type_) == 0


def _has(items: List, wanted: Any, type_: SqlType) -> bool:
    return wanted is not None and any(_same(i, wanted, type_) for i in items)


def _remove(types: Types, _: SqlType, items: List | None, gone: Any) -> List | None:
    return None if items is None else tuple(i for i in items if not _same(i, gone, types[1]))


def _replace(types: Types, _: SqlType, items: List | None, old: Any, new: Any) -> List | None:
    if items is None:
        return None
    return tuple(new if _same(i, old, types[1]) else i for i in items)


def _positions(types: Types, _: SqlType, items: List | None, wanted: Any) -> List | None:
    if items is None:
        return None
    return tuple(n for n, i in enumerate(items, 1) if _same(i, wanted, types[1]))


def _distinct(types: Types, _: SqlType, items: List) -> List:
    assert types[0].element is not None
    out: list[Any] = []
    for item in items:
        if not any(_same(item, o, types[0].element) for o in out):
            out.append(item)
    return tuple(out)


def _sort(types: Types, _: SqlType, items: List) -> List:
    element = types[0].element
    assert element is not None
    key = cmp_to_key(lambda a, b: compare(a, b, element))
    present = sorted((i for i in items if i is not None), key=key)
    return (*present, *(i for i in items if i is None))


def _extreme(last: bool) -> Callable[..., Any]:
    def python(types: Types, result: SqlType, items: List) -> Any:
        present = tuple(i for i in items if i is not None)
        if not present:
            return None
        return _sort(types, result, present)[-1 if last else 0]

    return python


def _trim(items: List, count: int) -> List:
    if not 0 <= count <= len(items):
        raise RowError(RowErrorCode.INVALID_ARGUMENT)
    return items[: len(items) - count]


def _slice(items: List, low: int, high: int) -> List:
    return items[max(0, low - 1) : max(0, high)]


_IN = "__y IS NOT NULL AND coalesce(exists({%d}, __x -> __x <=> __y), FALSE)"
_CONTAINS = f"forall({{1}}, __y -> {_IN % 0})"
_OVERLAPS = f"exists({{0}}, __y -> {_IN % 1})"


def _sets() -> list[Function]:
    def is_in(types: Types, _: SqlType, a: List, b: List) -> bool:
        assert types[0].element is not None
        return all(_has(b, i, types[0].element) for i in a)

    def overlap(types: Types, _: SqlType, a: List, b: List) -> bool:
        assert types[0].element is not None
        return any(_has(b, i, types[0].element) for i in a)

    pair = (_LIST_T, _LIST_T)
    inside = _CONTAINS.format("{1}", "{0}")
    return [
        *(
            Function(n, pair, BOOLEAN, _CONTAINS, lambda t, r, a, b: is_in(t, r, b, a), typed=True)
            for n in ("@>", "array_contains")
        ),
        Function("<@", pair, BOOLEAN, inside, is_in, typed=True),
        *(
            Function(n, pair, BOOLEAN, _OVERLAPS, overlap, typed=True)
            for n in ("&&", "array_overlap")
        ),
    ]  # fmt: skip


def _searches() -> list[Function]:
    def list_function(
        name: str, spark: str, python: Callable[..., Any], count: int = 1
    ) -> Function:
        params = (_LIST_T, *(_T,) * count)
        return Function(name, params, _first, spark, python, typed=True, strict=False)

    at = "filter(sequence(1, size({0})), __i -> get({0}, __i - 1) <=> {1})"
    return [
        list_function("array_remove", "filter({0}, __x -> NOT (__x <=> {1}))", _remove),
        list_function(
            "array_replace", "transform({0}, __x -> CASE WHEN __x <=> {1} THEN {2} ELSE __x END)",
            _replace, 2,
        ),
        Function(
            "array_positions", (_LIST_T, _T), list_of(INT),
            f"CASE WHEN size({{0}}) = 0 THEN CAST(array() AS ARRAY<INT>) WHEN {{0}} IS NOT NULL THEN {at} END",  # noqa: E501
            _positions, typed=True, strict=False,
        ),
    ]  # fmt: skip


def lists() -> list[Function]:
    """Return the rest of the array family; indices count from 1."""
    refused = null_means(RowErrorCode.INVALID_ARGUMENT)
    # Spark's slice takes no length beyond the end and no start at 0.
    first, size = "greatest({1}, 1)", "greatest(least({2}, size({0})) - greatest({1}, 1) + 1, 0)"
    return [
        *_sets(),
        *_searches(),
        Function("array_distinct", (_LIST,), _first, "array_distinct({0})", _distinct, typed=True),
        Function("array_sort", (_LIST,), _first, "array_sort({0})", _sort, typed=True),
        Function(
            "array_reverse", (_LIST,), _first, "reverse({0})", lambda a: tuple(reversed(a))
        ),
        Function("array_min", (_LIST,), _element, "array_min({0})", _extreme(False), typed=True),
        Function("array_max", (_LIST,), _element, "array_max({0})", _extreme(True), typed=True),
        Function(
            "array_lower", (_LIST, _I), INT,
            lambda o: f"CASE WHEN {print_length(o)} > 0 THEN 1 END",
            lambda t, r, a, n: length(t, r, a, n) and 1, typed=True, version=2,
        ),
        Function(
            "array_upper", (_LIST, _I), INT, print_length, length, typed=True, version=2
        ),
        Function(
            "array_ndims", (_LIST,), INT,
            lambda o: f"CASE WHEN size({o[0]}) > 0 THEN {nesting(o[0].type)} END",
            lambda t, _, a: nesting(t[0]) if a else None, typed=True, version=2,
        ),
        Function(
            "trim_array", (_LIST, _I), _first,
            "CASE WHEN {1} BETWEEN 0 AND size({0}) THEN slice({0}, 1, size({0}) - {1}) END",
            _trim, error=refused,
        ),
        Function(
            "array_slice", (_LIST, _I, _I), _first,
            "CASE WHEN {1} IS NOT NULL AND {2} IS NOT NULL "
            f"THEN slice({{0}}, {first}, {size}) END",
            _slice,
        ),
    ]  # fmt: skip
