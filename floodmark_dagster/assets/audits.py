"""The checks that cost as much as an epoch, or more: made by `audit_job`, or where one is executed.

One compares each view with its query in batch; the other replays an epoch of each object. A run
that selects them together with their assets reports their last results.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import dagster as dg

from floodmark.api import Floodmark
from floodmark.catalog.objects import ObjectKind
from floodmark.session.audit import ReplayOutcome, replay_newest
from floodmark.session.inspect.reporting import STORED
from floodmark.storage.logs.last_reported import LastReport
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tools.equivalence import compares, difference
from floodmark_dagster.assets.translator import asset_key

EQUIVALENCE = "batch_equivalence"
REPLAY = "replay_digest"
AUDITS = (EQUIVALENCE, REPLAY)
MOST_ROWS = 1_000_000
"""An epoch that brought an object more rows is not replayed for a check."""
_DESCRIPTIONS = {
    EQUIVALENCE: "The query in batch gives the stored rows",
    REPLAY: "An epoch done again gives what it gave",
}


@dataclass(frozen=True)
class Answer:
    """What an audit says of one object."""

    passed: bool
    metadata: Mapping[str, int | str] = field(default_factory=dict)
    note: str = ""
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR


def audits_of(obj: AnalysedObject) -> tuple[str, ...]:
    """Return the names of the audits that an object has."""
    replays = obj.kind in STORED or (obj.kind is ObjectKind.SINK and obj.external_sink is not None)
    return (*([EQUIVALENCE] if compares(obj) else []), *([REPLAY] if replays else []))


def audit_specs(obj: AnalysedObject) -> list[dg.AssetCheckSpec]:
    """Return the checks on demand of an object."""
    key = asset_key(obj)
    return [
        dg.AssetCheckSpec(name, asset=key, description=_DESCRIPTIONS[name])
        for name in audits_of(obj)
    ]


def run_audits(
    floodmark: Floodmark, selected: Collection[dg.AssetCheckKey]
) -> Iterator[tuple[AnalysedObject, dg.AssetCheckResult]]:
    """Make the selected audits, one after the other, and yield each with its object."""
    for obj in floodmark.deployed.pipeline.objects.values():
        for name in audits_of(obj):
            if dg.AssetCheckKey(asset_key(obj), name) in selected:
                answer = (_compare if name == EQUIVALENCE else _replay)(floodmark, obj.key)
                yield (
                    obj,
                    dg.AssetCheckResult(
                        passed=answer.passed,
                        check_name=name,
                        asset_key=asset_key(obj),
                        metadata=dict(answer.metadata),
                        severity=answer.severity,
                        description=answer.note or None,
                    ),
                )


def last_audits(
    obj: AnalysedObject, last: LastReport, *, fails: bool
) -> Iterator[dg.AssetCheckResult]:
    """Yield how the audits of an object came out last.

    An audit that was never made is a warning in a run that `fails`, since Dagster shows checks
    without a result in a failed run as failed. In other runs it is left out.
    """
    for name in audits_of(obj):
        known = last.audits.get(name)
        if known is not None:
            yield dg.AssetCheckResult(
                passed=bool(known[0]),
                check_name=name,
                asset_key=asset_key(obj),
                description=f"as of epoch {known[1]}; audit_job looks again",
            )
        elif fails:
            yield dg.AssetCheckResult(
                passed=False,
                check_name=name,
                asset_key=asset_key(obj),
                severity=dg.AssetCheckSeverity.WARN,
                description="nobody has looked yet: audit_job does",
            )


def _compare(floodmark: Floodmark, key: str) -> Answer:
    compared = difference(floodmark, key)
    counts = {"epoch": compared.epoch, "missing": compared.missing, "surplus": compared.surplus}
    return Answer(not (compared.missing or compared.surplus), counts)


def _replay(floodmark: Floodmark, key: str) -> Answer:
    replayed = replay_newest(floodmark.warehouse, key, MOST_ROWS)
    if replayed is None:
        return Answer(True, note=f"no epoch that is kept brought it 1 to {MOST_ROWS:,} rows")
    told = {"epoch": replayed.epoch, "rows": replayed.rows, "digest": replayed.digest}
    if replayed.result is ReplayOutcome.IMPOSSIBLE:
        return Answer(False, told, replayed.cause, dg.AssetCheckSeverity.WARN)
    return Answer(replayed.result is ReplayOutcome.SAME, told, replayed.cause)
