"""The pipeline as one multi-asset: its op runs epochs, then says what happened to each object."""

# No postponed annotations here: Dagster reads classes from the signatures.
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import dagster as dg

from floodmark.api import Floodmark
from floodmark.cached import cached_property
from floodmark.errors import FloodmarkError, TransientError, UserError
from floodmark.session.inspect.reporting import ObjectReport, advance_epochs, recent, reports
from floodmark.storage.logs.last_reported import LastReport, LastReports
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.warehouse.suspensions import remedy
from floodmark_dagster.assets import news
from floodmark_dagster.assets.audits import AUDITS, audit_specs, last_audits, run_audits
from floodmark_dagster.assets.backfills import is_of_partitions, run_backfill
from floodmark_dagster.assets.checks import check_results, check_specs, evaluation, last_results
from floodmark_dagster.assets.partitions import EventTime, newly_final, with_partitions
from floodmark_dagster.assets.refusals import remember
from floodmark_dagster.assets.translator import asset_key, asset_spec
from floodmark_dagster.resources.warehouse import Warehouse

POOL = "floodmark"
RETRIES = 3
BACKFILL = "dagster/backfill"
"""The tag of runs of which Dagster waits for every asset: those without news are told, too."""
EVERYTHING = "floodmark/advances"
"""The tag, with the value `everything`, of runs that advance more than the assets that they name.

Those are what is likely to change: of the others the run says nothing unless they have changed.
"""
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
        specs=[with_partitions(asset_spec(o, pipeline, root), o, event_time) for o in objects],
        check_specs=[
            spec for found in objects for spec in (*check_specs(found), *audit_specs(found))
        ],
        can_subset=True,
        pool=POOL,
        backfill_policy=dg.BackfillPolicy.single_run(),
    )
    def run_pipeline(context: dg.AssetExecutionContext, warehouse: Warehouse) -> Iterator[_Result]:
        with errors_for_dagster(), warehouse.connect() as floodmark:
            results = _RunResults(context, floodmark, warehouse, event_time)
            if is_of_partitions(context):
                yield from results.partition_results()
                return
            failure: UserError | None = None
            chosen = context.selected_asset_keys
            if chosen:
                failure = _deploy(context, floodmark, warehouse)
                whole = chosen >= everything or EVERYTHING in context.run.tags
                try:
                    _advance(context, floodmark, None if whole else chosen)
                except UserError as error:
                    # Such as a source whose folder is gone: what the others did is told first.
                    failure = failure or error
                    pipeline_now = floodmark.deployed.pipeline
                    results.out_of_reach = floodmark.warehouse.splits.failures(pipeline_now)
            suspended = results.suspended()
            results.fails = bool(suspended) or failure is not None
            yield from results.epoch_results()
            yield from results.selected_check_results()
            if suspended:
                raise suspended_failure(floodmark, suspended)
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


def _deploy(
    context: dg.AssetExecutionContext, floodmark: Floodmark, warehouse: Warehouse
) -> UserError | None:
    """Create what is new in the pipeline files; what else differs in them does not stop the rest.

    What is deployed stays in force: the sensor `pipeline_files` says what waits for a plan. Returns
    why what is new could not be created: it is not tried again for it until the files change.
    """
    digest = warehouse.digest
    try:
        for line in warehouse.deploy(floodmark):
            context.log.warning(line)
        return None
    except UserError as error:
        refused = _is_addition(floodmark, warehouse)
        if refused:
            remember(context.instance, context.run.run_id, digest, error)
        if not floodmark.deployed.pipeline.objects:
            raise
        context.log.warning(error.render())
        return error if refused else None


def _is_addition(floodmark: Floodmark, warehouse: Warehouse) -> bool:
    """Tell whether the pipeline files can be planned, and do no more than create what is new."""
    try:
        return warehouse.additions(floodmark) is not None
    except UserError:
        return False


def _advance(
    context: dg.AssetExecutionContext, floodmark: Floodmark, chosen: Collection[dg.AssetKey] | None
) -> None:
    """Run epochs, of the chosen assets alone if there are any, and log what each did."""
    objects = floodmark.deployed.pipeline.objects.values()
    select = None if chosen is None else [o.key for o in objects if asset_key(o) in chosen]
    for done in floodmark.epochs(select=select):
        names = ", ".join(record.object for record in done.changes) or "nothing"
        context.log.info(f"epoch {done.epoch} in {done.duration_s} s: {names}")
        for line in done.notices:
            context.log.warning(line)


