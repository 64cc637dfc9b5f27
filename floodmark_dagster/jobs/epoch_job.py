"""The job that advances all objects by the epochs that are due."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

if TYPE_CHECKING:
    from dagster._core.definitions.unresolved_asset_job_definition import (
        UnresolvedAssetJobDefinition,
    )

EPOCH_JOB = "epoch_job"


def make_epoch_job(pipeline: dg.AssetsDefinition) -> UnresolvedAssetJobDefinition:
    """Return the job over all assets of the pipeline."""
    return dg.define_asset_job(
        EPOCH_JOB, dg.AssetSelection.assets(pipeline), executor_def=dg.in_process_executor
    )
