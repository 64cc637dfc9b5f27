"""The one registry of functions: what exists, with which types and meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from itertools import groupby
from types import MappingProxyType
from typing import Protocol, TypeVar

from floodmark.scalar.functions.aggregate import aggregates
from floodmark.scalar.functions.arithmetic import arithmetic
from floodmark.scalar.functions.array import arrays
from floodmark.scalar.functions.bytes import byte_strings
from floodmark.scalar.functions.calendar import calendars
from floodmark.scalar.functions.comparison import comparison
from floodmark.scalar.functions.constants import constants
from floodmark.scalar.functions.datetime import datetimes
from floodmark.scalar.functions.formats import formats
from floodmark.scalar.functions.integers import integers
from floodmark.scalar.functions.interval_scaling import interval_scaling
from floodmark.scalar.functions.jsonb import jsonb
from floodmark.scalar.functions.jsonb_edit import jsonb_edits
from floodmark.scalar.functions.like import likes
from floodmark.scalar.functions.lists import lists
from floodmark.scalar.functions.maps import maps
from floodmark.scalar.functions.model import (
    NOT_CONSTANT,
    Accumulator,
    AggregateFunction,
    Decomposition,
    Determinism,
    Function,
    Operand,
    Operands,
    RowError,
    RowErrorCode,
    Var,
    WindowFunction,
)
from floodmark.scalar.functions.number_format import number_formats
from floodmark.scalar.functions.number_parsing import number_parsing
from floodmark.scalar.functions.numbers import numbers
from floodmark.scalar.functions.overloads import choose
from floodmark.scalar.functions.pattern import patterns
from floodmark.scalar.functions.regexes import regexes
from floodmark.scalar.functions.sets import SetFunction, sets
from floodmark.scalar.functions.single_row import single_rows
from floodmark.scalar.functions.string import strings
from floodmark.scalar.functions.texts import texts
from floodmark.scalar.functions.time_parsing import time_parsing
from floodmark.scalar.functions.volatile import volatile
from floodmark.scalar.functions.window import window_functions
from floodmark.scalar.functions.zones import zones
from floodmark.scalar.types import SqlType

__all__ = [
    "AGGREGATES",
    "NOT_CONSTANT",
    "ORDERED_SETS",
    "REGISTRY",
    "SETS",
    "SYNONYMS",
    "WINDOWS",
    "Accumulator",
    "AggregateFunction",
    "Decomposition",
    "Determinism",
    "Function",
    "Operand",
    "Operands",
    "RowError",
    "RowErrorCode",
    "SetFunction",
    "Var",
    "WindowFunction",
    "aggregate_overload",
    "function_overload",
    "lookup",
    "nearest_names",
]


class _HasName(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=_HasName)


def _group_by_name(entries: Iterable[N]) -> Mapping[str, tuple[N, ...]]:
    ordered = sorted(entries, key=lambda e: e.name)
    return MappingProxyType({n: tuple(g) for n, g in groupby(ordered, key=lambda e: e.name)})


REGISTRY: Mapping[str, tuple[Function, ...]] = _group_by_name(
    [
        *arithmetic(),
        *numbers(),
        *integers(),
        *comparison(),
        *strings(),
        *texts(),
        *byte_strings(),
        *likes(),
        *patterns(),
        *regexes(),
        *datetimes(),
        *interval_scaling(),
        *calendars(),
        *zones(),
        *formats(),
        *time_parsing(),
        *number_formats(),
        *number_parsing(),
        *arrays(),
        *lists(),
        *maps(),
        *jsonb(),
        *jsonb_edits(),
        *constants(),
        *single_rows(),
        *volatile(),
    ]
)
"""Scalar functions and operators by name; operators are under their symbol, e.g. `+`."""
AGGREGATES: Mapping[str, tuple[AggregateFunction, ...]] = _group_by_name(aggregates())
ORDERED_SETS = frozenset(name for name, found in AGGREGATES.items() if found[0].ordered_set)
"""The aggregates that are called with WITHIN GROUP."""
SYNONYMS: Mapping[str, str] = MappingProxyType(
    {
        "approx_count_distinct": "count",
        "json_agg": "jsonb_agg",
        "json_object_agg": "jsonb_object_agg",
    }
)
"""Aggregates that are others: what is asked for approximately is counted exactly."""
WINDOWS: Mapping[str, tuple[WindowFunction, ...]] = _group_by_name(window_functions())
SETS: Mapping[str, tuple[SetFunction, ...]] = _group_by_name(sets())
"""Set-returning functions by name."""


@cache
def function_overload(name: str, types: tuple[SqlType, ...]) -> Function:
    """Return the overload of a bound call; the argument types are already coerced.

    >>> from floodmark.scalar.types import INT
    >>> function_overload("+", (INT, INT)).signature
    '+(integer, integer)'
    """
    known: tuple[Function, ...] = REGISTRY.get(name) or SETS[name]
    found = choose(known, types)
    assert found is not None, (name, types)
    return found[0]


class _HasTypes(Protocol):
    @property
    def type(self) -> SqlType: ...


class _Call(Protocol):
    @property
    def function(self) -> str: ...

    @property
    def args(self) -> tuple[_HasTypes, ...]: ...


def lookup(call: _Call) -> Function:
    """Return the registry's entry of a bound call; a user's function brings its own."""
    entry: Function | None = getattr(call, "entry", None)
    if entry is not None:
        return entry
    return function_overload(call.function, tuple(arg.type for arg in call.args))


def aggregate_overload(name: str, types: Iterable[SqlType]) -> AggregateFunction:
    """Return the overload of a bound aggregate call."""
    found = choose(AGGREGATES[name], tuple(types))
    assert found is not None, (name, types)
    return found[0]


def nearest_names(name: str, known: Iterable[str] = (), limit: int = 3) -> list[str]:
    """Return the functions, those in `known` included, whose names resemble `name`.

    >>> nearest_names("lenght")[0]
    'length'
    """
    names = [*known, *REGISTRY, *AGGREGATES, *SYNONYMS, *WINDOWS, *SETS]
    return get_close_matches(name, names, n=limit, cutoff=0.6)
