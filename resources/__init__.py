"""What this deployment runs on: its warehouse, the Spark server, the clock."""

from __future__ import annotations

import os
from pathlib import Path

from floodmark_dagster.resources.clock import EngineClock
from floodmark_dagster.resources.spark import FloodmarkSpark
from floodmark_dagster.resources.warehouse import Warehouse

root = Path(os.environ.get("FLOODMARK_WAREHOUSE", "warehouse")).resolve()
pipelines = Path(os.environ.get("FLOODMARK_PIPELINES", "pipelines")).resolve()
spark, clock = FloodmarkSpark(), EngineClock()
warehouse = Warehouse(root=str(root), pipelines=str(pipelines), spark=spark, clock=clock)
RESOURCES = {"spark": spark, "clock": clock, "warehouse": warehouse}
