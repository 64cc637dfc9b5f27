"""What is told of an object: its materialization, and that it was looked at without news."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import dagster as dg

from floodmark.api import Floodmark
from floodmark.epochs.summary import describe_field_differences
from floodmark.session.inspect.reporting import ObjectReport, numbers
from floodmark.session.inspect.system import watermark_text
from floodmark.storage.logs.last_reported import LastReport
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.stream.objects.dependencies import needs_of
from floodmark_dagster.assets.translator import asset_key

DATA_VERSION = "dagster/data_version"
CODE_VERSION = "dagster/code_version"


def untold(report: ObjectReport, last: LastReport) -> ObjectReport | None:
    """Return a report without the epochs that were told before its checks; None without news."""
    if not last.told:
        return report
    steps = tuple(step for step in report.steps if step.epoch > last.told)
    same = last.fingerprint == report.obj.fingerprint and report.changed <= last.changed
    return None if same and not steps else replace(report, steps=steps)


def metadata_of(floodmark: Floodmark, report: ObjectReport) -> Mapping[str, Any]:
    """Return the metadata of a materialization: the numbers of a report, its times."""
    metadata: dict[str, Any] = dict(numbers(report, floodmark.warehouse))
    if "row_count" in metadata:
        metadata["dagster/row_count"] = metadata.pop("row_count")
    if report.steps and (mark := watermark_text(report.steps[-1].after.watermarks)):
        metadata["watermark"] = mark
    said = describe_field_differences(report.obj, [step.after for step in report.steps])
    if said is not None:
        metadata["fields"] = said
    if report.steps and (due := report.steps[-1].after.due) is not None:
        metadata["next_due"] = dg.MetadataValue.timestamp(due)
    return metadata


def result(
    floodmark: Floodmark,
    report: ObjectReport,
    checks: Sequence[dg.AssetCheckResult] = (),
    *,
    waits: bool = False,
) -> dg.MaterializeResult:
    """Return the materialization of an asset that the run has selected.

    While a change of its definition waits for a plan, the code version is that of the definition in
    force, not that of the files.
    """
    return dg.MaterializeResult(
        asset_key=asset_key(report.obj),
        metadata=metadata_of(floodmark, report),
        check_results=checks,
        tags={CODE_VERSION: report.obj.fingerprint} if waits else None,
        data_version=dg.DataVersion(report.data_version),
    )


def event(floodmark: Floodmark, report: ObjectReport) -> dg.AssetMaterialization:
    """Return the materialization of an asset that no run has selected."""
    return dg.AssetMaterialization(
        asset_key(report.obj),
        metadata=metadata_of(floodmark, report),
        tags={DATA_VERSION: report.data_version},
    )


def observe_unchanged(obj: AnalysedObject, last: LastReport, epoch: int) -> dg.AssetObservation:
    """Return that an asset was looked at and is as it was: it is fresh, though nothing came."""
    return dg.AssetObservation(
        asset_key(obj),
        description=f"nothing new since epoch {last.changed}",
        metadata={"epoch": epoch, "changed": last.changed},
    )


def affected_objects(floodmark: Floodmark, sources: Collection[str]) -> list[AnalysedObject]:
    """Return the objects that rows of some sources can change, these included, upstream first."""
    pipeline = floodmark.deployed.pipeline
    keys = set(sources)
    for obj in pipeline.objects.values():
        if keys & {*obj.reads, *needs_of(obj, pipeline)}:
            keys.add(obj.key)
    return [obj for obj in pipeline.objects.values() if obj.key in keys]
