"""The sensors of this deployment."""

from __future__ import annotations

from assets import pipeline
from floodmark_dagster.jobs.epoch_job import EPOCH_JOB
from floodmark_dagster.sensors.new_data import make_new_data_sensor
from floodmark_dagster.sensors.pipeline_files import pipeline_files
from floodmark_dagster.sensors.watermark_stall import watermark_stall

SENSORS = [make_new_data_sensor(EPOCH_JOB, pipeline.keys), pipeline_files, watermark_stall]
