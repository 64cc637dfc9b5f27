"""The sensor that asks for a run when a source has something new, and tells what others did."""

# No postponed annotations here: Dagster reads classes from the signatures.
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta

import dagster as dg

from floodmark.api import Floodmark
from floodmark.errors import FloodmarkError
from floodmark.session.audit.checks import NOT_SUSPENDED
from floodmark.session.inspect.reporting import mark_reported, reports
from floodmark.storage.logs.last_reported import LastReport, LastReports
from floodmark_dagster.assets import news
from floodmark_dagster.assets.checks import evaluation, suspension
from floodmark_dagster.assets.factory import EVERYTHING, errors_for_dagster
from floodmark_dagster.assets.refusals import refusal
from floodmark_dagster.assets.translator import asset_key
from floodmark_dagster.resources.warehouse import Warehouse

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

    It compares source heads with the epoch log and never attaches Spark. The cursor holds what the
    sensor has reported; Dagster stores it after the events. If a cursor is lost, they are reported
    once more.
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
            told = _SensorCursor.read(context.cursor, floodmark.warehouse.log.head().sealed)
            LastReports(floodmark.root).without_checks(told.said)
            told, creates = _creates(context.instance, floodmark, warehouse, told)
            request = dg.RunRequest() if creates else _request(floodmark, assets)
            events: list[_Event] = []
            # What any run advances, such as one of a selection, it tells itself.
            busy = context.instance.get_runs(dg.RunsFilter(statuses=_BUSY), limit=1)
            if request is None and not busy:
                told, events = _outside(floodmark, told)
            if request is None:
                told, quiet = _quiet(floodmark, told)
                events += quiet
        return dg.SensorResult(
            run_requests=[] if request is None else [request],
            skip_reason="the sources have nothing new" if request is None else None,
            asset_events=events,
            cursor=told.text,
        )

    return new_data


@dataclass(frozen=True)
class _SensorCursor:
    """What the cursor holds.

    All that others did up to an `epoch` is told; `said` is what was said of objects when something
    was last told, as the report book takes it in at the next tick. Quiet assets were told at
    `quiet_at`, in seconds. All that the pipeline `files` say is deployed.
    """

    epoch: int = 0
    quiet_at: float = 0.0
    said: Mapping[str, LastReport] = field(default_factory=dict)
    files: str = ""

    @classmethod
    def read(cls, cursor: str | None, head: int) -> "_SensorCursor":
        """Return the content of a cursor; an empty one if it is ahead of this log or unreadable."""
        try:
            stored = json.loads(cursor or "{}")
            said = {key: LastReport(**entry) for key, entry in stored["said"].items()}
            told = cls(int(stored["epoch"]), float(stored["quiet_at"]), said, str(stored["files"]))
        except (ValueError, KeyError, TypeError, AttributeError):
            return cls()
        return told if told.epoch <= head else cls()

    @property
    def text(self) -> str:
        """Return the cursor."""
        return json.dumps(asdict(self))


def _creates(
    instance: dg.DagsterInstance, floodmark: Floodmark, warehouse: Warehouse, told: _SensorCursor
) -> tuple[_SensorCursor, bool]:
    """Tell whether a run would create what is new in the pipeline files, without a change of them.

    Refused files create nothing: the sensor `pipeline_files` reports them.
    """
    files = warehouse.files(floodmark)
    if files == told.files or refusal(instance, warehouse.digest) is not None:
        return told, False
    try:
        plan = warehouse.additions(floodmark)
        if plan is None:
            return told, False
        floodmark.check(plan)
    except FloodmarkError:
        return told, False
    return (told, True) if plan.changes else (replace(told, files=files), False)


def _request(floodmark: Floodmark, assets: Collection[dg.AssetKey]) -> dg.RunRequest | None:
    """Return the run that new rows need: it names what can change; None where nothing is new."""
    if not floodmark.has_new():
        return None
    warehouse = floodmark.warehouse
    if warehouse.log.head().open is not None:
        return dg.RunRequest()
    found = news.affected_objects(floodmark, warehouse.splits.having(floodmark.deployed.pipeline))
    chosen = [asset_key(o) for o in found if asset_key(o) in assets]
    if not chosen:
        return dg.RunRequest()
    return dg.RunRequest(
        asset_selection=chosen, asset_check_keys=[], tags={EVERYTHING: "everything"}
    )


def _outside(floodmark: Floodmark, told: _SensorCursor) -> tuple[_SensorCursor, list[_Event]]:
    """Return the news of objects that others, such as the command line, have advanced since.

    Their checks are left to the next run: they need Spark.
    """
    warehouse = floodmark.warehouse
    head, known = warehouse.log.head().sealed, LastReports(floodmark.root).all_reports()
    said: dict[str, LastReport] = {}
    events: list[_Event] = []
    for report in reports(warehouse, mark_reported(known, told.epoch)):
        last = known.get(report.key, LastReport())
        untold = news.untold(report, last)
        if last.told >= report.epoch or untold is None:
            continue
        stopped = report.suspended is not None
        if stopped or last.suspended:
            events.append(evaluation(suspension(report)))
            last = replace(last, suspended=stopped, failed=(NOT_SUSPENDED,) if stopped else ())
        if not stopped:
            events.append(news.event(floodmark, untold))
            known_as = report.obj.fingerprint
            last = replace(last, changed=report.changed, fingerprint=known_as)
        said[report.key] = replace(last, told=report.epoch)
    return replace(told, epoch=head, said=said or told.said), events


def _quiet(
    floodmark: Floodmark, told: _SensorCursor
) -> tuple[_SensorCursor, list[dg.AssetObservation]]:
    """Return that assets are fresh to which nothing has come, once in `QUIET`."""
    now = floodmark.clock.now().timestamp()
    if not told.quiet_at or now - told.quiet_at < QUIET.total_seconds():
        return (told if told.quiet_at else replace(told, quiet_at=now)), []
    head = floodmark.warehouse.log.head().sealed
    pipeline, suspended = floodmark.deployed.pipeline, floodmark.warehouse.suspensions()
    known: Mapping[str, LastReport] = LastReports(floodmark.root).all_reports()
    return replace(told, quiet_at=now), [
        news.observe_unchanged(found, known[key], head)
        for key, found in pipeline.objects.items()
        if key in known and key not in suspended and not known[key].suspended
    ]
