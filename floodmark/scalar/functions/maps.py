"""Functions on maps; a Python map is a tuple of pairs, in the order of insertion."""

from __future__ import annotations

from typing import Any

from floodmark.scalar.functions.model import (
    Function,
    Operands,
    RowError,
    RowErrorCode,
    Var,
    null_means,
)
from floodmark.scalar.types import BOOLEAN, INT, SqlType, list_of, map_of

_MAP, _ANY, _LIST = Var.MAP, Var.ANY, Var.LIST
Map = tuple[tuple[Any, Any], ...]


def _first(o: Operands) -> SqlType:
    return o[0].type


def _key(o: Operands) -> SqlType:
    assert o[0].type.key is not None
    return o[0].type.key


def _value(o: Operands) -> SqlType:
    assert o[0].type.element is not None
    return o[0].type.element


def _map_type(o: Operands) -> SqlType:
    assert o[0].type.element is not None and o[1].type.element is not None
    return map_of(o[0].type.element, o[1].type.element)


def _make(keys: tuple[Any, ...], values: tuple[Any, ...]) -> Map:
    if len(keys) != len(values) or None in keys or len(set(keys)) != len(keys):
        raise RowError(RowErrorCode.INVALID_ARGUMENT)
    return tuple(zip(keys, values, strict=True))


def _join(a: Map, b: Map) -> Map:
    later = dict(b)
    return (*((k, v) for k, v in a if k not in later), *b)


def _insert(m: Map | None, key: Any, value: Any) -> Map | None:
    return None if m is None or key is None else _join(m, ((key, value),))


def maps() -> list[Function]:
    """Return the map family; a key that is not there gives NULL."""
    # Spark raises for NULL keys and for keys that come twice.
    sound = "size({0}) = size({1}) AND NOT exists({0}, __k -> __k IS NULL) AND size(array_distinct({0})) = size({0})"  # noqa: E501
    rest = "map_filter({0}, (__k, __v) -> NOT map_contains_key({1}, __k))"
    without = "map_filter({0}, (__k, __v) -> NOT (__k <=> {1}))"
    return [
        Function(
            "map_from_key_values", (_LIST, _LIST), _map_type,
            f"CASE WHEN {sound} THEN map_from_arrays({{0}}, {{1}}) END", _make,
            error=null_means(RowErrorCode.INVALID_ARGUMENT),
        ),
        *(
            Function(
                n, (_MAP, _ANY), _value, "try_element_at({0}, {1})", lambda m, k: dict(m).get(k)
            )
            for n in ("subscript", "map_access")
        ),
        Function(
            "map_contains", (_MAP, _ANY), BOOLEAN, "map_contains_key({0}, {1})",
            lambda m, k: k in dict(m),
        ),
        Function(
            "map_keys", (_MAP,), lambda o: list_of(_key(o)), "map_keys({0})",
            lambda m: tuple(k for k, _ in m),
        ),
        Function(
            "map_values", (_MAP,), lambda o: list_of(_value(o)), "map_values({0})",
            lambda m: tuple(v for _, v in m),
        ),
        *(Function(n, (_MAP,), INT, "size({0})", len) for n in ("map_length", "cardinality")),
        Function("map_cat", (_MAP, _MAP), _first, f"map_concat({rest}, {{1}})", _join),
        Function(
            "map_insert", (_MAP, _ANY, _ANY), _first,
            f"CASE WHEN {{1}} IS NOT NULL THEN map_concat({without}, map({{1}}, {{2}})) END",
            _insert, strict=False,
        ),
        Function(
            "map_delete", (_MAP, _ANY), _first, f"CASE WHEN {{1}} IS NOT NULL THEN {without} END",
            lambda m, k: tuple(p for p in m if p[0] != k),
        ),
    ]  # fmt: skip
