"""The jobs and schedules of this deployment."""

from __future__ import annotations

from assets import pipeline
from floodmark_dagster.jobs.audit_job import make_audit_job
from floodmark_dagster.jobs.backfill_job import backfill_job
from floodmark_dagster.jobs.epoch_job import make_epoch_job
from floodmark_dagster.jobs.maintenance_job import maintenance_job, maintenance_schedule
from floodmark_dagster.jobs.plan_job import apply_job, plan_job

audits = make_audit_job(pipeline)
JOBS = [
    make_epoch_job(pipeline),
    *([] if audits is None else [audits]),
    maintenance_job,
    backfill_job,
    plan_job,
    apply_job,
]
SCHEDULES = [maintenance_schedule]
