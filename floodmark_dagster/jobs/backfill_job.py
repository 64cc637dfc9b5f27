"""The job that computes closed windows of a view once more, with the rows that came late."""

# No postponed annotations here: Dagster reads the class of a config from the op's signature.
import dagster as dg
from pydantic import Field

from floodmark.tools.corrections.correct import EpochSpan, correct, parse_time
from floodmark_dagster.assets.backfills import numbers_of
from floodmark_dagster.assets.factory import POOL, errors_for_dagster
from floodmark_dagster.resources.warehouse import Warehouse


class Backfill(dg.Config):
    """Which closed windows of which view are computed once more."""

    view: str = Field(description="A view that emits on window close")
    start: str = Field(description="The first time, in UTC, such as 2024-05-01T06:00")
    end: str = Field(description="The first time after that is left alone")
    in_place: bool = Field(default=False, description="Take corrections into the view's rows")


@dg.op(pool=POOL)
def backfill_view(context: dg.OpExecutionContext, config: Backfill, warehouse: Warehouse) -> None:
    """Write what late rows change in closed windows to the view's corrections."""
    with errors_for_dagster(), warehouse.connect() as floodmark:
        span = EpochSpan(parse_time(config.start), parse_time(config.end))
        done = correct(floodmark, config.view, span, in_place=config.in_place)
    context.log.info(done.words)
    context.add_output_metadata(dict(numbers_of(done)))


@dg.job(executor_def=dg.in_process_executor)
def backfill_job() -> None:
    """Correct closed windows."""
    backfill_view()
