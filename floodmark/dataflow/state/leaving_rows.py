"""Rows that leave a state table: others take their place, or nothing needs them any more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from floodmark.stream.properties.bounds import Bounds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class ReplacedRows:
    """Rows whose keys are stored anew or not at all: few of them or not, all within bounds."""

    rows: DataFrame
    key: tuple[str, ...]
    few: bool
    within: Bounds


@dataclass(frozen=True, slots=True)
class ExpiredRows:
    """Rows whose `column` is below `bound` are not needed from this epoch on.

    Rows for which `stays` is TRUE are still needed. It is a condition on the places of the rows in
    their partition, and reads the columns `places`. Without it no such row stays.
    """

    column: str
    bound: Any
    places: tuple[str, ...] = ()
    stays: str | None = None
