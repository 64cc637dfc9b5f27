"""The pipeline as one multi-asset: its op runs epochs, then says what happened to each object."""

# No postponed annotations here: Dagster reads classes from the signatures.
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import dagster as dg

from assets.backfills import backfilled, is_of_partitions
from assets.checks import check_results, check_specs, last_results
from assets.partitions import EventTime, newly_final, partitioned
from assets.translator import asset_key, asset_spec
from floodmark.analysis.pipeline import Pipeline
from floodmark.api import Floodmark
from floodmark.errors import TransientError, UserError
from floodmark.runtime.reporting import ObjectReport, looked_through, numbers, recent, reports
from floodmark.runtime.suspension import remedy
from floodmark.runtime.system import watermark_text
from floodmark.storage.report_book import ReportBook, Reported
from resources.warehouse import Warehouse

POOL = "floodmark"
RETRIES = 3
BACKFILL = "dagster/backfill"
"""The tag of runs of which Dagster waits for every asset: those without news are told, too."""
_Result = dg.MaterializeResult | dg.AssetCheckResult


def pipeline_assets(
    pipeline: Pipeline, root: Path, event_time: EventTime | None = None
) -> dg.AssetsDefinition:
    """Return all objects of a pipeline as one asset definition over the warehouse at `root`.

    Views that emit on window close have the partitions of `event_time`, if it is given.

    One op per asset would take the first object through all epochs before the second one starts,
    and seal nothing until the end.
    """
    objects = pipeline.objects.values()
    everything = {asset_key(found) for found in objects}

    @dg.multi_asset(
        name="pipeline",
        specs=[partitioned(asset_spec(o, pipeline, root), o, event_time) for o in objects],
        check_specs=[spec for found in objects for spec in check_specs(found)],
        can_subset=True,
        pool=POOL,
        backfill_policy=dg.BackfillPolicy.single_run(),
    )
    def run_pipeline(context: dg.AssetExecutionContext, warehouse: Warehouse) -> Iterator[_Result]:
        chosen = context.selected_asset_keys
        with errors_for_dagster(), warehouse.connect() as floodmark:
            if is_of_partitions(context):
                yield from backfilled(context, floodmark)
                return
            failure = None
            if chosen:
                warehouse.deploy(floodmark)
                try:
                    _advance(context, floodmark, None if chosen >= everything else chosen)
                except UserError as error:
                    # Such as a source whose folder is gone: what the others did is told first.
                    failure = error
            yield from _report(context, floodmark, Path(warehouse.checks), event_time)
            yield from _check_again(context, floodmark, Path(warehouse.checks))
            _fail_if_suspended(floodmark, chosen)
            if failure is not None:
                raise failure

    return _without_partitioned_inputs(run_pipeline)


def _without_partitioned_inputs(definition: dg.AssetsDefinition) -> dg.AssetsDefinition:
    """Return the definition without inputs for its own assets that have partitions.

    Dagster makes an input of each asset that another one of the definition reads, for runs of a
    part. Of one with partitions it asks which of them a run takes; the runs here have none, and
    fail. Everything chosen runs in one step, so that these inputs order nothing.
    """
    partitioned = {spec.key for spec in definition.specs if spec.partitions_def is not None}
    inputs = definition.node_keys_by_input_name
    kept = {name: key for name, key in inputs.items() if key not in partitioned}
    attributes = {**definition.get_attributes_dict(), "keys_by_input_name": kept}
    return dg.AssetsDefinition.dagster_internal_init(**attributes)


def _advance(
    context: dg.AssetExecutionContext, floodmark: Floodmark, chosen: Collection[dg.AssetKey] | None
) -> None:
    """Run epochs, of the chosen assets alone if there are any, and log what each did."""
    objects = floodmark.deployed.pipeline.objects.values()
    select = None if chosen is None else [o.key for o in objects if asset_key(o) in chosen]
    for done in floodmark.epochs(select=select):
        names = ", ".join(record.object for record in done.touched) or "nothing"
        context.log.info(f"epoch {done.epoch} in {done.duration_s} s: {names}")
        for line in done.notices:
            context.log.warning(line)