@dataclass
class _RunResults:
    """What a run says of its assets and checks; `fails` where it ends in a failure.

    Sources that are `out_of_reach`, by name, are not told to be as they were.

    What Dagster has planned and nobody tells stands there as failed then, right or not.
    """

    context: dg.AssetExecutionContext
    floodmark: Floodmark
    warehouse: Warehouse
    event_time: EventTime | None
    fails: bool = False
    out_of_reach: Collection[str] = ()
    told: dict[str, LastReport] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._book = LastReports(self.floodmark.root)
        self.told = self._book.all_reports()
        self._asked = self.context.selected_asset_check_keys

    @cached_property
    def _selected(self) -> dict[str, AnalysedObject]:
        """Return the objects whose assets are selected, by key."""
        chosen = self.context.selected_asset_keys
        objects = self.floodmark.deployed.pipeline.objects.values()
        return {o.key: o for o in objects if asset_key(o) in chosen}

    @cached_property
    def _waiting(self) -> frozenset[str]:
        """Return the objects that the pipeline files would change, if they can be planned."""
        try:
            plan = self.warehouse.plan(self.floodmark)
        except UserError:
            return frozenset()
        changes = () if plan is None else plan.changes
        return frozenset(c.key for c in changes if c.action != "create")

    def _result(
        self, report: ObjectReport, checks: Sequence[dg.AssetCheckResult]
    ) -> dg.MaterializeResult:
        # What the files say is what is in force: nothing waits, and nothing is planned.
        known = self.context.assets_def.code_versions_by_key.get(asset_key(report.obj))
        waits = known != report.obj.fingerprint and report.key in self._waiting
        return news.result(self.floodmark, report, checks, waits=waits)

    def suspended(self) -> list[str]:
        """Return the selected objects that are suspended."""
        objects = self.floodmark.deployed.pipeline.objects
        whole = EVERYTHING in self.context.run.tags
        keys = self.floodmark.warehouse.suspensions()
        return [k for k in keys if k in (objects if whole else self._selected)]

    def epoch_results(self) -> Iterator[_Result]:
        """Yield a result for every selected object with news, and standing checks of others.

        Other objects that the run has advanced get events of their own.
        """
        selected, whole = self._selected, EVERYTHING in self.context.run.tags
        reported = [
            report
            for report in reports(self.floodmark.warehouse, self.told)
            if whole or report.key in selected
        ]
        fresh: dict[str, LastReport] = {}
        out: dict[str, list[_Result]] = {}
        for report, results in check_results(
            self.floodmark, reported, self.warehouse.checks_folder
        ):
            failed = [r.check_name for r in results if not r.passed and r.check_name is not None]
            last = self.told.get(report.key, LastReport())
            fresh[report.key] = replace(report.to_last_report, failed=failed).continue_from(last)
            out[report.key] = list(self._news(report, fresh[report.key], results, last))
        head = self.floodmark.warehouse.log.head().sealed
        keys = self.floodmark.deployed.pipeline.objects.keys() if whole else selected.keys()
        self.told = advance_epochs(self.told, keys, head)
        for key in selected.keys() & self.told.keys() - fresh.keys():
            out[key] = list(self._nothing(selected[key], head))
        for key in (key for key in self.floodmark.deployed.pipeline.objects if key in out):
            yield from out[key]
        self.told |= fresh
        if self.event_time is not None:
            chosen = {asset_key(o) for o in selected.values()}
            grain = self.event_time.grain
            for event in newly_final(self.floodmark, grain, self.told, chosen):
                self.context.log_event(event)
        self._book.after_run(self.told)

    def _news(
        self,
        report: ObjectReport,
        now: LastReport,
        results: list[dg.AssetCheckResult],
        last: LastReport,
    ) -> Iterator[_Result]:
        """Yield what is new of an object, or log it where the run has not planned it."""
        standing = last_audits(report.obj, now, fails=self.fails)
        checks = [*results, *(r for r in standing if _check_key(r) in self._asked)]
        planned = [r for r in checks if _check_key(r) in self._asked]
        news_of = None if report.suspended is not None else news.untold(report, last)
        selected = report.key in self._selected
        if news_of is None and self.fails and report.suspended is None:
            news_of = report
        if news_of is not None and selected:
            yield self._result(news_of, planned)
        else:
            yield from planned
            if news_of is not None:
                self.context.log_event(news.event(self.floodmark, news_of))
        if EVERYTHING in self.context.run.tags:
            for result in (r for r in checks if _check_key(r) not in self._asked):
                self.context.log_event(evaluation(result))

    def _nothing(self, obj: AnalysedObject, head: int) -> Iterator[_Result]:
        """Yield the standing checks of an unchanged object, and log that it was looked at."""
        last = self.told[obj.key]
        standing = self._standing(obj)
        right = not last.suspended and obj.name not in self.out_of_reach
        if right and (self.fails or BACKFILL in self.context.run.tags):
            idle = ObjectReport(obj, last.epoch, last.changed)
            yield self._result(idle, standing)
            return
        yield from standing
        if right:
            self.context.log_event(news.observe_unchanged(obj, last, head))

    def _standing(self, obj: AnalysedObject) -> list[dg.AssetCheckResult]:
        """Return the planned checks of an object as they came out last."""
        last = self.told[obj.key]
        results = [*last_results(obj, last), *last_audits(obj, last, fails=self.fails)]
        return [r for r in results if _check_key(r) in self._asked]

    def selected_check_results(self) -> Iterator[_Result]:
        """Yield the checks that were selected without their asset, over the last epochs."""
        assets = self.context.selected_asset_keys
        alone = {key for key in self._asked if key.asset_key not in assets}
        audits = {key for key in alone if key.name in AUDITS}
        others = alone - audits
        objects = self.floodmark.deployed.pipeline.objects.values()
        keys = {o.key for o in objects if asset_key(o) in {key.asset_key for key in others}}
        if keys:
            found = recent(self.floodmark.warehouse, keys)
            for _, results in check_results(self.floodmark, found, self.warehouse.checks_folder):
                yield from (r for r in results if _check_key(r) in others)
        epoch = self.floodmark.warehouse.log.head().sealed
        for found_one, result in run_audits(self.floodmark, audits) if audits else ():
            self._book.record_audit(
                found_one.key, result.check_name or "", epoch, passed=bool(result.passed)
            )
            yield result

    def partition_results(self) -> Iterator[_Result]:
        """Yield what a backfill of partitions corrects; where it fails, what stands of the rest."""
        done: set[dg.AssetKey] = set()
        try:
            for result in run_backfill(self.context, self.floodmark):
                assert result.asset_key is not None
                done.add(result.asset_key)
                yield result
        except FloodmarkError:
            self.fails = True
            for key, obj in self._selected.items():
                if asset_key(obj) not in done and key in self.told:
                    yield from self._standing(obj)
            raise


