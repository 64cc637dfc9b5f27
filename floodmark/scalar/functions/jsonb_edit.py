"""Making and changing JSONB: building, merging, deleting and setting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from floodmark.errors import BindError
from floodmark.scalar.functions.jsonb import array_of, object_of, variant
from floodmark.scalar.functions.model import (
    Function,
    Operands,
    RowError,
    RowErrorCode,
    Var,
    null_means,
)
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.json_text import dump_json as dump, parse_json as parse
from floodmark.scalar.types import JSONB, Kind

_J, _S, _I, _B = Kind.JSONB, Kind.VARCHAR, Kind.INT, Kind.BOOLEAN
_REFUSED = RowErrorCode.INVALID_ARGUMENT
_ERROR = null_means(_REFUSED)


def key_text(text: str) -> str:
    """Return the Spark text of a string as JSON."""
    return f"regexp_extract(to_json(array({text})), '(?s)^.(.*).$', 1)"


def _object_text(fields: str) -> str:
    """Return the Spark text of an object from a map of variants, keys in order."""
    pair = f"concat({key_text('__k')}, ':', to_json(try_element_at({fields}, __k)))"
    return f"concat('{{', array_join(transform(array_sort(map_keys({fields})), __k -> {pair}), ','), '}}')"  # noqa: E501


def _array_text(items: str) -> str:
    return f"concat('[', array_join(transform({items}, __i -> to_json(__i)), ','), ']')"


def _bind(values: dict[str, str], result: str) -> str:
    """Print `result` with names for texts that it reads often, as fields of `__s`."""
    fields = ", ".join(f"'{name}', {text}" for name, text in values.items())
    return f"transform(array(named_struct({fields})), __s -> {result})[0]"


def _concat(a: str, b: str) -> str:
    left, right = parse(a), parse(b)
    if isinstance(left, dict) and isinstance(right, dict):
        return dump({**left, **right})
    if isinstance(left, dict) != isinstance(right, dict) and not (
        isinstance(left, list) or isinstance(right, list)
    ):
        raise RowError(_REFUSED)
    lists = [v if isinstance(v, list) else [v] for v in (left, right)]
    return dump(lists[0] + lists[1])


def _print_concat(o: Operands) -> str:
    merged = "map_concat(map_filter(__s.m, (__k, __v) -> NOT map_contains_key(__s.n, __k)), __s.n)"
    objects = _bind_fields(merged)
    items = "concat(coalesce(__s.a, array(__s.v)), coalesce(__s.b, array(__s.w)))"
    value = (
        "CASE WHEN __s.v IS NULL OR __s.w IS NULL THEN NULL "
        f"WHEN __s.m IS NOT NULL AND __s.n IS NOT NULL THEN {objects} "
        "WHEN (__s.m IS NULL) <> (__s.n IS NULL) AND __s.a IS NULL AND __s.b IS NULL THEN NULL "
        f"ELSE {_array_text(items)} END"
    )
    left, right = variant(o[0]), variant(o[1])
    parts = {
        "v": left, "w": right, "m": object_of(left), "n": object_of(right),
        "a": array_of(left), "b": array_of(right),
    }  # fmt: skip
    return _bind(parts, value)


def _bind_fields(fields: str) -> str:
    return f"transform(array({fields}), __f -> {_object_text('__f')})[0]"


def _remove_keys(text: str, *keys: str | None) -> str:
    value, gone = parse(text), {k for k in keys if k is not None}
    match value:
        case dict():
            return dump({k: v for k, v in value.items() if k not in gone})
        case list():
            return dump([v for v in value if not (isinstance(v, str) and v in gone)])
        case _:
            raise RowError(_REFUSED)


def _print_remove_keys(o: Operands) -> str:
    key = f"array({o[1]})" if o[1].type.kind is Kind.VARCHAR else o[1].sql
    listed = f"coalesce(array_contains({key}, {{}}), FALSE)"
    text = listed.format("try_variant_get(__i, '$', 'string')")
    kept = f"map_filter(__s.m, (__k, __v) -> NOT {listed.format('__k')})"
    items = f"filter(__s.a, __i -> NOT (schema_of_variant(__i) = 'STRING' AND {text}))"
    value = f"CASE WHEN __s.m IS NOT NULL THEN {_bind_fields(kept)} WHEN __s.a IS NOT NULL THEN {_array_text(items)} END"  # noqa: E501
    parts = {"m": object_of(variant(o[0])), "a": array_of(variant(o[0]))}
    return f"CASE WHEN {o[1]} IS NOT NULL THEN {_bind(parts, value)} END"


def _remove_item(text: str, at: int) -> str:
    value = parse(text)
    if not isinstance(value, list):
        raise RowError(_REFUSED)
    if -len(value) <= at < len(value):
        del value[at]
    return dump(value)


def _print_remove_item(o: Operands) -> str:
    items = array_of(variant(o[0]))
    place = f"CASE WHEN {o[1]} >= 0 THEN {o[1]} ELSE size({items}) + {o[1]} END"
    kept = f"transform(filter(transform({items}, (__i, __n) -> named_struct('i', __i, 'n', __n)), __p -> __p.n <> {place}), __p -> __p.i)"  # noqa: E501
    return f"CASE WHEN {o[1]} IS NOT NULL THEN {_array_text(kept)} END"


def _edit(value: Any, path: Sequence[str], new: Any, *, create: bool, delete: bool) -> Any:
    """Return the value with what is at the path set or deleted; what is not there stays so."""
    key, *rest = path
    if isinstance(value, dict):
        if rest:
            if key not in value:
                return value
            inner = _edit(value[key], rest, new, create=create, delete=delete)
            return {**value, key: inner}
        if delete:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: new} if key in value or create else value
    if not isinstance(value, list):
        return value
    return _edit_list(value, key, rest, new, create=create, delete=delete)


def _edit_list(
    value: list[Any], key: str, rest: Sequence[str], new: Any, *, create: bool, delete: bool
) -> list[Any]:
    at = _index(key)
    if at is None:
        raise RowError(_REFUSED)
    at = at + len(value) if at < 0 else at
    if 0 <= at < len(value):
        if rest:
            inner = _edit(value[at], rest, new, create=create, delete=delete)
            return [*value[:at], inner, *value[at + 1 :]]
        return [*value[:at], *([] if delete else [new]), *value[at + 1 :]]
    if rest or delete or not create:
        return value
    return [new, *value] if at < 0 else [*value, new]


def _path_of(o: Operands) -> list[str]:
    path = list(o[1].constant)
    if None in path:
        raise BindError("E0287", "a path has no NULLs", hint="such as '{a,b}'")
    return path


def _print_edit(value: str, path: Sequence[str], new: str | None, create: bool, depth: int) -> str:
    """Print the new JSON text of a variant; variables are numbered by depth."""
    key, *rest = path
    m, a, s = f"__m{depth}", f"__a{depth}", f"__s{depth}"
    inner = "{}"
    if rest:
        inner = _print_edit(f"{s}.x", rest, new, create, depth + 1)
    fields = _print_edit_object(s, m, key, rest, new, create, inner)
    items = _print_edit_array(s, m, a, key, rest, new, create, inner)
    found = f"try_element_at({object_of(value)}, {quote(key)})"
    if _index(key) is not None:
        at = f"CASE WHEN {_index(key)} >= 0 THEN {_index(key)} ELSE size({array_of(value)}) + {_index(key)} END"  # noqa: E501
        found = f"coalesce({found}, get({array_of(value)}, {at}))"
    struct = (
        f"named_struct('v', {value}, 'm', {object_of(value)}, 'a', {array_of(value)}, 'x', {found})"
    )
    body = f"CASE WHEN {s}.m IS NOT NULL THEN {fields} WHEN {s}.a IS NOT NULL THEN {items} ELSE to_json({s}.v) END"  # noqa: E501
    return f"transform(array({struct}), {s} -> {body})[0]"


def _index(key: str) -> int | None:
    try:
        at = int(key)
    except ValueError:
        return None
    return at if -(1 << 31) <= at < 1 << 31 else None


def _print_edit_object(
    s: str, k: str, key: str, rest: Sequence[str], new: str | None, create: bool, inner: str
) -> str:
    name = quote(key)
    there = f"map_contains_key({s}.m, {name})"
    keys = f"map_keys({s}.m)"
    replaced = inner if rest else new
    if replaced is None:
        keys = f"filter({keys}, {k} -> {k} <> {name})"
    elif create and not rest:
        keys = f"CASE WHEN {there} THEN {keys} ELSE concat({keys}, array({name})) END"
    text = f"to_json(try_element_at({s}.m, {k}))"
    if replaced is not None:
        text = f"CASE WHEN {k} = {name} THEN {replaced} ELSE {text} END"
    pair = f"concat({key_text(k)}, ':', {text})"
    return f"concat('{{', array_join(transform(array_sort({keys}), {k} -> {pair}), ','), '}}')"


def _print_edit_array(
    s: str, i: str, n: str, key: str, rest: Sequence[str], new: str | None, create: bool, inner: str
) -> str:
    at = _index(key)
    if at is None:
        return "CAST(NULL AS STRING)"
    place = f"{at}" if at >= 0 else f"(size({s}.a) + {at})"
    replaced = inner if rest else new
    text = f"to_json({i})"
    if replaced is not None:
        texts = f"transform({s}.a, ({i}, {n}) -> CASE WHEN {n} = {place} THEN {replaced} ELSE {text} END)"  # noqa: E501
    else:
        texts = f"filter(transform({s}.a, ({i}, {n}) -> CASE WHEN {n} <> {place} THEN {text} END), {i} -> {i} IS NOT NULL)"  # noqa: E501
    if create and not rest and new is not None:
        front, back = f"concat(array({new}), {texts})", f"concat({texts}, array({new}))"
        texts = f"CASE WHEN {place} < 0 THEN {front} WHEN {place} >= size({s}.a) THEN {back} ELSE {texts} END"  # noqa: E501
    return f"concat('[', array_join({texts}, ','), ']')"


def _setters() -> list[Function]:
    def spark(o: Operands) -> str:
        create = len(o) == 3 or o[3].constant is not False
        path = _path_of(o)
        edited = _print_edit(variant(o[0]), path, o[2].sql, create, 0) if path else o[0].sql
        # What is no container cannot be changed.
        simple = f"{object_of(variant(o[0]))} IS NOT NULL OR {array_of(variant(o[0]))} IS NOT NULL"
        return f"CASE WHEN {o[2]} IS NOT NULL AND ({simple}) THEN {edited} END"

    def python(text: str, path: Sequence[str], new: str, create: bool = True) -> str:
        value = parse(text)
        if not isinstance(value, (dict, list)):
            raise RowError(_REFUSED)
        if not path:
            return text
        return dump(_edit(value, path, parse(new), create=create, delete=False))

    def delete(text: str, path: Sequence[str]) -> str:
        value = parse(text)
        if not isinstance(value, (dict, list)):
            raise RowError(_REFUSED)
        return dump(_edit(value, path, None, create=False, delete=True)) if path else text

    def spark_delete(o: Operands) -> str:
        path = _path_of(o)
        edited = _print_edit(variant(o[0]), path, None, False, 0) if path else o[0].sql
        simple = f"{object_of(variant(o[0]))} IS NOT NULL OR {array_of(variant(o[0]))} IS NOT NULL"
        return f"CASE WHEN {simple} THEN {edited} END"

    path = frozenset({1})
    return [
        Function(
            "jsonb_set", (_J, Var.TEXTS, _J), JSONB, spark, python, constant=path, error=_ERROR
        ),
        Function(
            "jsonb_set", (_J, Var.TEXTS, _J, _B), JSONB, spark, python,
            constant=frozenset({1, 3}), error=_ERROR,
        ),
        *(
            Function(
                n, (_J, Var.TEXTS), JSONB, spark_delete, delete, constant=path, error=_ERROR
            )
            for n in ("#-", "jsonb_delete_path")
        ),
    ]  # fmt: skip


def _builders() -> list[Function]:
    def fields(*given: str | None) -> str:
        keys, values = given[::2], given[1::2]
        if None in keys:
            raise RowError(_REFUSED)
        pairs = zip(keys, values, strict=True)
        return dump({k: None if v is None else parse(v) for k, v in pairs})

    def print_fields(o: Operands) -> str:
        texts = ", ".join(
            f"named_struct('k', {k}, 'v', coalesce({v}, 'null'), 'n', {n})"
            for n, (k, v) in enumerate(zip(o[::2], o[1::2], strict=True))
        )
        if not texts:
            return "'{}'"
        # Of fields that come twice the last counts.
        last = "filter(ps, p -> NOT exists(ps, q -> q.k = p.k AND q.n > p.n))"
        one = f"concat({key_text('p.k')}, ':', p.v)"
        whole = f"concat('{{', array_join(transform(array_sort({last}), p -> {one}), ','), '}}')"
        keys = " AND ".join(f"{k} IS NOT NULL" for k in o[::2])
        return f"CASE WHEN {keys} THEN transform(array(array({texts})), ps -> {whole})[0] END"

    def print_items(o: Operands) -> str:
        texts = [f"coalesce({x}, 'null')" for x in o]
        return f"concat('[', concat_ws(',', {', '.join(texts)}), ']')" if texts else "'[]'"

    def items(*values: str | None) -> str:
        return dump([None if v is None else parse(v) for v in values])

    def missing_key(o: Operands, value: str) -> str | None:
        keys = [k for k in o[::2] if not (k.is_constant and k.constant is not None)]
        tests = " OR ".join(f"{k} IS NULL" for k in keys)
        return f"CASE WHEN {tests} THEN {int(_REFUSED)} END" if keys else None

    return [
        Function("jsonb_build_object", (), JSONB, print_fields, fields),
        Function(
            "jsonb_build_object", (Var.ANY,), JSONB, print_fields, fields, variadic=True,
            strict=False, error=missing_key,
        ),
        Function("jsonb_build_array", (), JSONB, print_items, items),
        Function(
            "jsonb_build_array", (Var.ANY,), JSONB, print_items, items, variadic=True,
            strict=False,
        ),
        Function(
            "json_text", (_S,), JSONB,
            lambda o: f"CASE WHEN {o[0]} IS NOT NULL THEN {key_text(o[0].sql)} END", dump,
        ),
        Function("json_number", (_S,), JSONB, _print_number, _number),
    ]  # fmt: skip


def _number(text: str) -> str:
    """Return a number's text as JSON; what JSON has no form for is a string."""
    return dump(text) if text[-1:].isalpha() else dump(parse(text))


def _print_number(o: Operands) -> str:
    plain = f"to_json({variant(o[0])})"
    return f"CASE WHEN {o[0]} RLIKE '[a-zA-Z]$' THEN {key_text(o[0].sql)} ELSE {plain} END"


def jsonb_edits() -> list[Function]:
    """Return the functions that make and change JSONB; paths are literals.

    `json_text` and `json_number` stand below `to_jsonb`, which the binder writes with them.
    """
    edit: Callable[..., Any] = lambda t, keys: _remove_keys(t, *keys)  # noqa: E731
    return [
        Function("||", (_J, _J), JSONB, _print_concat, _concat, error=_ERROR),
        Function("-", (_J, _S), JSONB, _print_remove_keys, _remove_keys, error=_ERROR),
        Function("-", (_J, Var.TEXTS), JSONB, _print_remove_keys, edit, error=_ERROR),
        Function("-", (_J, _I), JSONB, _print_remove_item, _remove_item, error=_ERROR),
        *_setters(),
        *_builders(),
    ]
