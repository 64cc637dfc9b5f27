"""The sensor that asks for a run when a source has something new."""

# No postponed annotations here: Dagster reads classes from the signatures.
import dagster as dg

from floodmark.errors import FloodmarkError
from resources.warehouse import Warehouse

_BUSY = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
]


def make_new_data_sensor(job_name: str) -> dg.SensorDefinition:
    """Return the sensor of a job: one run takes in everything that is there.

    It compares source heads with the epoch log and never attaches Spark. The cursor holds the last
    epoch that it saw and decides nothing, so that a lost one does no harm.
    """

    @dg.sensor(
        name="new_data",
        job_name=job_name,
        minimum_interval_seconds=5,
        default_status=dg.DefaultSensorStatus.RUNNING,
    )
    def new_data(
        context: dg.SensorEvaluationContext, warehouse: Warehouse
    ) -> dg.RunRequest | dg.SkipReason:
        running = dg.RunsFilter(job_name=job_name, statuses=_BUSY)
        if context.instance.get_runs(running, limit=1):
            return dg.SkipReason("a run is queued or under way")
        with warehouse.connect() as floodmark:
            try:
                pending = warehouse.pending(floodmark)
                changed = [c.key for c in pending if c.action != "create"]
                if changed:
                    return dg.SkipReason(f"look at `floodmark plan`: {', '.join(changed)} changed")
                is_new = bool(pending) or floodmark.has_new()
            except FloodmarkError as error:
                return dg.SkipReason(error.render())
            context.update_cursor(str(floodmark.scheduler.log.head().sealed))
        return dg.RunRequest() if is_new else dg.SkipReason("the sources have nothing new")

    return new_data