def _check_key(result: dg.AssetCheckResult) -> dg.AssetCheckKey:
    assert result.asset_key is not None and result.check_name is not None
    return dg.AssetCheckKey(result.asset_key, result.check_name)


def suspended_failure(floodmark: Floodmark, keys: Collection[str]) -> dg.Failure:
    """Return the failure of a run that some suspended objects leave behind."""
    pipeline, suspended = floodmark.deployed.pipeline, floodmark.warehouse.suspensions()
    return dg.Failure(
        f"suspended: {', '.join(keys)}",
        metadata={
            key: f"{event.code}: {event.message}; {remedy(pipeline[key], event)}"
            for key, event in suspended.items()
            if key in keys
        },
        allow_retries=False,
    )


@contextmanager
def errors_for_dagster(*, retries: bool = True) -> Iterator[None]:
    """Turn a user's mistake into a failure without retries, and the world's into a retry.

    A tick of a sensor has no `retries`: the next one tries again.
    """
    try:
        yield
    except UserError as error:
        raise dg.Failure(
            error.render(), metadata=_as_metadata(error), allow_retries=False
        ) from None  # Dagster would show the text once more, below a traceback
    except TransientError as error:
        if not retries:
            raise dg.Failure(error.render()) from error
        raise dg.RetryRequested(max_retries=RETRIES, seconds_to_wait=5) from error


def _as_metadata(error: UserError) -> Mapping[str, dg.MetadataValue]:
    return {"error": dg.MetadataValue.json(error.as_dict())}
