"""Random plans created late: backfilled, they catch up merged epochs, and equal batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from floodmark.catalog.catalog import Catalog
from floodmark.epochs.backfill import workers
from floodmark.epochs.backfill.choice import VARIABLE
from floodmark.epochs.backfill.step import Backfill
from floodmark.limits import Limits
from floodmark.spark.session import Sessions
from floodmark.storage.logs.backfills import BackfillState, BackfillStep
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.stream.objects.pipeline import analyse_catalog
from floodmark.tools.equivalence import compare, compares
from floodmark.warehouse.deployed import Deployed, statements_of
from tests.property.plan_strategies import plans
from tests.property.plans_on_spark import PlansRun, busiest, chosen

BEFORE, MISSED = 2, 4
pytestmark = pytest.mark.spark


def _create(run: PlansRun, late: Deployed) -> None:
    """Apply the definitions with the views, in an epoch of their own."""
    loop, warehouse = run.run.fm.loop, run.run.fm.warehouse
    with loop.hold("a test"):
        applied = statements_of(late.catalog)
        epoch = warehouse.log.head().sealed + 1
        warehouse.catalogs.append(epoch, applied, warehouse.clock.now())
        warehouse._deployed = late
        loop.run_once(late.version)


@pytest.mark.parametrize(
    "views", [pytest.param(2, id="some"), pytest.param(12, id="many", marks=pytest.mark.long)]
)
def test_views_that_are_created_late_equal_batch(
    sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, views: int
) -> None:
    drawn = chosen(plans(max_depth=3), views)
    names = [f"v{i:02}" for i in range(views)]
    inputs = busiest(BEFORE + MISSED + 1)
    run = PlansRun.over(dict(zip(names, drawn, strict=True)), inputs, tmp_path, sessions)
    fm, warehouse = run.run.fm, run.run.fm.warehouse
    late = Deployed(2, run.run.pipeline)
    objects = {k: o for k, o in late.catalog.objects.items() if k not in names}
    steps: list[BackfillStep] = []
    step = Backfill.run

    def noted(self: Backfill, to: BackfillStep, standing: BackfillState) -> ObjectRecord:
        steps.append(to)
        return step(self, to, standing)

    monkeypatch.setenv(VARIABLE, "0")
    warehouse.limits = Limits(backfill_threads=views)
    monkeypatch.setattr(Backfill, "run", noted)
    run.run.pipeline = analyse_catalog(Catalog(objects))
    for number in range(1, BEFORE + 1):
        run.epoch(number)
    run.run.pipeline = late.pipeline
    _create(run, late)
    with workers.Workers(warehouse) as some:
        some.start()
    for number in range(BEFORE + 1, BEFORE + MISSED + 1):
        _taken_in(run, number)
    assert {s.first for s in steps} == {None} and len(steps) == views
    assert list(fm.epochs())
    assert any(s.first is not None and s.epoch - s.first == MISSED - 1 for s in steps)
    assert not warehouse.log.suspensions()
    _check(run, names)
    _taken_in(run, BEFORE + MISSED + 1)
    _check(run, names)


def _taken_in(run: PlansRun, number: int) -> None:
    """Run the epoch of some input, under the number that comes next."""
    sealed = run.run.fm.warehouse.log.head().sealed
    run.run.epoch(sealed + 1, [(run.case, run.case.program.epochs[number - 1])])


def _check(run: PlansRun, names: list[str]) -> None:
    fm = run.run.fm
    head = fm.warehouse.log.head().sealed
    assert {r.position for r in fm.status().values()} == {head}
    compared = [k for k in names if compares(run.run.pipeline[k])]
    assert len(compared) > len(names) // 2
    assert not {k: d for k, d in compare(fm, compared).items() if d.rows}
