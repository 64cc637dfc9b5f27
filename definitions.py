"""Everything that Dagster sees of this deployment; parses SQL and plans, never starts Spark."""

from __future__ import annotations

import os
from pathlib import Path

import dagster as dg

from assets.factory import pipeline_assets
from assets.partitions import Grain, event_time
from jobs.audit_job import make_audit_job
from jobs.backfill_job import backfill_job
from jobs.epoch_job import EPOCH_JOB, make_epoch_job
from jobs.maintenance_job import maintenance_job, maintenance_schedule
from jobs.plan_job import apply_job, plan_job
from resources.clock import EngineClock
from resources.spark import FloodmarkSpark
from resources.warehouse import Warehouse
from sensors.new_data import make_new_data_sensor
from sensors.pipeline_files import pipeline_files
from sensors.watermark_stall import watermark_stall

root = Path(os.environ.get("FLOODMARK_WAREHOUSE", "warehouse")).resolve()
pipelines = Path(os.environ.get("FLOODMARK_PIPELINES", "pipelines")).resolve()
spark, clock = FloodmarkSpark(), EngineClock()
warehouse = Warehouse(root=str(root), pipelines=str(pipelines), spark=spark, clock=clock)
objects, grain = warehouse.definitions()
pipeline = pipeline_assets(objects, root, event_time(warehouse, Grain(grain)))
audits = make_audit_job(pipeline)
defs = dg.Definitions(
    assets=[pipeline],
    jobs=[
        make_epoch_job(pipeline),
        *([] if audits is None else [audits]),
        maintenance_job,
        backfill_job,
        plan_job,
        apply_job,
    ],
    schedules=[maintenance_schedule],
    sensors=[make_new_data_sensor(EPOCH_JOB, pipeline.keys), pipeline_files, watermark_stall],
    resources={"spark": spark, "clock": clock, "warehouse": warehouse},
    executor=dg.in_process_executor,
)
