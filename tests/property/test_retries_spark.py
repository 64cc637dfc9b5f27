"""Random plans with volatile values on Spark: replays, crashes in the middle, other boundaries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from floodmark import failpoints
from floodmark.errors import TransientError
from floodmark.session.audit import ReplayOutcome
from floodmark.spark.session import Sessions
from floodmark.storage.warehouse import ENGINE
from tests.program_spark import Outcome
from tests.property.plan_examples import joined
from tests.property.plans_on_spark import (
    Both,
    Plans,
    PlansRun,
    busiest,
    chosen_loose,
    mismatches,
    on_reference,
)

STORING, PLAIN, EPOCHS = 5, 3, 3
CRASH_EVERY, CRASHES = 11, 3
"""Failpoints between two crashes, and the most crashes of one epoch."""

pytestmark = [pytest.mark.spark, pytest.mark.long]


def _seeded(folder: Path) -> Path:
    """Return the folder of a run whose random values are those of the others."""
    seed = folder / "warehouse" / ENGINE / "seed"
    seed.parent.mkdir(parents=True)
    seed.write_text("5eed")
    return folder


@pytest.fixture(scope="module")
def views() -> Plans:
    storing = {f"l{i:02}": p for i, p in enumerate(chosen_loose(STORING, stores=True))}
    plain = {f"p{i:02}": p for i, p in enumerate(chosen_loose(PLAIN, stores=False))}
    return {**storing, **plain}


@pytest.fixture(scope="module")
def undisturbed(
    views: Plans, sessions: Sessions, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[PlansRun, Outcome]]:
    folder = _seeded(tmp_path_factory.mktemp("undisturbed"))
    run = PlansRun.over(views, busiest(EPOCHS), folder, sessions)
    outcome = run.all_epochs()
    assert outcome.broken == {}
    yield run, outcome


def _changes(outcome: Outcome, views: Plans) -> dict[str, Any]:
    return {
        name: {e: Counter(map(repr, rows)) for e, rows in outcome.found[name].changes.items()}
        for name in views
    }


def test_spark_emits_what_the_reference_emits(
    views: Plans, undisturbed: tuple[PlansRun, Outcome]
) -> None:
    run, outcome = undisturbed
    both = Both(views, outcome, on_reference(views, run.inputs, run.run.fm.warehouse.seed))
    assert [text for name in views for text in mismatches(both, name)] == []


def test_every_epoch_is_the_same_again(undisturbed: tuple[PlansRun, Outcome]) -> None:
    run, _ = undisturbed
    found = [r for epoch in range(1, EPOCHS + 1) for r in run.run.fm.replay(epoch)]
    assert [r for r in found if r.result is not ReplayOutcome.SAME] == []
    assert {r.object for r in found} >= set(run.plans)


def test_crashes_in_the_middle_change_nothing(
    views: Plans, undisturbed: tuple[PlansRun, Outcome], sessions: Sessions, tmp_path: Path
) -> None:
    run = PlansRun.over(views, busiest(EPOCHS), _seeded(tmp_path), sessions)
    crashed = reached = 0

    def crash(name: str) -> None:
        nonlocal crashed, reached
        reached += 1
        if reached % CRASH_EVERY == 0 and crashed < CRASHES:
            crashed += 1
            raise TransientError("E0505", f"a crash at {name}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(failpoints, "reach", crash)
        for number in range(1, EPOCHS + 1):
            crashed = 0
            with pytest.raises(TransientError):
                run.epoch(number)
            run.complete(CRASHES)
    assert _changes(run.run.outcome(), views) == _changes(undisturbed[1], views)


def test_what_stores_nothing_depends_on_no_boundary(
    views: Plans, undisturbed: tuple[PlansRun, Outcome], sessions: Sessions, tmp_path: Path
) -> None:
    plain = {name: plan for name, plan in views.items() if name.startswith("p")}
    first, *rest = busiest(EPOCHS)
    run = PlansRun.over(plain, [first, joined(rest)], _seeded(tmp_path), sessions)
    outcome = run.all_epochs()
    assert outcome.broken == {}
    for name in plain:
        assert _final(outcome, name) == _final(undisturbed[1], name), name


def _final(outcome: Outcome, name: str) -> Counter[str]:
    rows: Counter[str] = Counter()
    for changes in outcome.found[name].changes.values():
        for kind, row in changes:
            rows[repr(row)] += kind.weight
    return +rows
