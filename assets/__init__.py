"""The assets of this deployment: one for each object that its pipelines define."""

from __future__ import annotations

from floodmark_dagster.assets.factory import pipeline_assets
from floodmark_dagster.assets.partitions import Grain, event_time
from resources import root, warehouse

objects, grain = warehouse.definitions()
pipeline = pipeline_assets(objects, root, event_time(warehouse, Grain(grain)))
ASSETS = [pipeline]
