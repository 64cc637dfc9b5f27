"""Reading JSONB: fields, elements, paths, containment; a value at rest is canonical JSON text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from floodmark.errors import NotSupported
from floodmark.scalar.functions.model import (
    Function,
    Operand,
    Operands,
    RowError,
    RowErrorCode,
    Var,
    null_means,
)
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.json_text import dump_json as dump, parse_json as parse
from floodmark.scalar.types import BOOLEAN, INT, JSONB, VARCHAR, Kind

_J, _S, _I = Kind.JSONB, Kind.VARCHAR, Kind.INT
_TEXTS = Var.TEXTS
MISSING = object()
"""What is not there, which JSON's null is not."""


def step(value: Any, key: str | int | None) -> Any:
    """Return a field of an object or an element of an array; negative indices count from the end.

    A text is an index into an array where it is a number, as in paths.
    """
    if isinstance(value, dict):
        return value.get(key, MISSING) if isinstance(key, str) else MISSING
    if isinstance(value, list):
        try:
            at = int(key)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return MISSING
        return value[at] if -len(value) <= at < len(value) else MISSING
    return MISSING


def _get(text: str, key: str | int) -> Any:
    value = parse(text)
    fits = isinstance(value, dict) if isinstance(key, str) else isinstance(value, list)
    return step(value, key) if fits else MISSING


def _walk(text: str, path: Sequence[str | None]) -> Any:
    value = parse(text)
    for key in path:
        value = step(value, key)
    return value


def as_json(value: Any) -> str | None:
    """Return a found value as JSONB."""
    return None if value is MISSING else dump(value)


def as_text(value: Any) -> str | None:
    """Return a found value as text: a string without quotes, null as NULL."""
    if value is MISSING or value is None:
        return None
    return value if isinstance(value, str) else dump(value)


def variant(json_text: object) -> str:
    """Return the Spark text of a JSONB value taken apart."""
    return f"try_parse_json({json_text})"


def object_of(value: str) -> str:
    """Return the Spark text of a variant's fields, NULL where it is no object."""
    return f"try_variant_get({value}, '$', 'map<string,variant>')"


def array_of(value: str) -> str:
    """Return the Spark text of a variant's elements, NULL where it is no array."""
    return f"try_variant_get({value}, '$', 'array<variant>')"


def print_text(value: str) -> str:
    """Return the Spark text of a variant as text, its own text read once."""
    kind = "schema_of_variant(__v)"
    text = (
        f"CASE WHEN {kind} = 'STRING' THEN try_variant_get(__v, '$', 'string') "
        f"WHEN {kind} <> 'VOID' THEN to_json(__v) END"
    )
    return f"transform(array({value}), __v -> {text})[0]"


def _item_at(value: str, index: str) -> str:
    items = array_of(value)
    place = f"CASE WHEN {index} >= 0 THEN {index} ELSE size({items}) + {index} END"
    return f"get({items}, {place})"


def _lookup(o: Operands) -> str:
    value, key = variant(o[0]), o[1]
    if key.type.kind is Kind.INT:
        constant = key.constant
        if isinstance(constant, int) and constant >= 0:
            return f"try_variant_get({value}, '$[{constant}]', 'variant')"
        return _item_at(value, key.sql)
    name = key.constant
    if isinstance(name, str) and not set(name) & set("'\"\\"):
        return f"try_variant_get({value}, '$[\"{name}\"]', 'variant')"
    return f"try_element_at({object_of(value)}, {key})"


def _path(o: Operands) -> str:
    # In a path a text may be a field or an index.
    index = "try_cast(__k AS INT)"
    one = f"coalesce(try_element_at({object_of('__v')}, __k), {_item_at('__v', index)})"
    path = o[1].sql if o[1].type.kind is Kind.LIST else f"array({', '.join(x.sql for x in o[1:])})"
    return f"aggregate({path}, {variant(o[0])}, (__v, __k) -> {one})"


