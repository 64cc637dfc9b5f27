"""Everything that Dagster sees of this deployment; parses SQL and plans, never starts Spark."""

from __future__ import annotations

import dagster as dg

from assets import ASSETS
from jobs import JOBS, SCHEDULES
from resources import RESOURCES
from sensors import SENSORS

defs = dg.Definitions(
    assets=ASSETS,
    jobs=JOBS,
    schedules=SCHEDULES,
    sensors=SENSORS,
    resources=RESOURCES,
    executor=dg.in_process_executor,
)
