"""The sensor whose ticks fail while the pipeline files say something else than is deployed."""

# No postponed annotations here: Dagster reads classes from the signatures.
import dagster as dg

from floodmark.errors import UserError
from floodmark.session.ddl.effects import effects
from floodmark_dagster.assets.factory import errors_for_dagster
from floodmark_dagster.assets.markdown import plan_parts
from floodmark_dagster.assets.refusals import refusal
from floodmark_dagster.resources.warehouse import Warehouse


@dg.sensor(
    name="pipeline_files",
    minimum_interval_seconds=15,
    default_status=dg.DefaultSensorStatus.RUNNING,
)
def pipeline_files(context: dg.SensorEvaluationContext, warehouse: Warehouse) -> dg.SkipReason:
    """Fail with the error in the files, or with the changes that wait for a plan; start no run.

    Deployed objects go on meanwhile. The next run creates new objects; the sensor fails, too, while
    they cannot be created. The cursor has the digest of files that equal what is deployed: these
    are not planned again.
    """
    deployed = dg.SkipReason("the files say what is deployed, or something new")
    with errors_for_dagster(retries=False), warehouse.connect() as floodmark:
        files = warehouse.files(floodmark)
        if files == context.cursor:
            return deployed
        plan = floodmark.plan(warehouse.pipelines)
        changed = [c for c in plan.changes if c.action != "create"]
        if changed:
            names = ", ".join(f"{c.key} ({c.reason})" for c in changed)
            raise UserError(
                "E0361",
                f"the pipeline files differ from what is deployed: {names}",
                detail="\n".join(plan_parts(effects(plan, floodmark.warehouse))),
                hint="run plan_job, then apply_job; or `floodmark plan`, then `plan --apply`",
            )
        floodmark.check(plan)
        refused = refusal(context.instance, warehouse.digest) if plan.changes else None
        if refused is not None:
            raise dg.Failure(
                f"what is new in the pipeline files could not be created: {refused}\n"
                "hint: correct it and save the file, or start a run",
                allow_retries=False,
            )
        if not plan.changes:
            context.update_cursor(files)
    return deployed