def has(value: str, key: str) -> str:
    """Return the Spark text of "the key is a field, an element, or the text itself"."""
    # Arguments stand inside: names that no column has.
    is_key = f"schema_of_variant(__e) = 'STRING' AND try_variant_get(__e, '$', 'string') = {key}"
    fields = f"coalesce(map_contains_key({object_of(value)}, {key}), FALSE)"
    items = f"coalesce(exists({array_of(value)}, __e -> {is_key}), FALSE)"
    alone = f"coalesce(exists(array({value}), __e -> {is_key}), FALSE)"
    return f"({fields} OR {items} OR {alone})"


def _has(value: Any, key: str | None) -> bool:
    if isinstance(value, (dict, list)):
        return any(isinstance(k, str) and k == key for k in value)
    return isinstance(value, str) and value == key


def contains(value: Any, part: Any, *, top: bool = True) -> bool:
    """Tell whether a value contains another, as `@>` says.

    >>> contains({"a": [1, 2], "b": 3}, {"a": [2]}), contains([1, 2], 2), contains([[1]], [1])
    (True, True, False)
    """
    match value, part:
        case dict(), dict():
            return all(k in value and contains(value[k], v, top=False) for k, v in part.items())
        case list(), list():
            return all(any(contains(v, p, top=False) for v in value) for p in part)
        case list(), _ if top and not isinstance(part, dict):
            return any(contains(v, part, top=False) for v in value)
        case (bool(), _) | (_, bool()) | (None, _) | (_, None):
            return value is part
        case ((int() | float() | Decimal()), (int() | float() | Decimal())):
            return bool(value == part)
        case _:
            return type(value) is type(part) and bool(value == part)


def _print_contains(value: str, part: Any, depth: int = 0) -> str:
    """Print the test of a constant part; each level of the part has a variable of its own."""
    match part:
        case dict():
            tests = [
                _print_contains(f"try_element_at({object_of(value)}, {quote(k)})", v, depth + 1)
                for k, v in part.items()
            ]
            return f"({' AND '.join([f'{object_of(value)} IS NOT NULL', *tests])})"
        case list():
            name = f"e{depth}"
            tests = [
                f"coalesce(exists({array_of(value)}, {name} -> {_print_contains(name, p, depth + 1)}), FALSE)"  # noqa: E501
                for p in part
            ]
            return f"({' AND '.join([f'{array_of(value)} IS NOT NULL', *tests])})"
        case _:
            same = _print_scalar(value, part)
            if depth:
                return same
            items = f"exists({array_of(value)}, e -> {_print_scalar('e', part)})"
            return f"({same} OR coalesce({items}, FALSE))"


def _print_scalar(value: str, part: Any) -> str:
    kind = f"schema_of_variant({value})"
    match part:
        case None:
            test = f"{kind} = 'VOID'"
        case bool():
            test = f"{kind} = 'BOOLEAN' AND to_json({value}) = '{str(part).lower()}'"
        case str():
            test = f"{kind} = 'STRING' AND try_variant_get({value}, '$', 'string') = {quote(part)}"
        case _:
            number = f"try_cast(to_json({value}) AS DOUBLE)"
            test = f"{kind} <> 'STRING' AND {number} = CAST('{dump(part)}' AS DOUBLE)"
    return f"coalesce({test}, FALSE)"


def _print_contained(whole: Operand, part: Operand) -> str:
    if not part.is_constant:
        raise NotSupported(
            "E0390",
            "the right side of @> must be a literal",
            hint="""such as '{"a": 1}'; compare single fields with -> instead""",
        )
    if part.constant is None:
        return "CAST(NULL AS BOOLEAN)"
    found = _print_contains("v", parse(part.constant))
    return f"CASE WHEN {whole} IS NOT NULL THEN exists(array({variant(whole)}), v -> {found}) END"


def _typeof(text: str) -> str:
    value = parse(text)
    names: list[tuple[type, str]] = [
        (bool, "boolean"),
        (str, "string"),
        (dict, "object"),
        (list, "array"),
    ]
    return next(
        (n for t, n in names if isinstance(value, t)), "null" if value is None else "number"
    )


