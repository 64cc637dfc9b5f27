"""A run of partitions: closed windows computed once more, with the rows that came late."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import dagster as dg

from floodmark.api import Floodmark
from floodmark.storage.logs.last_reported import LastReports
from floodmark.tables.window_finality import closing, final_bound
from floodmark.tools.corrections.correct import CorrectionResult, EpochSpan, correct
from floodmark_dagster.assets.audits import last_audits
from floodmark_dagster.assets.checks import last_results
from floodmark_dagster.assets.translator import asset_key


def is_of_partitions(context: dg.AssetExecutionContext) -> bool:
    """Tell whether a run is a backfill of partitions; those that advance objects have none."""
    return context.has_partition_key or context.has_partition_key_range


def run_backfill(
    context: dg.AssetExecutionContext, floodmark: Floodmark
) -> Iterator[dg.MaterializeResult]:
    """Yield what the backfill of the run's partitions corrects in each selected view."""
    window = context.partition_time_window
    span = EpochSpan(window.start, window.end)
    told = LastReports(floodmark.root).all_reports()
    chosen, cut = set(context.selected_asset_keys), floodmark.warehouse.cut()
    for obj in closing(floodmark.deployed.pipeline):
        key = asset_key(obj)
        if key not in chosen:
            continue
        chosen.discard(key)
        if final_bound(obj, cut.records.get(obj.key)) is None:
            context.log.warning(f"no window of {obj.name} is closed yet: it stays as it is")
            continue
        done = correct(floodmark, obj.key, span)
        context.log.info(done.words)
        last = told.get(obj.key)
        checks = [] if last is None else [*last_results(obj, last),
                                          *last_audits(obj, last, fails=False)]  # fmt: skip
        asked = context.selected_asset_check_keys
        yield dg.MaterializeResult(
            asset_key=key,
            metadata=numbers_of(done),
            check_results=[c for c in checks if dg.AssetCheckKey(key, c.check_name or "") in asked],
        )
    if chosen:
        names = ", ".join(sorted(key.to_user_string() for key in chosen))
        context.log.warning(f"a run of partitions advances nothing: {names} stay as they are")


def numbers_of(done: CorrectionResult) -> Mapping[str, int | str]:
    """Return what a backfill came to, as metadata."""
    names = {"+U": "rows_changed", "+I": "rows_added", "-D": "rows_taken_back"}
    counts = {name: done.rows.get(kind, 0) for kind, name in names.items()}
    return {"epoch": done.epoch, **counts, "corrections": done.words}
