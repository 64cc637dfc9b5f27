"""`kill -9` around what a sink writes outside: nothing is lost or doubled."""

from __future__ import annotations

from pathlib import Path

import pytest

from floodmark.spark.session import Sessions
from tests.sinks_outside import COUNTED, SINKS, check, define, epoch
from tests.warehouses import READINGS, Site, put, readings

pytestmark = pytest.mark.spark
SOME = ("outside_written:2", "outside_in_place", "sent_committed:3", "before_seal")
OTHERS = (
    "outgoing_stored", "outgoing_stored:2", "outside_written", "outside_written:3",
    "outside_written:4", "outside_part_in_place", "outside_part_in_place:2", "outside_in_place:2",
    "outside_in_place:3", "outside_in_place:4", "sent_committed", "sent_committed:2",
    "sent_committed:4", "after_seal",
)  # fmt: skip


@pytest.mark.parametrize(
    "points", [SOME, pytest.param(OTHERS, marks=pytest.mark.long)], ids=["some", "others"]
)
def test_each_row_is_outside_once(
    points: tuple[str, ...], tmp_path: Path, sessions: Sessions
) -> None:
    site = Site(tmp_path, sessions)
    out = define(site, READINGS, COUNTED, SINKS)
    with site.connect() as fm:
        epoch(site, fm, 0)
    for number, point in enumerate(points, 1):
        put(site.landing, str(number), readings(10 * number, 10))
        site.kill_at(point)
    ended = site.run()
    assert ended.returncode == 0, ended.stdout + ended.stderr
    check(site, out)
    left = [p.name for p in out.rglob(".*") if p.suffix == ".tmp"]
    assert len(left) <= len(points)
