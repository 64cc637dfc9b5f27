"""Random plans on Spark, incrementally, against the reference: the same changes in every epoch.

All plans run together, as the views of one warehouse over the same five inputs. Some have volatile
values, which are the same on both sides, and once more when an epoch is replayed. One epoch stops
in the middle and is completed by the next try. The daily set runs a sixth of the plans, the
nightly set the others.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from floodmark.epochs import run as epoch_run
from floodmark.errors import TransientError
from floodmark.spark.session import Sessions
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.stream.objects.analysed import AnalysedObject
from tests.program_spark import Advance, isolated, unequal
from tests.property.plan_strategies import CHANGES, SCANS, closing_plans, plans
from tests.property.plans_on_spark import (
    Both,
    PlansRun,
    busiest,
    chosen,
    chosen_loose,
    mismatches,
    on_reference,
)

OPEN, CLOSING, STORING, PLAIN, EPOCHS = 22, 4, 12, 2, 6
STOP = 25
"""How many objects have advanced when an epoch stops: somewhere in the second one."""
VIEWS = [f"v{i:02}" for i in range(OPEN)]
CLOSING_VIEWS = [f"c{i:02}" for i in range(CLOSING)]
LOOSE_VIEWS = [f"l{i:02}" for i in range(STORING + PLAIN)]
PARTS = [(), *[pytest.mark.long] * 5]
"""Marks of the parts of the plans, which run apart: the first one daily."""

pytestmark = pytest.mark.spark


def stopping(advance: Advance, after: int) -> tuple[Advance, list[str]]:
    """Return an advance after which an epoch stops once, and a list of where it did."""
    advanced, stopped = itertools.count(1), list[str]()

    def stops(found: AnalysedObject, *rest: Any) -> ObjectRecord:
        record = advance(found, *rest)
        if next(advanced) == after:
            stopped.append(found.key)
            raise TransientError("E0505", f"a crash after {found.key}")
        return record

    return stops, stopped


def in_parts(names: list[str]) -> list[Any]:
    """Return the names as parameters, each with the part that has it."""
    return [
        pytest.param(i % len(PARTS), name, id=name, marks=PARTS[i % len(PARTS)])
        for i, name in enumerate(names)
    ]


@pytest.fixture(scope="module")
def both(
    request: pytest.FixtureRequest, sessions: Sessions, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Both]:
    """Run a part of the drawn plans on Spark and on the reference."""
    loose = [*chosen_loose(STORING, stores=True), *chosen_loose(PLAIN, stores=False)]
    drawn = (
        *zip(VIEWS, chosen(plans(max_depth=3, scans=(*SCANS, *CHANGES)), OPEN), strict=True),
        *zip(CLOSING_VIEWS, chosen(closing_plans(), CLOSING), strict=True),
        *zip(LOOSE_VIEWS, loose, strict=True),
    )
    views = dict(drawn[request.param :: len(PARTS)])
    inputs = busiest(EPOCHS)
    run = PlansRun.over(views, inputs, tmp_path_factory.mktemp("plans"), sessions)
    with pytest.MonkeyPatch.context() as patch:
        advance, stopped = stopping(isolated(epoch_run.advance_object), STOP)
        patch.setattr(epoch_run, "advance_object", advance)
        outcome = run.all_epochs()
    assert stopped
    outcome = replace(outcome, unequal=unequal(run.run, outcome, [run.case]))
    found = run.run.fm.replay(EPOCHS, objects=[name for name in LOOSE_VIEWS if name in views])
    replays = {r.object: f"{r.result}: {r.cause}" for r in found}
    expected = on_reference(views, inputs, run.run.fm.warehouse.seed)
    yield Both(views, outcome, expected, replays)


@pytest.mark.parametrize(
    ("both", "name"),
    in_parts([*VIEWS, *CLOSING_VIEWS, *LOOSE_VIEWS]),
    indirect=["both"],
    scope="module",
)
def test_spark_emits_what_the_reference_emits(both: Both, name: str) -> None:
    told = both.outcome.broken.get(name)
    assert told is None, told
    found = list(mismatches(both, name))
    assert not found, "\n\n".join([repr(both.plans[name].root), *found])


@pytest.mark.parametrize(("both", "name"), in_parts(VIEWS), indirect=["both"], scope="module")
def test_views_equal_their_plans_in_batch_after_each_epoch(both: Both, name: str) -> None:
    assert {at: count for at, count in both.outcome.unequal.items() if at[0] == name} == {}


@pytest.mark.parametrize(
    "both",
    [pytest.param(i, marks=marks) for i, marks in enumerate(PARTS)],
    indirect=True,
    scope="module",
)
def test_volatile_values_are_the_same_when_an_epoch_is_replayed(both: Both) -> None:
    assert both.replays and set(both.replays.values()) == {"same: "}
