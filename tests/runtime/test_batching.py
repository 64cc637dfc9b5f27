"""The same input in 1, 7 or 30 epochs gives the same final tables and the same late rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from warehouses import (
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
    contents,
    put,
    readings,
)

pytestmark = pytest.mark.spark
COUNT = 120
NAMES_OF = ("s", "p", "j", "st", "st2", "h", "t")


def _final(site: Site, epochs: int) -> dict[str, list[str]]:
    """Take the input in so many epochs and return the rows of every table."""
    name = f"in_{epochs}"
    landing = site.root / name / "landing"
    step = -(-COUNT // epochs)
    cuts = [readings(first, min(step, COUNT - first)) for first in range(0, COUNT, step)]
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
        assert not fm.scheduler.log.suspended()
    root = site.root / name / "warehouse"
    found = {n: _rows(root, f"public/{n}") for n in NAMES_OF}
    return {**found, "late": _rows(root, "_late/public/s")}


def _rows(root: Path, table: str) -> list[str]:
    rows = contents(root, table, hidden=False).to_pylist()
    return sorted(map(repr, rows))


def test_other_epoch_boundaries_give_the_same_tables(site: Site) -> None:
    whole = _final(site, 1)
    assert all(whole.values())
    assert _final(site, 7) == whole


@pytest.mark.long
def test_thirty_epochs_give_the_same_tables(site: Site) -> None:
    assert _final(site, 30) == _final(site, 1)
