"""The checks of each asset: the engine's invariants and the columns' conditions, as Dagster's."""

# No postponed annotations here: Dagster reads classes from the signatures.
from collections.abc import Iterator, Sequence
from pathlib import Path

import dagster as dg

from assets.translator import asset_key
from floodmark.analysis.pipeline import AnalysedObject, Pipeline
from floodmark.api import Floodmark
from floodmark.runtime.checks import NOT_SUSPENDED, Outcome, checks_of, run_checks
from floodmark.runtime.equivalence import compares, difference
from floodmark.runtime.reporting import ObjectReport
from floodmark.runtime.schemas import rules_of
from floodmark.storage.report_book import Reported
from resources.warehouse import Warehouse

EQUIVALENCE = "batch_equivalence"
_DESCRIPTIONS = {
    "not_suspended": "Nothing has stopped the object",
    "stream_key_unique": "No key is inserted twice",
    "changelog_well_formed": "Inserts, deletes and update pairs, and the stored rows follow",
    "columns_hold": "NOT NULL and the conditions in checks/ hold",
    "rows_accounted_for": "Rows in = rows stored + late rows + dead letters",
    "watermark_monotonic": "No watermark goes back",
    "closed_windows_final": "No row comes out for a window that was closed before",
}


def check_specs(found: AnalysedObject) -> list[dg.AssetCheckSpec]:
    """Return the checks that every run makes on an object."""
    key = asset_key(found)
    return [
        dg.AssetCheckSpec(name, asset=key, description=_DESCRIPTIONS[name])
        for name in checks_of(found)
    ]


def check_results(
    floodmark: Floodmark, reports: Sequence[ObjectReport], folder: Path
) -> Iterator[tuple[ObjectReport, list[dg.AssetCheckResult]]]:
    """Yield each report with the results of its checks; `folder` has the pandera schemas."""
    rules = rules_of(folder, floodmark.deployed.pipeline)
    outcomes = run_checks(floodmark.scheduler, reports, rules)
    for report in reports:
        key = asset_key(report.found)
        yield report, [_result(key, outcome) for outcome in outcomes.get(report.key, ())]


def last_results(found: AnalysedObject, last: Reported) -> list[dg.AssetCheckResult]:
    """Return the checks of an object without news as they came out last.

    Without them Dagster would show an idle object's checks as skipped.
    """
    return [
        dg.AssetCheckResult(
            passed=name not in last.failed,
            check_name=name,
            asset_key=asset_key(found),
            description=f"unchanged since epoch {last.changed}",
        )
        for name in ((NOT_SUSPENDED,) if last.suspended else checks_of(found))
    ]


def _result(key: dg.AssetKey, outcome: Outcome) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        passed=outcome.passed,
        check_name=outcome.check,
        asset_key=key,
        metadata=dict(outcome.violations),
        description=outcome.note or None,
    )


def batch_equivalence_checks(pipeline: Pipeline) -> list[dg.AssetChecksDefinition]:
    """Return the on-demand check that compares each view with its query in batch."""
    by_key = {asset_key(found): found.key for found in pipeline.objects.values() if compares(found)}
    if not by_key:
        return []

    @dg.multi_asset_check(
        name=EQUIVALENCE,
        specs=[
            dg.AssetCheckSpec(
                EQUIVALENCE, asset=key, description="The query in batch gives the stored rows"
            )
            for key in by_key
        ],
        can_subset=True,
    )
    def compare(
        context: dg.AssetCheckExecutionContext, warehouse: Warehouse
    ) -> Iterator[dg.AssetCheckResult]:
        if context.run.asset_selection:
            # Dagster takes all checks of an asset along; this one costs as much as a rebuild.
            context.log.info("compared on demand only: Checks, then Execute")
            return
        with warehouse.connect() as floodmark:
            for selected in context.selected_asset_check_keys:
                found = difference(floodmark, by_key[selected.asset_key])
                yield dg.AssetCheckResult(
                    passed=not (found.missing or found.surplus),
                    check_name=EQUIVALENCE,
                    asset_key=selected.asset_key,
                    metadata={
                        "epoch": found.epoch, "missing": found.missing, "surplus": found.surplus
                    },
                )  # fmt: skip

    return [compare]
