"""Whether a view holds what its query gives in batch over the same cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from floodmark.catalog.objects import ObjectKind
from floodmark.dataflow import batch
from floodmark.plan import nodes as n
from floodmark.plan.expr.determinism import is_deterministic
from floodmark.scalar.functions.intervals import micros_of
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.types import Field, Kind as TypeKind
from floodmark.spark.round_trips import fetch
from floodmark.spark.types import ident
from floodmark.spark.user_functions import register
from floodmark.stream.objects.analysed import AnalysedObject

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from floodmark.api import Floodmark
    from floodmark.query.query import Reader

_SIDE = "__side"


@dataclass(frozen=True)
class Difference:
    """Rows that a view lacks, and rows that it has too many, at an epoch."""

    epoch: int
    missing: int
    surplus: int

    @property
    def rows(self) -> int:
        """Return how many rows are not shared: 0 is right."""
        return self.missing + self.surplus


def compares(obj: AnalysedObject) -> bool:
    """Tell whether the rows follow from the inputs at the cut alone.

    What waits for a watermark, was given the time once or is evaluated once does not follow. Nor
    does what is kept of rows that are forgotten. What is recomputed in each epoch does follow, now
    included, and so does a temporal filter.
    """
    if obj.kind is not ObjectKind.MATERIALIZED_VIEW or obj.plan is None or obj.emits_on_close:
        return False
    nodes = obj.plan.nodes
    if not obj.object.begins_whole:
        return False
    if any(isinstance(node, n.Scan) and node.drops_silently for node in nodes):
        return False
    again = obj.refreshes or all(
        is_deterministic(e)
        for node in nodes
        if not isinstance(node, n.TemporalFilter | n.GrowingSeries)
        for e in node.expressions
    )
    operators = obj.plan.operators.values()
    waits = any(op.released_by or n.is_lookup(op.node) for op in operators)
    return again and not waits


def differences(floodmark: Floodmark, name: str) -> int:
    """Return how many rows a materialized view and its query in batch do not share: 0 is right."""
    return difference(floodmark, name).rows


def difference(floodmark: Floodmark, key: str) -> Difference:
    """Compare a view with its query over the newest sealed cut, as multisets: one Spark job."""
    return compare(floodmark, [key])[key]


def compare(
    floodmark: Floodmark, keys: Sequence[str], at_epoch: int | None = None
) -> dict[str, Difference]:
    """Compare several views with their queries at a sealed epoch, in one Spark job.

    The time of that epoch is `now`. Rows that became dead letters are in neither.
    """
    reader = floodmark.reader(at_epoch)
    epoch = reader.cut.epoch
    now = micros_of(floodmark.warehouse.log.open_record(epoch).now)
    with floodmark.sessions().guard():
        counts = [_counts(reader, reader.pipeline[key], now) for key in keys]
        rows = fetch(reduce(lambda a, b: a.unionAll(b), counts)).to_pylist()
    return {r["name"]: Difference(epoch, int(r["missing"]), int(r["surplus"])) for r in rows}


def _counts(reader: Reader, obj: AnalysedObject, now: int) -> DataFrame:
    """Return one row: the view's name, missing and surplus rows."""
    assert obj.plan is not None
    relation = obj.relation
    shown = [_comparable(f) for f in relation.columns]
    names = [ident(f.name) for f in relation.columns]
    expected = _rows(reader, obj.plan.root, now).selectExpr(*shown, f"1 AS {_SIDE}")
    scan = n.Scan(obj.key, relation.columns, relation.stream_key, relation.mode)
    stored = reader.frame(scan).selectExpr(*shown, f"-1 AS {_SIDE}")
    both = expected.unionAll(stored).groupBy(*names).agg({_SIDE: "sum"})
    sums = both.selectExpr(f"`sum({_SIDE})` AS __sum")
    return sums.selectExpr(
        f"{quote(obj.key)} AS name",
        "coalesce(sum(greatest(__sum, 0)), 0) AS missing",
        "coalesce(sum(greatest(-__sum, 0)), 0) AS surplus",
    )


def _comparable(field: Field) -> str:
    """Return a column as it is compared: maps cannot be grouped."""
    name = ident(field.name)
    if field.type.kind is TypeKind.MAP:
        return f"to_json(map_from_entries(array_sort(map_entries({name})))) AS {name}"
    return name


def _rows(reader: Reader, root: n.Node, now: int) -> DataFrame:
    """Return a plan's rows; those that an expression refuses are left out, as in an epoch."""

    def leaf(node: n.Node) -> batch.Leaf | None:
        return batch.Leaf(reader.frame(node)) if isinstance(node, n.Scan) else None

    spark = reader.tables.spark
    register(spark, (e for node in n.walk(root) for e in node.expressions))
    rows = batch.rows_of(root, leaf, spark, now)
    assert rows is not None
    return rows