def _report(
    context: dg.AssetExecutionContext,
    floodmark: Floodmark,
    folder: Path,
    event_time: EventTime | None,
) -> Iterator[_Result]:
    """Yield a result for every selected object with news, and what stands for the others."""
    book = ReportBook(floodmark.root)
    told = book.read()
    objects = floodmark.deployed.pipeline.objects.values()
    selected = {o.key: o for o in objects if asset_key(o) in context.selected_asset_keys}
    asked = context.selected_asset_check_keys
    found = [r for r in reports(floodmark.scheduler, told) if r.key in selected]
    news: dict[str, Reported] = {}
    out: dict[str, list[_Result]] = {}
    for report, results in check_results(floodmark, found, folder):
        failed = [r.check_name for r in results if not r.passed and r.check_name is not None]
        last = told.get(report.key, Reported())
        news[report.key] = replace(report.reported, failed=failed).after(last)
        wanted = [r for r in results if _check_key(r) in asked]
        stands = report.suspended is None
        out[report.key] = [_materialized(floodmark, report, wanted)] if stands else [*wanted]
    told = looked_through(told, selected.keys(), floodmark.scheduler.log.head().sealed)
    for key in selected.keys() & told.keys() - news.keys():
        wanted = [r for r in last_results(selected[key], told[key]) if _check_key(r) in asked]
        out[key] = [*wanted]
        if BACKFILL in context.run.tags and not told[key].suspended:
            idle = ObjectReport(selected[key], told[key].epoch, told[key].changed)
            out[key] = [_materialized(floodmark, idle, wanted)]
    for key in (key for key in selected if key in out):
        yield from out[key]
    told |= news
    if event_time is not None:
        for event in newly_final(floodmark, event_time.grain, told, context.selected_asset_keys):
            context.log_event(event)
    book.write(told)


def _check_again(
    context: dg.AssetExecutionContext, floodmark: Floodmark, folder: Path
) -> Iterator[_Result]:
    """Yield the checks that were selected without their asset, over the last epochs."""
    alone = {
        key
        for key in context.selected_asset_check_keys
        if key.asset_key not in context.selected_asset_keys
    }
    objects = floodmark.deployed.pipeline.objects.values()
    keys = {o.key for o in objects if asset_key(o) in {key.asset_key for key in alone}}
    if keys:
        for _, results in check_results(floodmark, recent(floodmark.scheduler, keys), folder):
            yield from (r for r in results if _check_key(r) in alone)


def _check_key(result: dg.AssetCheckResult) -> dg.AssetCheckKey:
    assert result.asset_key is not None and result.check_name is not None
    return dg.AssetCheckKey(result.asset_key, result.check_name)


def _materialized(
    floodmark: Floodmark, report: ObjectReport, checks: Sequence[dg.AssetCheckResult]
) -> dg.MaterializeResult:
    metadata: dict[str, object] = dict(numbers(report, floodmark.scheduler))
    if "row_count" in metadata:
        metadata["dagster/row_count"] = metadata.pop("row_count")
    if report.steps and (mark := watermark_text(report.steps[-1].after.watermarks)):
        metadata["watermark"] = mark
    if report.steps and (due := report.steps[-1].after.due) is not None:
        metadata["next_due"] = dg.MetadataValue.timestamp(due)
    return dg.MaterializeResult(
        asset_key=asset_key(report.found),
        metadata=metadata,
        check_results=checks,
        data_version=dg.DataVersion(report.data_version),
    )


def _fail_if_suspended(floodmark: Floodmark, selected: set[dg.AssetKey]) -> None:
    pipeline = floodmark.deployed.pipeline
    suspended = floodmark.scheduler.log.suspended()
    mine = {
        key: event
        for key, event in suspended.items()
        if key in pipeline.objects and asset_key(pipeline[key]) in selected
    }
    if mine:
        raise dg.Failure(
            f"suspended: {', '.join(mine)}",
            metadata={
                key: f"{event.code}: {event.message}; {remedy(pipeline[key], event)}"
                for key, event in mine.items()
            },
            allow_retries=False,
        )


@contextmanager
def errors_for_dagster() -> Iterator[None]:
    """Turn a user's mistake into a failure without retries, and the world's into a retry."""
    try:
        yield
    except UserError as error:
        raise dg.Failure(
            error.render(), metadata=_as_metadata(error), allow_retries=False
        ) from error
    except TransientError as error:
        raise dg.RetryRequested(max_retries=RETRIES, seconds_to_wait=5) from error


def _as_metadata(error: UserError) -> Mapping[str, dg.MetadataValue]:
    return {"error": dg.MetadataValue.json(error.as_dict())}
