"""The daily job that merges small files, checkpoints logs and removes what retention ends."""

# No postponed annotations here: Dagster reads the class of a config from the op's signature.
from datetime import timedelta

import dagster as dg

from assets.factory import POOL, errors_for_dagster
from floodmark.runtime.maintenance import RETENTION, maintain
from resources.warehouse import Warehouse


class Maintenance(dg.Config):
    """How long old versions are kept, in hours."""

    retention_hours: float = RETENTION / timedelta(hours=1)


@dg.op(pool=POOL)
def maintain_warehouse(
    context: dg.OpExecutionContext, config: Maintenance, warehouse: Warehouse
) -> None:
    """Maintain every table; what readers see does not change."""
    with errors_for_dagster(), warehouse.connect() as floodmark:
        report = maintain(floodmark, timedelta(hours=config.retention_hours))
    context.add_output_metadata(
        {
            "compacted_files": report.compacted_files,
            "checkpoints": report.checkpoints,
            "deleted_files": report.deleted_files,
            "expired_epoch_buckets": report.expired_buckets,
        }
    )


@dg.job(executor_def=dg.in_process_executor)
def maintenance_job() -> None:
    """Maintain the warehouse."""
    maintain_warehouse()


maintenance_schedule = dg.ScheduleDefinition(
    job=maintenance_job,
    cron_schedule="15 3 * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
)
