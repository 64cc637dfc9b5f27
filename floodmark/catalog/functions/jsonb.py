"""JSONB operators; a value at rest is canonical JSON text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from floodmark.catalog.functions.model import Function, Operands
from floodmark.catalog.types import INT, JSONB, VARCHAR, Kind
from floodmark.errors import NotSupported

_J, _S, _I = Kind.JSONB, Kind.VARCHAR, Kind.INT


def _path(o: Operands) -> str:
    key = o[1].constant
    if isinstance(key, int):
        if key < 0:
            raise NotSupported("E0376", "a JSON index from the end is not available")
        return f"$[{key}]"
    if key is None or "'" in key or "\\" in key:
        raise NotSupported(
            "E0377", f"the JSON key {key!r} cannot be looked up", hint="keys without quotes"
        )
    return f'$["{key}"]' if '"' not in key else f"$['{key}']"


def _value(o: Operands) -> str:
    return f"variant_get(try_parse_json({o[0]}), '{_path(o)}', 'variant')"


def _print_value(o: Operands) -> str:
    return f"to_json({_value(o)})"


def _print_text(o: Operands) -> str:
    value = _value(o)
    kind = f"schema_of_variant({value})"
    plain = f"try_variant_get(try_parse_json({o[0]}), '{_path(o)}', 'string')"
    return (
        f"CASE WHEN {kind} = 'STRING' THEN {plain} WHEN {kind} <> 'VOID' THEN to_json({value}) END"
    )


def _get(text: str, key: str | int) -> Any:
    value = json.loads(text)
    if isinstance(value, dict) and isinstance(key, str):
        return value.get(key, _MISSING)
    if isinstance(value, list) and isinstance(key, int):
        return value[key] if key < len(value) else _MISSING
    return _MISSING


_MISSING = object()


def dump(value: Any) -> str:
    """Return canonical JSON: no spaces, keys in order."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _as_json(text: str, key: str | int) -> str | None:
    value = _get(text, key)
    return None if value is _MISSING else dump(value)


def _as_text(text: str, key: str | int) -> str | None:
    value = _get(text, key)
    if value is _MISSING or value is None:
        return None
    return value if isinstance(value, str) else dump(value)


def _typeof(text: str) -> str:
    value = json.loads(text)
    names: list[tuple[type, str]] = [
        (bool, "boolean"),
        (str, "string"),
        (dict, "object"),
        (list, "array"),
    ]
    return next(
        (n for t, n in names if isinstance(value, t)), "null" if value is None else "number"
    )


def jsonb() -> list[Function]:
    """Return the JSONB family; keys and indices are literals."""
    fixed = frozenset({1})
    typeof = (
        "CASE substring({0}, 1, 1) WHEN '{{' THEN 'object' WHEN '[' THEN 'array' WHEN '\"' THEN 'string' "  # noqa: E501
        "WHEN 't' THEN 'boolean' WHEN 'f' THEN 'boolean' WHEN 'n' THEN 'null' "
        "ELSE CASE WHEN {0} IS NOT NULL THEN 'number' END END"
    )
    gets: list[tuple[str, Any, Callable[[Operands], str], Callable[..., Any]]] = [
        ("->", JSONB, _print_value, _as_json),
        ("->>", VARCHAR, _print_text, _as_text),
    ]
    return [
        *(
            Function(name, (_J, kind), result, spark, python, constant=fixed)
            for name, result, spark, python in gets
            for kind in (_S, _I)
        ),
        Function("jsonb_typeof", (_J,), VARCHAR, typeof, _typeof),
        Function(
            "jsonb_array_length",
            (_J,),
            INT,
            "json_array_length({0})",
            lambda t: len(v) if isinstance(v := json.loads(t), list) else None,
        ),
    ]
