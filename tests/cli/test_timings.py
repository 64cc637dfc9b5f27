"""`status --timings`: what objects cost, from the seals alone."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from floodmark.cli.timings import timings_json, timings_of, timings_table
from floodmark.price import Price
from floodmark.storage.logs.epochs import EpochLog, ObjectRecord

NOW = datetime(2024, 1, 1, tzinfo=UTC)
MIB = 1 << 20
FIRST = ObjectRecord("sales.totals", {}, duration_s=1.5, price=Price(3, MIB, 512, 1.0, 0.2))
SECOND = ObjectRecord("sales.totals", {}, duration_s=0.5, price=Price(2, 0, 512, 0.25, 0.05))


def sealed(root: Path) -> EpochLog:
    log = EpochLog(root)
    for epoch, record in enumerate((FIRST, SECOND), 1):
        log.open(epoch, NOW, 1, NOW)
        log.seal(epoch, [record, ObjectRecord("idle", {}, touched=False)], NOW)
    return EpochLog(root)


def test_each_object_has_its_last_epoch_and_its_means(tmp_path: Path) -> None:
    shown = timings_table(timings_of(sealed(tmp_path))).splitlines()
    assert [" ".join(line.split()) for line in shown] == [
        "object epochs last s mean s plan s query s commit s queries read written share",
        "sales.totals 2 0.50 1.00 0.25 0.62 0.12 2.5 512.0 KiB 512 B 100 %",
    ]
    assert max(map(len, shown)) <= 110


def test_json_has_each_epoch(tmp_path: Path) -> None:
    (last,) = timings_json(timings_of(sealed(tmp_path), newest=1))["sales.totals"]
    assert last == {
        "epoch": 2, "duration_s": 0.5, "plan_s": 0.2, "query_s": 0.25, "commit_s": 0.05,
        "queries": 2, "bytes_read": 0, "bytes_written": 512,
    }  # fmt: skip
