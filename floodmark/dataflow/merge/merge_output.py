"""Output of a merge: pairs of old and new rows become changes, dead letters and renewed rows.

A row that is written with equal values has no change. If the TTL counts from the last write, the
row is still stored again, without a change for readers of the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from floodmark.changelog import ERROR, KIND, WEIGHT
from floodmark.dataflow import materialize
from floodmark.dataflow.intake.source import DEAD, GOOD
from floodmark.dataflow.materialize import NEW_ROW, OLD_ROW, differ
from floodmark.dataflow.merge.conflicts import REFUSED
from floodmark.scalar.types import Schema
from floodmark.spark.columns import ROUTE
from floodmark.spark.rows import ERROR_TYPE, epoch_expr
from floodmark.spark.types import ident

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SILENT = 5
"""The route of changes that nobody sees."""


@dataclass(frozen=True)
class Outcome:
    """What pairs can come to.

    Rows that differ in the column `apart` are two; `refuses` tells of dead letters; `renews` is the
    text of: the row was written, and that counts though it is as it was. Nobody sees its `hidden`
    column.
    """

    apart: str = ""
    refuses: bool = False
    renews: str = ""
    hidden: str = ""

    @property
    def is_routed(self) -> bool:
        """Tell whether there is something beside the changes, told apart by a route."""
        return self.refuses or bool(self.renews)

    def changes(self, pairs: DataFrame, columns: Schema, epoch: int) -> DataFrame:
        """Return the changelog rows of pairs; where it `is_routed`, with what is beside them."""
        if not self.is_routed:
            return materialize.as_changes(pairs, columns, epoch, self.apart)
        exploded = pairs.selectExpr(f"explode({self._all(columns)}) AS e")
        names = [f"e.r.{ident(f.name)} AS {ident(f.name)}" for f in columns]
        silent = f"WHEN e.{KIND} IN ('-S', '+S') THEN {SILENT}"
        route = f"CASE WHEN e.e IS NOT NULL THEN {DEAD} {silent} ELSE {GOOD} END AS {ROUTE}"
        marks = (f"e.{KIND} AS {KIND}", f"e.e AS {ERROR}", f"1 AS {WEIGHT}", route)
        return exploded.selectExpr(epoch_expr(epoch), *names, *marks)

    def _all(self, columns: Schema) -> str:
        no_error = f"CAST(NULL AS {ERROR_TYPE})"
        kind = f"x.{KIND} AS {KIND}"
        pair = materialize.pair(self.apart)
        changed = f"transform({pair}, x -> struct({kind}, {no_error} AS e, x.r AS r))"
        whens = [f"WHEN {differ(columns, self.hidden)} THEN {changed}"]
        if self.renews:
            both = (("-S", OLD_ROW), ("+S", NEW_ROW))
            parts = (f"struct('{k}' AS {KIND}, {no_error} AS e, {row} AS r)" for k, row in both)
            renewed = f"{NEW_ROW} IS NOT NULL AND {self.renews}"
            whens.append(f"WHEN {renewed} THEN array({', '.join(parts)})")
        good = f"CASE {' '.join(whens)} ELSE filter({changed}, x -> FALSE) END"
        if not self.refuses:
            return good
        letter = f"struct('+I' AS {KIND}, x.error AS e, x.r AS r)"
        return f"concat({good}, transform({REFUSED}, x -> {letter}))"
