"""The sensor that says when a source's watermark stands still although data comes in."""

# No postponed annotations here: Dagster reads classes from the signatures.
from collections.abc import Iterator
from datetime import timedelta

import dagster as dg

from floodmark.api import Floodmark
from floodmark.catalog.objects import ObjectKind
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark_dagster.assets.translator import asset_key
from floodmark_dagster.resources.warehouse import Warehouse

STALLED_AFTER = 20
"""Epochs with rows after which a watermark that has not moved counts as stalled."""


@dg.sensor(
    name="watermark_stall",
    minimum_interval_seconds=int(timedelta(minutes=5).total_seconds()),
    default_status=dg.DefaultSensorStatus.RUNNING,
)
def watermark_stall(context: dg.SensorEvaluationContext, warehouse: Warehouse) -> dg.SensorResult:
    """Report an observation on every source whose watermark has stalled; starts no run."""
    with warehouse.connect() as floodmark:
        head = floodmark.warehouse.log.head().sealed
        if context.cursor == str(head):
            return dg.SensorResult(skip_reason=dg.SkipReason("no epoch since the last look"))
        events = [
            dg.AssetObservation(
                asset_key(obj),
                description=f"the watermark stands still since epoch {since}",
                metadata={"stalled_epochs": head - since, "epoch": head},
            )
            for obj, since in stalled_sources(floodmark)
        ]
    return dg.SensorResult(asset_events=events, cursor=str(head))


def stalled_sources(floodmark: Floodmark) -> Iterator[tuple[AnalysedObject, int]]:
    """Yield the sources that took in rows in many epochs with one watermark, and since when."""
    log = floodmark.warehouse.log
    head = log.head().sealed
    epochs = list(log.epochs(after=max(0, head - STALLED_AFTER - 1)))[-STALLED_AFTER - 1 :]
    records = [log.seal_record(epoch).objects for epoch in epochs if epoch <= head]
    for obj in floodmark.deployed.pipeline.objects.values():
        if obj.kind is not ObjectKind.SOURCE or not obj.relation.watermarks:
            continue
        mine = [past[obj.key] for past in records if obj.key in past]
        fed = sum(1 for record in mine[1:] if record.rows_in)
        still = all(record.watermarks == mine[0].watermarks for record in mine)
        if fed >= STALLED_AFTER and still:
            yield obj, epochs[0]
