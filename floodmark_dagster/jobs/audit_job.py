"""The job that makes the checks that cost as much as an epoch, or more, of all objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from floodmark_dagster.assets.audits import AUDITS

if TYPE_CHECKING:
    from dagster._core.definitions.unresolved_asset_job_definition import (
        UnresolvedAssetJobDefinition,
    )


def make_audit_job(pipeline: dg.AssetsDefinition) -> UnresolvedAssetJobDefinition | None:
    """Return the job over the audits of the pipeline; None where no object has one."""
    keys = [key for key in pipeline.check_keys if key.name in AUDITS]
    if not keys:
        return None
    selection = dg.AssetSelection.checks(*keys)
    return dg.define_asset_job("audit_job", selection, executor_def=dg.in_process_executor)
