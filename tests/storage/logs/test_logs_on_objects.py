"""The logs of a warehouse on a store that loses requests and answers. No disk."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

import pytest

from floodmark.errors import TransientError
from floodmark.storage.checks.log_check import check_logs
from floodmark.storage.logs.backfills import (
    BackfillLog,
    BackfillStep,
    forget,
    versions_of_backfills,
)
from floodmark.storage.logs.catalog import AppliedStatement, CatalogLog
from floodmark.storage.logs.epochs import EpochLog, LogHead, ObjectRecord
from floodmark.storage.logs.last_reported import LastReport, LastReports
from floodmark.storage.logs.pending_drops import PendingDrops
from floodmark.storage.logs.retention import Retention
from floodmark.storage.logs.seed import pipeline_seed
from floodmark.storage.objects.contract import Location
from floodmark.storage.objects.memory import Fault, MemoryObjects

NOW = datetime(2024, 1, 1, tzinfo=UTC)
RECORD = ObjectRecord("public.v", {"public/v": 3}, rows_out=2)
STATEMENT = AppliedStatement("CREATE TABLE v (k INT)", None, "statement", "public.v")


def work(place: Location) -> None:
    """Go on with two epochs and what belongs to them, from wherever the logs are."""
    pipeline_seed(place)
    log, catalog, backfill = EpochLog(place), CatalogLog(place), BackfillLog(place, "v", 1)
    if not catalog.last():
        catalog.append(1, [STATEMENT], NOW)
    while (head := log.head()).sealed < 2:
        epoch = head.sealed + 1
        if head.open is None:
            log.open(epoch, NOW, 1, NOW)
        if not log.events(epoch):
            log.record("note", NOW, f"in epoch {epoch}")
        log.seal(epoch, [RECORD], NOW)
    if (standing := backfill.standing()).open is not None or not standing.steps:
        backfill.begin(0, BackfillStep(2))
        backfill.finish(0, RECORD)
    Retention(place).keep_from(2, NOW)
    LastReports(place).change(lambda _: {"public.v": LastReport(epoch=2)})
    PendingDrops(place).write(1, ["public/w"])
    PendingDrops(place).forget()


def check(place: Location) -> None:
    assert EpochLog(place).head() == LogHead(2, None)
    assert [e.message for n in (1, 2) for e in EpochLog(place).events(n)] == [
        "in epoch 1", "in epoch 2",
    ]  # fmt: skip
    assert [v.statements for v in CatalogLog(place).versions()] == [(STATEMENT,)]
    assert list(versions_of_backfills(place)) == [("public.v", "public/v", 3)]
    assert Retention(place).kept_epochs().oldest == 2
    assert LastReports(place).all_reports()["public.v"].epoch == 2
    assert PendingDrops(place).pending() is None
    assert [found for found in check_logs(place) if found.error is not None] == []


def test_logs_lie_in_any_store() -> None:
    objects = MemoryObjects()
    work(objects)
    check(objects)
    assert {key.partition("/")[0] for key in objects.list()} == {"_floodmark"}
    forget(objects, [])
    assert list(versions_of_backfills(objects)) == []


@pytest.mark.parametrize("fault", ["refused", "lost request", "lost answer"])
def test_whatever_call_fails_the_logs_go_on(fault: Fault) -> None:
    whole = MemoryObjects()
    work(whole)
    for n in range(1, len(whole.calls) + 1):
        objects = MemoryObjects()
        objects.fail_at(n, fault)
        with suppress(TransientError):
            work(objects)
        work(objects)
        check(objects)


def test_a_record_whose_answer_is_lost_is_put_once() -> None:
    objects = MemoryObjects()
    log = EpochLog(objects)
    log.head()
    calls = len(objects.calls)
    log.open(1, NOW, 1, NOW)
    asked = len(objects.calls) - calls
    again = MemoryObjects()
    again.fail_at(asked, "lost answer")
    assert objects.calls[-1] == "create"
    opened = EpochLog(again).open(1, NOW, 1, NOW)
    assert EpochLog(again).open_record(1).id == opened.id


def test_a_store_that_does_not_answer_has_a_code() -> None:
    objects = MemoryObjects()
    objects.fail_at(1, "refused")
    with pytest.raises(TransientError, match=r"E0545.*the epoch log.*_floodmark/epochs"):
        EpochLog(objects).head()
