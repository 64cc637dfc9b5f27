"""Stored changes that wait for a watermark, clustered by its column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from floodmark.dataflow.state.clustered import ClusteredRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass
class HeldRows(ClusteredRows):
    """What one sort buffer holds, by the column whose watermark releases it."""

    def keep(self, changes: DataFrame | None, bound: Any, *, few: bool) -> None:
        """Record changes in place of those of files with some below a bound."""
        self.replace(changes, bound, few=few)
