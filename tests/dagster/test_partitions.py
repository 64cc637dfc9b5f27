"""Partitions in event time: which are told as final, and when."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

import dagster as dg
import pytest

from floodmark.api import connect
from floodmark.limits import Limits
from floodmark_dagster.assets import partitions
from floodmark_dagster.assets.partitions import Grain, event_time
from floodmark_dagster.resources import warehouse
from tests.dagster.pipeline_skin import Skin, make_skin  # noqa: F401

HOURS = dg.AssetKey("hours")


def _final(instance: dg.DagsterInstance) -> list[str]:
    return sorted(instance.get_materialized_partitions(HOURS))


@pytest.mark.parametrize(
    ("grain", "first", "second"),
    [
        ("hour", "2012-12-31-22:00", "2012-12-31-23:00"),
        ("day", "2012-12-31", "2013-01-01"),
        ("week", "2012-12-30", "2013-01-06"),
        ("month", "2012-12-01", "2013-01-01"),
    ],
)
def test_partitions_have_the_keys_of_dagster(grain: str, first: str, second: str) -> None:
    by = Grain(grain)
    moment = datetime(2012, 12, 31, 22, 30, tzinfo=UTC)
    start = by.start(moment)
    assert (by.key(start), by.key(by.next(start))) == (first, second)
    assert list(by.starts_between(moment, by.next(start))) == [start]
    shown = dg.TimeWindowPartitionsDefinition(
        start, by.format, cron_schedule=partitions._CRONS[grain], timezone="UTC"
    )
    assert shown.get_partition_keys()[:2] == [first, second]


@pytest.mark.spark
def test_a_day_is_materialized_when_all_its_windows_are_closed(
    skin: Skin, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = dg.DagsterInstance.ephemeral()
    assert event_time(skin.warehouse, Grain()).definition.get_num_partitions() <= 1
    skin.land(1, 1)
    skin.land(2, 4, day=3)
    assert skin.run(instance).success
    assert _final(instance) == ["2013-01-01", "2013-01-02"]
    assert skin.run(instance).success
    monkeypatch.setattr(warehouse, "connect", partial(connect, limits=Limits(partition_events=1)))
    skin.land(3, 4, day=5)
    assert skin.run(instance).success
    assert _final(instance) == ["2013-01-01", "2013-01-02", "2013-01-03"]
    assert skin.run(instance).success  # nothing new came: the rest is told
    assert _final(instance)[-1] == "2013-01-04"
    # The code location that loads now shows what is final, and not what is open.
    shown = event_time(skin.warehouse, Grain()).definition.get_partition_keys()
    assert (shown[0], shown[-1]) == ("2013-01-01", "2013-01-04")
    assert skin.run(instance).success
    alone = dg.materialize(
        [skin.assets], instance=instance, resources=skin.resources, selection="stations"
    )
    assert alone.success and len(_final(instance)) == 4
