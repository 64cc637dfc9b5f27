"""Set-returning functions: one value becomes several rows.

Each is a function whose value is the ARRAY of its rows, which `ProjectSet` takes apart. They stand
in FROM and in the select list only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any

from floodmark.scalar.functions.jsonb import array_of, as_text, object_of, print_text, variant
from floodmark.scalar.functions.model import (
    Function,
    Operands,
    RowError,
    RowErrorCode,
    Var,
    null_means,
)
from floodmark.scalar.functions.pattern import patterns
from floodmark.scalar.functions.regexes import print_every_match, python_every_match, regexes
from floodmark.scalar.functions.series import print_numbers, print_times, series
from floodmark.scalar.functions.string import strings
from floodmark.scalar.json_text import dump_json, parse_json
from floodmark.scalar.types import (
    BIGINT,
    INT,
    JSONB,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    Kind,
    SqlType,
    list_of,
    struct_of,
)

_REFUSED = null_means(RowErrorCode.INVALID_ARGUMENT)


@dataclass(frozen=True, slots=True)
class SetFunction(Function):
    """One overload of a set-returning function; its value is the ARRAY of its rows.

    `columns` are the names of a row's columns; with more than one, or where `unpacks`, an element
    is a STRUCT whose fields they are. Without names the column is called like the function.
    """

    columns: tuple[str, ...] = ()
    unpacks: bool = False


def sets() -> list[SetFunction]:
    """Return the family."""
    return [*_unnest(), *_series(), *_jsonb(), *_texts()]


def _unnest() -> list[SetFunction]:
    def same(o: Operands) -> SqlType:
        return o[0].type

    return [
        SetFunction("unnest", (Var.LIST,), same, "{0}", lambda a: a),
        SetFunction(
            "unnest", (Var.LIST, Var.LIST), _zip_type, _print_zip, _zip, variadic=True,
            strict=False, unpacks=True,
        ),
    ]  # fmt: skip


def _zip_type(o: Operands) -> SqlType:
    elements = [x.type.element for x in o]
    return list_of(struct_of(*((f"c{i}", t) for i, t in enumerate(elements, 1) if t is not None)))


def _print_zip(o: Operands) -> str:
    """Return the text of the rows of several arrays; the shorter ones are filled with NULL."""
    size = f"greatest({', '.join(f'coalesce(size({x}), 0)' for x in o)}, 0)"
    parts = ", ".join(f"'c{i}', get({x}, __i)" for i, x in enumerate(o, 1))
    return f"slice(transform(sequence(0, {size}), __i -> named_struct({parts})), 1, {size})"


def _zip(*lists: tuple[Any, ...] | None) -> tuple[Any, ...]:
    longest = max(len(items or ()) for items in lists)
    return tuple(
        tuple(items[i] if items is not None and i < len(items) else None for items in lists)
        for i in range(longest)
    )


def _series() -> list[SetFunction]:
    whole = [
        SetFunction(
            "generate_series", (kind,) * count, list_of(type_), print_numbers, series,
            error=_REFUSED,
        )
        for kind, type_ in ((Kind.INT, INT), (Kind.BIGINT, BIGINT))
        for count in (2, 3)
    ]  # fmt: skip
    times = [
        SetFunction(
            "generate_series", (type_.kind, type_.kind, Kind.INTERVAL), list_of(type_),
            print_times, series, error=_REFUSED,
        )
        for type_ in (TIMESTAMP, TIMESTAMPTZ)
    ]  # fmt: skip
    return [*whole, *times]


def _jsonb() -> list[SetFunction]:
    return [
        _json_set(
            "jsonb_array_elements", list, JSONB, ("value",),
            "transform({a}, __v -> to_json(__v))", lambda v: tuple(map(dump_json, v)),
        ),
        _json_set(
            "jsonb_array_elements_text", list, VARCHAR, ("value",),
            f"transform({{a}}, __w -> {print_text('__w')})", lambda v: tuple(map(as_text, v)),
        ),
        _json_set(
            "jsonb_object_keys", dict, VARCHAR, (), "{k}", _keys,
        ),
        _json_set(
            "jsonb_each", dict, struct_of(("key", VARCHAR), ("value", JSONB)), ("key", "value"),
            "transform({k}, __k -> named_struct('key', __k, 'value', to_json({m}[__k])))",
            lambda v: tuple((k, dump_json(v[k])) for k in _keys(v)),
        ),
        _json_set(
            "jsonb_each_text", dict, struct_of(("key", VARCHAR), ("value", VARCHAR)),
            ("key", "value"),
            f"transform({{k}}, __k -> named_struct('key', __k, 'value', {print_text('{m}[__k]')}))",
            lambda v: tuple((k, as_text(v[k])) for k in _keys(v)),
        ),
    ]  # fmt: skip


def _keys(value: dict[str, Any]) -> tuple[str, ...]:
    """Return the keys as PostgreSQL orders them: the shorter first."""
    return tuple(sorted(value, key=lambda k: (len(k.encode()), k.encode())))


_SORTED_KEYS = (
    "transform(array_sort(transform(map_keys({m}), "
    "__k -> named_struct('n', octet_length(__k), 'k', __k))), __s -> __s.k)"
)


def _json_set(
    name: str,
    wanted: type,
    element: SqlType,
    columns: tuple[str, ...],
    template: str,
    rows: Callable[[Any], tuple[Any, ...]],
) -> SetFunction:
    """Return a function that takes an array or an object apart and refuses any other value."""

    def spark(o: Operands) -> str:
        parts = {"a": array_of(variant(o[0])), "m": object_of(variant(o[0]))}
        return template.format(**parts, k=_SORTED_KEYS.format(**parts))

    def python(text: str) -> tuple[Any, ...]:
        value = parse_json(text)
        if not isinstance(value, wanted):
            raise RowError(RowErrorCode.INVALID_ARGUMENT)
        return rows(value)

    return SetFunction(
        name, (Kind.JSONB,), list_of(element), spark, python, error=_REFUSED, columns=columns,
        unpacks=len(columns) > 1,
    )  # fmt: skip


def _texts() -> list[SetFunction]:
    two = (Kind.VARCHAR, Kind.VARCHAR)
    return [
        *_as_set("string_to_table", "string_to_array", strings()),
        *_as_set("regexp_split_to_table", "regexp_split_to_array", [*patterns(), *regexes()]),
        *(
            SetFunction(
                "regexp_matches", (*two, *more), list_of(list_of(VARCHAR)), print_every_match,
                python_every_match, constant=frozenset(range(1, 2 + len(more))),
            )
            for more in ((), (Kind.VARCHAR,))
        ),
    ]  # fmt: skip


def _as_set(name: str, array: str, known: Iterable[Function]) -> list[SetFunction]:
    """Return the overloads of a function that gives an array under the name of its set form."""
    out = []
    for entry in known:
        if entry.name == array:
            parts = {f.name: getattr(entry, f.name) for f in fields(entry)}
            out.append(SetFunction(**{**parts, "name": name}))
    return out
