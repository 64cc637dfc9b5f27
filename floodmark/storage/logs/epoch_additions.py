"""Additions to the log of an open epoch during its work, numbered in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from floodmark.storage.logs.object_record import ObjectRecord


@dataclass(frozen=True, slots=True)
class Advanced:
    """The records of objects that have advanced in an epoch that is not sealed."""

    objects: Sequence[ObjectRecord]


@dataclass(frozen=True, slots=True)
class Amended:
    """Splits that take the place of those that an epoch was opened with, per source."""

    splits: Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Asked:
    """The version of a table outside of the warehouse that an epoch looks something up in."""

    table: str
    version: int


@dataclass(frozen=True, slots=True)
class Undone:
    """The catalog version by which an epoch goes in place of that which it was opened for.

    Nothing of what it was opened for is done. `positions` are those before the epoch, `note` says
    what is taken back and why.
    """

    catalog_version: int
    positions: Mapping[str, Mapping[int, int]]
    note: str


Addition = Advanced | Amended | Asked | Undone
