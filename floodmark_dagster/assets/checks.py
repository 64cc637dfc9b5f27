"""The checks of each asset: the engine's invariants and the columns' conditions, as Dagster's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import dagster as dg

from floodmark.api import Floodmark
from floodmark.session.audit.checks import (
    NOT_SUSPENDED,
    WARNINGS,
    CheckResult,
    checks_of,
    run_checks,
)
from floodmark.session.audit.schemas import rules_of
from floodmark.session.inspect.reporting import ObjectReport
from floodmark.storage.logs.last_reported import LastReport
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark_dagster.assets.translator import asset_key

_DESCRIPTIONS = {
    "not_suspended": "Nothing has stopped the object",
    "stream_key_unique": "No key is inserted twice",
    "changelog_well_formed": "Inserts, deletes and update pairs, and the stored rows follow",
    "columns_hold": "NOT NULL and the conditions in checks/ hold",
    "fields_match": "Every column has values, and a column takes every field",
    "rows_accounted_for": "Rows in = rows stored, left out or ignored + late rows + dead letters",
    "watermark_monotonic": "No watermark goes back",
    "closed_windows_final": "Rows are only added, each window once, none after its close",
}


def check_specs(obj: AnalysedObject) -> list[dg.AssetCheckSpec]:
    """Return the checks that every run makes on an object."""
    key = asset_key(obj)
    return [
        dg.AssetCheckSpec(name, asset=key, description=_DESCRIPTIONS[name])
        for name in checks_of(obj)
    ]


def check_results(
    floodmark: Floodmark, reports: Sequence[ObjectReport], folder: Path
) -> Iterator[tuple[ObjectReport, list[dg.AssetCheckResult]]]:
    """Yield each report with the results of its checks; `folder` has the pandera schemas."""
    rules = rules_of(folder, floodmark.deployed.pipeline)
    outcomes = run_checks(floodmark.warehouse, reports, rules)
    for report in reports:
        key = asset_key(report.obj)
        yield report, [_result(key, outcome) for outcome in outcomes.get(report.key, ())]


def last_results(obj: AnalysedObject, last: LastReport) -> list[dg.AssetCheckResult]:
    """Return the checks of an object without news as they came out last.

    Without them Dagster would show an idle object's checks as skipped.
    """
    return [
        dg.AssetCheckResult(
            passed=name not in last.failed,
            check_name=name,
            asset_key=asset_key(obj),
            severity=_severity(name),
            description=f"unchanged since epoch {last.changed}",
        )
        for name in ((NOT_SUSPENDED,) if last.suspended else checks_of(obj))
    ]


def evaluation(result: dg.AssetCheckResult) -> dg.AssetCheckEvaluation:
    """Return a result as an event of its own, for a run that has not planned the check."""
    assert result.asset_key is not None and result.check_name is not None
    return dg.AssetCheckEvaluation(
        asset_key=result.asset_key,
        check_name=result.check_name,
        passed=bool(result.passed),
        metadata=result.metadata,
        severity=result.severity,
        description=result.description,
    )


def suspension(report: ObjectReport) -> dg.AssetCheckResult:
    """Return the check whether an object is suspended, which needs no Spark."""
    event = report.suspended
    note = "" if event is None else f"{event.code}: {event.message}"
    outcome = CheckResult(NOT_SUSPENDED, {"suspended": int(event is not None)}, note)
    return _result(asset_key(report.obj), outcome)


def _result(key: dg.AssetKey, outcome: CheckResult) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        passed=outcome.is_passed,
        check_name=outcome.check,
        asset_key=key,
        metadata=dict(outcome.violations),
        severity=_severity(outcome.check),
        description=outcome.note or None,
    )


def _severity(check: str) -> dg.AssetCheckSeverity:
    return dg.AssetCheckSeverity.WARN if check in WARNINGS else dg.AssetCheckSeverity.ERROR
