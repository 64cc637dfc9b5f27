"""What computing closed windows once more changes: rows with a kind, as in a changelog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from floodmark.changelog import KIND
from floodmark.scalar.types import Field, Kind as TypeKind
from floodmark.spark.types import ident
from floodmark.stream.objects.analysed import AnalysedObject

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TIMES, _ADDED, _GONE = "floodmark__times", "floodmark__added", "floodmark__gone"


def differences(obj: AnalysedObject, weighed: DataFrame, weight: str) -> DataFrame:
    """Return `__kind` and the view's columns, of rows with a weight above zero where they lack.

    `weighed` has the view's columns and `weight`: 1 of rows that should be there, -1 of those that
    are. Where a key has a row too many and lacks another one, they are `-U` and `+U`.
    """
    columns = obj.relation.columns
    names = [ident(f.name) for f in columns]
    maps = {f.name: f"floodmark__map_{i}" for i, f in enumerate(columns) if _is_map(f)}
    texts = [f"{_as_text(name)} AS {alias}" for name, alias in maps.items()]
    grouped = [maps.get(f.name, ident(f.name)) for f in columns]
    from pyspark.sql import functions as F

    total = [F.expr(f"sum({weight})").alias(_TIMES)]
    kept = [F.expr(f"any_value({ident(name)})").alias(name) for name in maps]
    differing = (
        weighed.selectExpr("*", *texts).groupBy(*grouped).agg(*total, *kept).where(f"{_TIMES} <> 0")
    )
    key = [ident(name) for name in obj.relation.stream_key]
    other = f"OVER (PARTITION BY {', '.join(key)})" if key else None
    sides = (
        (_ADDED, f"max({_TIMES} > 0) {other}" if other else "FALSE"),
        (_GONE, f"max({_TIMES} < 0) {other}" if other else "FALSE"),
    )
    note = differing.selectExpr("*", *(f"{text} AS {name}" for name, text in sides))
    kind = (
        f"CASE WHEN {_TIMES} > 0 THEN IF({_GONE}, '+U', '+I') "
        f"ELSE IF({_ADDED}, '-U', '-D') END AS {KIND}"
    )
    copies = f"explode(array_repeat(0, CAST(abs({_TIMES}) AS INT)))"
    return note.selectExpr(kind, *names, copies).selectExpr(KIND, *names)


def _is_map(field: Field) -> bool:
    return field.type.kind is TypeKind.MAP


def _as_text(name: str) -> str:
    """Return a map as it is compared: maps cannot be grouped."""
    return f"to_json(map_from_entries(array_sort(map_entries({ident(name)}))))"