def _array_length(text: str) -> int:
    value = parse(text)
    if not isinstance(value, list):
        raise RowError(RowErrorCode.INVALID_ARGUMENT)
    return len(value)


def _getters() -> list[Function]:
    out = []
    for kind in (_S, _I):
        out += [
            Function(
                "->", (_J, kind), JSONB, lambda o: f"to_json({_lookup(o)})",
                lambda t, k: as_json(_get(t, k)),
            ),
            Function(
                "->>", (_J, kind), VARCHAR, lambda o: print_text(_lookup(o)),
                lambda t, k: as_text(_get(t, k)),
            ),
        ]  # fmt: skip
    as_value: Callable[[Operands], str] = lambda o: f"to_json({_path(o)})"  # noqa: E731
    out += [
        Function("#>", (_J, _TEXTS), JSONB, as_value, lambda t, p: as_json(_walk(t, p))),
        Function(
            "#>>", (_J, _TEXTS), VARCHAR, lambda o: print_text(_path(o)),
            lambda t, p: as_text(_walk(t, p)),
        ),
        Function(
            "jsonb_extract_path", (_J, _S), JSONB, as_value, lambda t, *p: as_json(_walk(t, p)),
            variadic=True,
        ),
        Function(
            "jsonb_extract_path_text", (_J, _S), VARCHAR, lambda o: print_text(_path(o)),
            lambda t, *p: as_text(_walk(t, p)), variadic=True,
        ),
    ]  # fmt: skip
    return out


def _tests() -> list[Function]:
    def some(word: str) -> Callable[[Operands], str]:
        def spark(o: Operands) -> str:
            found = f"{word}({o[1]}, __k -> coalesce({has('__v', '__k')}, FALSE))"
            inner = f"exists(array({variant(o[0])}), __v -> {found})"
            return f"CASE WHEN {o[0]} IS NOT NULL AND {o[1]} IS NOT NULL THEN {inner} END"

        return spark

    def one(o: Operands) -> str:
        inner = f"exists(array({variant(o[0])}), __v -> {has('__v', o[1].sql)})"
        return f"CASE WHEN {o[0]} IS NOT NULL AND {o[1]} IS NOT NULL THEN {inner} END"

    return [
        *(
            Function(n, (_J, _S), BOOLEAN, one, lambda t, k: _has(parse(t), k))
            for n in ("?", "jsonb_exists")
        ),
        Function(
            "?|", (_J, _TEXTS), BOOLEAN, some("exists"),
            lambda t, keys: any(_has(parse(t), k) for k in keys),
        ),
        Function(
            "?&", (_J, _TEXTS), BOOLEAN, some("forall"),
            lambda t, keys: all(_has(parse(t), k) for k in keys),
        ),
        *(
            Function(
                n, (_J, _J), BOOLEAN, lambda o: _print_contained(o[0], o[1]),
                lambda a, b: contains(parse(a), parse(b)),
            )
            for n in ("@>", "jsonb_contains")
        ),
        Function(
            "<@", (_J, _J), BOOLEAN, lambda o: _print_contained(o[1], o[0]),
            lambda a, b: contains(parse(b), parse(a)),
        ),
    ]  # fmt: skip


def jsonb() -> list[Function]:
    """Return the operators and functions that read JSONB."""
    typeof = (
        "CASE substring({0}, 1, 1) WHEN '{{' THEN 'object' WHEN '[' THEN 'array' WHEN '\"' THEN 'string' "  # noqa: E501
        "WHEN 't' THEN 'boolean' WHEN 'f' THEN 'boolean' WHEN 'n' THEN 'null' "
        "ELSE CASE WHEN {0} IS NOT NULL THEN 'number' END END"
    )
    return [
        *_getters(),
        *_tests(),
        Function("jsonb_typeof", (_J,), VARCHAR, typeof, _typeof),
        Function(
            "jsonb_array_length", (_J,), INT, "json_array_length({0})", _array_length,
            error=null_means(RowErrorCode.INVALID_ARGUMENT), version=2,
        ),
    ]  # fmt: skip
