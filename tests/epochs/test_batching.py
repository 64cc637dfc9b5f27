"""The same input in 1, 7 or 30 epochs gives the same final tables and the same late rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import pytest

from floodmark.spark.session import Sessions
from tests.warehouses import (
    GROUPED,
    JOINED,
    NAMES,
    NOW,
    PROJECTED,
    READINGS,
    REGROUPED,
    SUNK,
    WINDOWED,
    Site,
    put,
    readings,
    rows_at_rest,
)

pytestmark = pytest.mark.spark
COUNT = 120
NAMES_OF = ("s", "p", "j", "st", "st2", "h", "t")
Final = dict[str, list[str]]


def _final(site: Site, epochs: int) -> Final:
    """Take the input in so many epochs and return the rows of every table."""
    name = f"in_{epochs}"
    landing = site.root / name / "landing"
    step = -(-COUNT // epochs)
    cuts = [readings(first, min(step, COUNT - first)) for first in range(0, COUNT, step)]
    assert len(cuts) == epochs
    site.define(
        READINGS.replace("{landing}", str(landing)), NAMES, PROJECTED, JOINED, GROUPED, REGROUPED,
        WINDOWED, SUNK,
    )  # fmt: skip
    landing.mkdir(parents=True)
    with site.connect(f"{name}/warehouse") as fm:
        fm.execute("INSERT INTO d VALUES ('a', 'Alpha'), ('c', 'Gamma')")
        for number, cut in enumerate(cuts):
            put(landing, f"{number:03d}", cut)
            assert len(fm.advance(now=NOW)) == 1
        assert not fm.warehouse.log.suspensions()
    root = site.root / name / "warehouse"
    found = {n: rows_at_rest(root, f"public/{n}") for n in NAMES_OF}
    return {**found, "late": rows_at_rest(root, "_late/public/s")}


@pytest.fixture(scope="module")
def final(
    tmp_path_factory: pytest.TempPathFactory, sessions: Sessions
) -> Iterator[Callable[[int], Final]]:
    """Yield what gives the tables after so many epochs, run once each."""
    site = Site(tmp_path_factory.mktemp("batching"), sessions)
    yield cache(lambda epochs: _final(site, epochs))


@pytest.mark.parametrize("epochs", [7, pytest.param(30, marks=pytest.mark.long)])
def test_other_epoch_boundaries_give_the_same_tables(
    final: Callable[[int], Final], epochs: int
) -> None:
    whole = final(1)
    assert all(whole.values())
    assert final(epochs) == whole
