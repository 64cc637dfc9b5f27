"""The checks of each asset: the engine's invariants and the columns' conditions, as Dagster's."""

# No postponed annotations here: Dagster reads classes from the signatures.
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg

from assets.translator import asset_key
from floodmark.analysis.pipeline import AnalysedObject, Pipeline
from floodmark.api import Floodmark
from floodmark.runtime.checks import NOT_SUSPENDED, Outcome, checks_of, run_checks
from floodmark.runtime.equivalence import compares, difference
from floodmark.runtime.replay import ReplayOutcome, replay_newest
from floodmark.runtime.reporting import ObjectReport
from floodmark.runtime.schemas import rules_of
from floodmark.storage.report_book import Reported
from resources.warehouse import Warehouse

EQUIVALENCE = "batch_equivalence"
REPLAY = "replay_digest"
MOST_ROWS = 1_000_000
"""An epoch that brought an object more rows is not replayed for a check."""
_DESCRIPTIONS = {
    "not_suspended": "Nothing has stopped the object",
    "stream_key_unique": "No key is inserted twice",
    "changelog_well_formed": "Inserts, deletes and update pairs, and the stored rows follow",
    "columns_hold": "NOT NULL and the conditions in checks/ hold",
    "rows_accounted_for": "Rows in = rows stored, left out or ignored + late rows + dead letters",
    "watermark_monotonic": "No watermark goes back",
    "closed_windows_final": "Rows are only added, each window once, none after its close",
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


@dataclass(frozen=True)
class Answer:
    """What a check on demand says of one object."""

    passed: bool
    metadata: Mapping[str, int | str] = field(default_factory=dict)
    note: str = ""
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR


def on_demand_checks(pipeline: Pipeline) -> list[dg.AssetChecksDefinition]:
    """Return the checks that cost too much for every run, or look back: Checks, then Execute.

    One compares each view with its query in batch; one replays an epoch of each object.
    """
    equal = [found for found in pipeline.objects.values() if compares(found)]
    return [
        check
        for name, description, objects, answer in (
            (EQUIVALENCE, "The query in batch gives the stored rows", equal, _compared),
            (REPLAY, "An epoch done again gives what it gave", pipeline.stored, _replayed),
        )
        if objects
        for check in [_on_demand(name, description, objects, answer)]
    ]


def _on_demand(
    name: str,
    description: str,
    objects: Sequence[AnalysedObject],
    answer: Callable[[Floodmark, str], Answer],
) -> dg.AssetChecksDefinition:
    by_key = {asset_key(found): found.key for found in objects}

    @dg.multi_asset_check(
        name=name,
        specs=[dg.AssetCheckSpec(name, asset=key, description=description) for key in by_key],
        can_subset=True,
    )
    def check(
        context: dg.AssetCheckExecutionContext, warehouse: Warehouse
    ) -> Iterator[dg.AssetCheckResult]:
        if context.run.asset_selection:
            # Dagster takes all checks of an asset along; these cost as much as an epoch, or more.
            context.log.info("compared on demand only: Checks, then Execute")
            return
        with warehouse.connect() as floodmark:
            for selected in context.selected_asset_check_keys:
                found = answer(floodmark, by_key[selected.asset_key])
                yield dg.AssetCheckResult(
                    passed=found.passed,
                    check_name=name,
                    asset_key=selected.asset_key,
                    metadata=dict(found.metadata),
                    severity=found.severity,
                    description=found.note or None,
                )

    return check


def _compared(floodmark: Floodmark, key: str) -> Answer:
    found = difference(floodmark, key)
    counts = {"epoch": found.epoch, "missing": found.missing, "surplus": found.surplus}
    return Answer(not (found.missing or found.surplus), counts)


def _replayed(floodmark: Floodmark, key: str) -> Answer:
    found = replay_newest(floodmark.scheduler, key, MOST_ROWS)
    if found is None:
        return Answer(True, note=f"no epoch that is kept brought it 1 to {MOST_ROWS:,} rows")
    told = {"epoch": found.epoch, "rows": found.rows, "digest": found.digest}
    if found.outcome is ReplayOutcome.IMPOSSIBLE:
        return Answer(False, told, found.cause, dg.AssetCheckSeverity.WARN)
    return Answer(found.outcome is ReplayOutcome.SAME, told, found.cause)
