"""The keys of a lookup join, and the connector that looks them up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from floodmark.connectors.base import SourceSpec
from floodmark.connectors.lookup.connector import Lookup, LookupKey, make_lookup
from floodmark.connectors.options import Options
from floodmark.limits import Limits
from floodmark.spark.round_trips import fetch
from floodmark.spark.types import ident
from floodmark.stream.objects.analysed import AnalysedObject

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def lookup_of(obj: AnalysedObject, limits: Limits) -> Lookup:
    """Return how an object that is kept elsewhere is asked."""
    declared = obj.declared
    assert declared is not None and obj.relation.external
    spec = SourceSpec(
        obj.name,
        obj.relation.visible,
        declared.format,
        declared.encode,
        declared.connecting,
        key=declared.primary_key,
    )
    return make_lookup(spec, Options(spec.name, spec.options, limits))


def keys_of(rows: DataFrame, columns: Sequence[str]) -> list[LookupKey]:
    """Return the distinct keys of rows, in order; NULL is like nothing and never asked for."""
    names = [f"{ident(c)} AS k{i}" for i, c in enumerate(columns)]
    present = " AND ".join(f"k{i} IS NOT NULL" for i in range(len(names)))
    found = fetch(rows.selectExpr(*names).where(present).distinct()).to_pydict()
    return sorted(zip(*found.values(), strict=True))
