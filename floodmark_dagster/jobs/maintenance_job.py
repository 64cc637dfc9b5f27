"""The daily job that merges small files, checkpoints logs and removes what retention ends."""

# No postponed annotations here: Dagster reads the class of a config from the op's signature.
from datetime import timedelta
from pathlib import Path

import dagster as dg

from floodmark_dagster.assets.factory import POOL, errors_for_dagster
from floodmark_dagster.resources.warehouse import Warehouse


class Maintenance(dg.Config):
    """How long changes, late rows and old epochs are kept, in hours.

    Without it, `SET retention` of the pipeline files says it, else 7 days.
    """

    retention_hours: float | None = None


@dg.op(pool=POOL)
def maintain_warehouse(
    context: dg.OpExecutionContext, config: Maintenance, warehouse: Warehouse
) -> None:
    """Maintain every table; what readers see does not change."""
    with errors_for_dagster(), warehouse.connect() as floodmark:
        if Path(warehouse.pipelines).is_dir():
            floodmark.read(warehouse.pipelines)
        hours = config.retention_hours
        report = floodmark.maintain(None if hours is None else timedelta(hours=hours))
    context.add_output_metadata(
        {
            "compacted_files": report.compacted_files,
            "checkpoints": report.checkpoints,
            "expired_files": report.expired_files,
            "deleted_files": report.deleted_files,
            "oldest_epoch": report.oldest_epoch,
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
