"""Bodies of records as what they stand for: each field is there and of its type.

A field with a default may be missing, as in what a former version wrote. One that is not known is
as wrong as one that is missing: a newer version tells of itself by its format.
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

_Reader = Callable[[Any], Any]


class Misshapen(ValueError):
    """A body, or a part of it, is not of the kind that it has to be; the message says why."""


def shaped(kind: Any, plain: Any) -> Any:
    """Return what a body of JSON stands for: a dataclass, a dict, a list, a single value.

    >>> shaped(dict[int, tuple[str, ...]], {"1": ["a", "b"]})
    {1: ('a', 'b')}
    >>> shaped(dict[str, int], {"a": "b"})
    Traceback (most recent call last):
    floodmark.storage.record_bodies.Misshapen: a: 'b' is no int
    """
    return _reader(kind)(plain)


@cache
def _reader(kind: Any) -> _Reader:
    """Return what makes a value of a kind out of plain JSON."""
    origin, args = get_origin(kind), get_args(kind)
    if kind is Any:
        return lambda plain: plain
    if dataclasses.is_dataclass(kind):
        return partial(_fields, kind, *_hints(kind))
    if is_typeddict(kind):
        needed = {name: _reader(hint) for name, hint in get_type_hints(kind).items()}
        return partial(_entry, needed)
    if origin is Annotated:
        return _reader(args[1])
    if origin is Literal:
        return partial(_literal, args)
    if origin in (Union, types.UnionType):
        return partial(_either, [_reader(arg) for arg in args])
    if origin in (dict, Mapping):
        return partial(_mapping, args[0] is int, _reader(args[1]))
    if origin is tuple and args[-1] is not ...:
        return partial(_row, [_reader(arg) for arg in args])
    if origin in (tuple, list, Sequence):
        return partial(_sequence, tuple if origin is tuple else list, _reader(args[0]))
    return partial(_single, kind)


def _hints(kind: Any) -> tuple[dict[str, _Reader], frozenset[str]]:
    """Return what makes each field of a dataclass, and which of them must be there."""
    hints = get_type_hints(kind, include_extras=True)
    fields = dataclasses.fields(kind)
    none = dataclasses.MISSING
    needed = (f.name for f in fields if f.default is none and f.default_factory is none)
    return {f.name: _reader(hints[f.name]) for f in fields}, frozenset(needed)


def _fields(kind: Any, readers: Mapping[str, _Reader], needed: frozenset[str], plain: Any) -> Any:
    data = _object(plain)
    _refuse_missing(needed - data.keys())
    if unknown := data.keys() - readers.keys():
        raise Misshapen(f"{', '.join(sorted(unknown))} is not known")
    return kind(**{name: _within(name, readers[name], part) for name, part in data.items()})


def _entry(needed: Mapping[str, _Reader], plain: Any) -> Any:
    data = _object(plain)
    _refuse_missing(needed.keys() - data.keys())
    for name, reader in needed.items():
        _within(name, reader, data[name])
    return data


def _mapping(numbered: bool, reader: _Reader, plain: Any) -> Any:
    made = {name: _within(name, reader, part) for name, part in _object(plain).items()}
    return {_within(name, int, name): part for name, part in made.items()} if numbered else made


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
        except Misshapen:
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


def _object(plain: Any) -> dict[str, Any]:
    if not isinstance(plain, dict):
        _refuse(plain, "object")
    return plain


def _within(name: str, reader: _Reader, part: Any) -> Any:
    try:
        return reader(part)
    except ValueError as error:
        raise Misshapen(f"{name}: {error}") from None


def _refuse_missing(names: Iterable[str]) -> None:
    if missing := sorted(names):
        raise Misshapen(f"{', '.join(missing)} is missing")


def _refuse(plain: Any, wanted: str) -> NoReturn:
    raise Misshapen(f"{repr(plain)[:40]} is no {wanted}")
