"""Runs that could not create new objects of the pipeline files: each is known by its tags."""

from __future__ import annotations

import dagster as dg

from floodmark.errors import UserError

_FILES = "floodmark/refused"
"""The tag of such a run: the digest of the files."""
_WHY = "floodmark/refusal"


def remember(instance: dg.DagsterInstance, run_id: str, digest: str, error: UserError) -> None:
    """Keep with a run that it was refused what the files with a digest define."""
    instance.add_run_tags(run_id, {_FILES: digest, _WHY: f"{error.code} {error.message}"})


def refusal(instance: dg.DagsterInstance, digest: str) -> str | None:
    """Return why the newest run that was refused what some files define was; None without any."""
    found = instance.get_runs(dg.RunsFilter(tags={_FILES: digest}), limit=1)
    return f"{found[0].tags[_WHY]} (run {found[0].run_id})" if found else None
