"""Key sets: of what few changes meet, an operator reads again only the rows that have their keys.

Keys travel down a plan as bounds do, column by column, to the tables that are read. There Spark
drops all other rows before it joins or groups any.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from floodmark.spark.types import ident
from floodmark.tables.keyed_rows import KEY, KeyColumn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class ChangedValues:
    """The values of a column in all that the epoch changed in an object."""

    object: str
    column: str


@dataclass(frozen=True)
class FoundValues:
    """The values of a column in the rows that a read by keys finds."""

    read: KeyedRead
    column: str


Sources = frozenset[ChangedValues | FoundValues]
"""Where keys are found, all that matter and perhaps some more: equal ones need one read."""


@dataclass(frozen=True)
class KeyedRead:
    """A read of the rows of an object whose columns have values of some sources, each of its own.

    `keys` are in the order of the columns.
    """

    object: str
    keys: tuple[tuple[str, Sources], ...]


KeySets = Mapping[str, KeyColumn | Sources]
"""By column, the values that matter, and perhaps some more, or where these are found. NULL is one.
"""
ALL_KEYS: KeySets = MappingProxyType({})
"""All rows matter."""


def key_sets(changes: DataFrame, columns: Iterable[tuple[str, str]]) -> KeySets:
    """Return the values of columns of changes, by the column that they are looked up in.

    `columns` has both names of each, that of the changes last.
    """
    return {c: KeyColumn(changes.selectExpr(f"{ident(values)} AS {KEY}")) for c, values in columns}


def select_sources(keys: KeySets) -> dict[str, Sources]:
    """Return the sources of those keys that have some."""
    return {c: values for c, values in keys.items() if isinstance(values, frozenset)}


def select_values(keys: KeySets) -> dict[str, KeyColumn]:
    """Return those keys that are known."""
    return {c: values for c, values in keys.items() if not isinstance(values, frozenset)}
