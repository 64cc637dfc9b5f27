"""The sensor that asks for a run when a source has something new, and tells what others did."""

# No postponed annotations here: Dagster reads classes from the signatures.
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

import dagster as dg

from assets import news
from assets.checks import evaluation, suspension
from assets.factory import EVERYTHING, errors_for_dagster
from assets.translator import asset_key
from floodmark.api import Floodmark
from floodmark.errors import FloodmarkError
from floodmark.runtime.checks import NOT_SUSPENDED
from floodmark.runtime.reporting import reports
from floodmark.storage.report_book import ReportBook, Reported
from resources.warehouse import Warehouse

QUIET = timedelta(hours=1)
"""How often an asset is told to be fresh to which nothing comes."""
_BUSY = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
]
_Event = dg.AssetMaterialization | dg.AssetObservation | dg.AssetCheckEvaluation


def make_new_data_sensor(job_name: str, assets: Collection[dg.AssetKey]) -> dg.SensorDefinition:
    """Return the sensor of a job over some assets: one run takes in everything that is there.

    It compares source heads with the epoch log and never attaches Spark. The cursor holds the last
    epoch that it saw, and when quiet assets were told last; a lost one does no harm.
    """

    @dg.sensor(
        name="new_data",
        job_name=job_name,
        minimum_interval_seconds=5,
        default_status=dg.DefaultSensorStatus.RUNNING,
    )
    def new_data(context: dg.SensorEvaluationContext, warehouse: Warehouse) -> dg.SensorResult:
        running = dg.RunsFilter(job_name=job_name, statuses=_BUSY)
        if context.instance.get_runs(running, limit=1):
            return dg.SensorResult(
                skip_reason="a run is queued or under way", cursor=context.cursor
            )
        # What cannot be read, such as a folder that is gone, fails the tick with its text.
        with errors_for_dagster(retries=False), warehouse.connect() as floodmark:
            request = _request(floodmark, warehouse, assets)
            told = _Told.read(context.cursor)
            # What any run advances, such as one of a selection, it tells itself.
            busy = context.instance.get_runs(dg.RunsFilter(statuses=_BUSY), limit=1)
            events = [] if request is not None or busy else list(_outside(floodmark))
            if request is None:
                told, quiet = _quiet(floodmark, told)
                events += quiet
            told = replace(told, epoch=floodmark.scheduler.log.head().sealed)
        return dg.SensorResult(
            run_requests=[] if request is None else [request],
            skip_reason="the sources have nothing new" if request is None else None,
            asset_events=events,
            cursor=told.written,
        )

    return new_data


@dataclass(frozen=True)
class _Told:
    """What the cursor holds: the last epoch, and when quiet assets were told, in seconds."""

    epoch: int = 0
    quiet_at: float = 0.0

    @classmethod
    def read(cls, cursor: str | None) -> "_Told":
        """Return what a cursor holds; nothing of one that is not ours."""
        try:
            found = json.loads(cursor or "{}")
            return cls(int(found["epoch"]), float(found["quiet_at"]))
        except (ValueError, KeyError, TypeError):
            return cls()

    @property
    def written(self) -> str:
        """Return the cursor."""
        return json.dumps({"epoch": self.epoch, "quiet_at": self.quiet_at})


def _request(
    floodmark: Floodmark, warehouse: Warehouse, assets: Collection[dg.AssetKey]
) -> dg.RunRequest | None:
    """Return the run that is due: it names what can change; None where nothing is new."""
    try:
        pending = warehouse.pending(floodmark)
    except FloodmarkError:
        pending = ()  # the sensor `pipeline_files` says so; what is deployed goes on
    if pending and all(change.action == "create" for change in pending):
        return dg.RunRequest()
    if not floodmark.has_new():
        return None
    scheduler = floodmark.scheduler
    if scheduler.log.head().open is not None:
        return dg.RunRequest()
    pipeline = floodmark.deployed.pipeline
    try:
        sources = scheduler.offers.of(pipeline, 1)
    except FloodmarkError:
        sources = {}
    found = news.reached(floodmark, sources)
    chosen = [asset_key(o) for o in found if asset_key(o) in assets]
    if not chosen:
        return dg.RunRequest()
    return dg.RunRequest(
        asset_selection=chosen, asset_check_keys=[], tags={EVERYTHING: "everything"}
    )


def _outside(floodmark: Floodmark) -> Iterator[_Event]:
    """Yield what others, such as the command line, have done since the last report.

    Their checks are left to the next run: they need Spark.
    """
    book = ReportBook(floodmark.root)
    known = book.read()
    fresh: dict[str, Reported] = {}
    for report in reports(floodmark.scheduler, known):
        last = known.get(report.key, Reported())
        found = news.untold(report, last)
        if last.told >= report.epoch or found is None:
            continue
        stopped = report.suspended is not None
        if stopped or last.suspended:
            yield evaluation(suspension(report))
            last = replace(last, suspended=stopped, failed=(NOT_SUSPENDED,) if stopped else ())
        if not stopped:
            yield news.event(floodmark, found)
            known_as = report.found.fingerprint
            last = replace(last, changed=report.changed, fingerprint=known_as)
        fresh[report.key] = replace(last, told=report.epoch)
    if fresh:
        book.write({**known, **fresh})


def _quiet(floodmark: Floodmark, told: _Told) -> tuple[_Told, list[dg.AssetObservation]]:
    """Return that assets are fresh to which nothing has come, once in `QUIET`."""
    now = floodmark.clock.now().timestamp()
    if not told.quiet_at or now - told.quiet_at < QUIET.total_seconds():
        return (told if told.quiet_at else replace(told, quiet_at=now)), []
    head = floodmark.scheduler.log.head().sealed
    pipeline, suspended = floodmark.deployed.pipeline, floodmark.scheduler.log.suspended()
    known: Mapping[str, Reported] = ReportBook(floodmark.root).read()
    return replace(told, quiet_at=now), [
        news.unchanged(found, known[key], head)
        for key, found in pipeline.objects.items()
        if key in known and key not in suspended and not known[key].suspended
    ]
