"""Typed bodies of log records: each field is present and has its type.

A body of a former format, and each part of it, is brought to the newest one first, by the steps of
`upgrades`. A field with a default may be missing, as in what a former version wrote. One that is
not known is of a newer version: `UnknownField`.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import (
    Annotated,
    Any,
    Literal,
    NoReturn,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from floodmark.storage.records.upgrades import FORMAT, UpgradeStep, steps_of

_Reader = Callable[[Any], Any]


class ShapeError(ValueError):
    """A body, or a part of it, is not of the kind that it has to be; the message says why."""


class UnknownField(ShapeError):
    """A body, or a part of it, has a field that this version does not know."""


def parse_body(kind: Any, plain: Any, format: int = FORMAT) -> Any:
    """Return what a body of JSON stands for: a dataclass, a dict, a list, a single value.

    >>> parse_body(dict[int, tuple[str, ...]], {"1": ["a", "b"]})
    {1: ('a', 'b')}
    >>> parse_body(dict[str, int], {"a": "b"})
    Traceback (most recent call last):
    floodmark.storage.records.bodies.ShapeError: a: 'b' is no int
    """
    return _reader(kind, format)(plain)


@cache
def _reader(kind: Any, format: int) -> _Reader:
    """Return the function that reads a value of a kind from plain JSON of a format."""
    origin, args = get_origin(kind), get_args(kind)
    steps = steps_of(getattr(kind, "__name__", ""), format)
    if kind is Any:
        return lambda plain: plain
    if dataclasses.is_dataclass(kind):
        return partial(_fields, kind, steps, *_hints(kind, format))
    if is_typeddict(kind):
        hints = get_type_hints(kind)
        readers = {name: _reader(hint, format) for name, hint in hints.items()}
        return partial(_entry, steps, readers, kind.__required_keys__)
    if origin is Annotated:
        return _reader(args[1], format)
    if origin is Literal:
        return partial(_literal, args)
    if origin in (Union, types.UnionType):
        return partial(_either, [_reader(arg, format) for arg in args])
    if origin in (dict, Mapping):
        return partial(_mapping, args[0] is int, _reader(args[1], format))
    if origin is tuple and args[-1] is not ...:
        return partial(_row, [_reader(arg, format) for arg in args])
    if origin in (tuple, list, Sequence):
        return partial(_sequence, tuple if origin is tuple else list, _reader(args[0], format))
    return partial(_single, kind)


def _hints(kind: Any, format: int) -> tuple[dict[str, _Reader], frozenset[str]]:
    """Return a reader for each field of a dataclass, and the fields that must be there."""
    hints = get_type_hints(kind, include_extras=True)
    fields = dataclasses.fields(kind)
    none = dataclasses.MISSING
    needed = (f.name for f in fields if f.default is none and f.default_factory is none)
    return {f.name: _reader(hints[f.name], format) for f in fields}, frozenset(needed)


def _fields(
    kind: Any,
    steps: Sequence[UpgradeStep],
    readers: Mapping[str, _Reader],
    needed: frozenset[str],
    plain: Any,
) -> Any:
    return kind(**_entry(steps, readers, needed, plain))


def _entry(
    steps: Sequence[UpgradeStep],
    readers: Mapping[str, _Reader],
    needed: frozenset[str],
    plain: Any,
) -> dict[str, Any]:
    """Return an object with all that it needs, and nothing that is not known."""
    data = _upgrade(steps, plain)
    _refuse_missing(needed - data.keys())
    if unknown := data.keys() - readers.keys():
        raise UnknownField(f"{', '.join(sorted(unknown))} is not known")
    return {name: _read_part(name, readers[name], part) for name, part in data.items()}


def _mapping(numbered: bool, reader: _Reader, plain: Any) -> Any:
    made = {name: _read_part(name, reader, part) for name, part in _object(plain).items()}
    return {_read_part(name, int, name): part for name, part in made.items()} if numbered else made


def _sequence(kind: Callable[[Iterable[Any]], Any], reader: _Reader, plain: Any) -> Any:
    if not isinstance(plain, list):
        _refuse(plain, "list")
    return kind(map(reader, plain))


def _row(readers: Sequence[_Reader], plain: Any) -> Any:
    if not isinstance(plain, list) or len(plain) != len(readers):
        _refuse(plain, f"list of {len(readers)}")
    return tuple(reader(part) for reader, part in zip(readers, plain, strict=True))


def _either(readers: Sequence[_Reader], plain: Any) -> Any:
    for reader in readers[:-1]:
        try:
            return reader(plain)
        except UnknownField:
            raise
        except ShapeError:
            continue
    return readers[-1](plain)


def _literal(values: Sequence[Any], plain: Any) -> Any:
    if not isinstance(plain, str) or plain not in values:
        _refuse(plain, f"one of {', '.join(values)}")
    return plain


def _single(kind: type, plain: Any) -> Any:
    wanted = (int, float) if kind is float else kind
    if not isinstance(plain, wanted) or (isinstance(plain, bool) and kind is not bool):
        _refuse(plain, "null" if kind is type(None) else kind.__name__)
    return plain


def _upgrade(steps: Sequence[UpgradeStep], plain: Any) -> dict[str, Any]:
    """Return an object after the steps from its format to the newest."""
    data = _object(plain)
    try:
        for step in steps:
            data = step(data)
    except (LookupError, TypeError, AttributeError) as error:
        raise ShapeError(f"it is not of its format: {error}") from None
    return data


def _object(plain: Any) -> dict[str, Any]:
    if not isinstance(plain, dict):
        _refuse(plain, "object")
    return plain


def _read_part(name: str, reader: _Reader, part: Any) -> Any:
    try:
        return reader(part)
    except ValueError as error:
        called = UnknownField if isinstance(error, UnknownField) else ShapeError
        raise called(f"{name}: {error}") from None


def _refuse_missing(names: Iterable[str]) -> None:
    if missing := sorted(names):
        raise ShapeError(f"{', '.join(missing)} is missing")


def _refuse(plain: Any, wanted: str) -> NoReturn:
    raise ShapeError(f"{repr(plain)[:40]} is no {wanted}")
