"""The jobs that show what the pipeline files would change, and that change it."""

# No postponed annotations here: Dagster reads the class of a config from the op's signature.
import dagster as dg
from pydantic import Field

from floodmark.api import Floodmark
from floodmark.session.ddl.effects import effects
from floodmark_dagster.assets.factory import POOL, errors_for_dagster
from floodmark_dagster.assets.markdown import plan_text
from floodmark_dagster.resources.warehouse import Warehouse

RELOAD = "until the code location is reloaded, Dagster shows the former definitions, as unsynced"


class Apply(dg.Config):
    """What may be lost by applying the pipeline files."""

    discard_rows: bool = Field(
        default=False, description="Drop and rebuild tables with what statements wrote"
    )


@dg.op
def plan_files(context: dg.OpExecutionContext, warehouse: Warehouse) -> None:
    """Show what the pipeline files would change; nothing runs, and Spark is not attached."""
    with errors_for_dagster(), warehouse.connect() as floodmark:
        _show(context, floodmark, warehouse)


@dg.op(pool=POOL)
def apply_files(context: dg.OpExecutionContext, config: Apply, warehouse: Warehouse) -> None:
    """Change the warehouse to what the pipeline files say, in one epoch."""
    with errors_for_dagster(), warehouse.connect() as floodmark:
        _show(context, floodmark, warehouse)
        floodmark.apply(warehouse.pipelines, discard_rows=config.discard_rows)
        epoch = floodmark.warehouse.log.head().sealed
    context.log.info(f"applied in epoch {epoch}; {RELOAD}")


def _show(context: dg.OpExecutionContext, floodmark: Floodmark, warehouse: Warehouse) -> None:
    """Add what applying would do to the metadata, before anything is done."""
    text = plan_text(effects(floodmark.plan(warehouse.pipelines), floodmark.warehouse))
    context.add_output_metadata({"plan": dg.MetadataValue.md(text)})


@dg.job(executor_def=dg.in_process_executor)
def plan_job() -> None:
    """Show what the pipeline files would change."""
    plan_files()


@dg.job(executor_def=dg.in_process_executor)
def apply_job() -> None:
    """Apply the pipeline files."""
    apply_files()
